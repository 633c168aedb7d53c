"""One captured call of a model: hooks on its modules and on the tensors that autograd saves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from cdma.workload.capturing.operations import Operations
from cdma.workload.capturing.settings import Names, Settings, sample
from cdma.workload.capturing.storage import (
    Seen,
    Weights,
    activation,
    bits,
    kept_bytes,
    storage_of,
    tensors,
    type_of,
    without_repeats,
)
from cdma.workload.extra import package
from cdma.workload.networks.layers import INPUT

__all__ = ["Met", "Step"]

torch = package("torch", "torch")


class Step:
    """The activations of a call, copied while it runs.

    A tensor is named after the module that made it or last changed it in place. A tensor that a function makes between
    modules is named after the module that finished last. Tensors in the same memory are captured once.

    Parameters
    ----------
    model, settings
        The model that is called, and the settings of the capture.
    room
        Bytes that may still be written.
    inputs
        Inputs of the call.
    table
        Whether to note operations, for the network's table.

    Attributes
    ----------
    arrays
        Samples in host memory and their descriptions for the manifest, by name.
    saved_bytes
        Bytes of all floating-point activations that backward keeps.
    bytes
        Bytes of the samples.
    full
        Whether a sample did not fit into ``room``.
    notes
        Notes on arrays that were left out.
    saved
        All activations that backward keeps, captured or not.
    inputs
        Keys of the memory of the call's inputs.
    batch
        Length of the first dimension of the first input.
    operations
        The operations of the call; None if they are not noted.
    """

    def __init__(self, model: Any, settings: Settings, room: int, inputs: Any, table: bool = False) -> None:
        self.arrays: dict[str, tuple[Any, dict[str, Any]]] = {}
        self.notes: list[str] = []
        self.saved_bytes = self.bytes = 0
        self.full = False
        self._settings, self._room = settings, room
        self._weights, self._names, self._seen = Weights(model), Names(), Seen()
        own = type(model).__name__
        self._classes = {INPUT: INPUT, own: own, **{name: type(module).__name__
                                                    for name, module in model.named_modules()}}
        self._makers = {storage_of(tensor): _Maker(INPUT, tensor._version, tensor.shape)
                        for tensor in tensors(inputs)}
        self.saved: list[Met] = []
        self.inputs = list(self._makers)
        self.batch = next((len(tensor) for tensor in tensors(inputs) if tensor.dim()), 1)
        self._running = [_Running(own)]
        self.operations = Operations(self._weights, self._where) if table else None
        self._handling = sys.exc_info()[1]
        self._handles: list[Any] = []
        for name, module in model.named_modules():
            # Modules compiled to TorchScript accept no hooks.
            if name and not isinstance(module, torch.jit.ScriptModule):
                self._handles += [module.register_forward_pre_hook(partial(self._enter, name), prepend=True,
                                                                    with_kwargs=True),
                                  module.register_forward_hook(partial(self._leave, name), always_call=True)]
        # PyTorch calls only the innermost hooks on saved tensors, so ours must call those of the user.
        outer = torch._C._autograd._top_saved_tensors_default_hooks(False) or (_same, _same)
        self._hooks = torch.autograd.graph.saved_tensors_hooks(partial(self._pack, outer[0]), outer[1])
        self._hooks.__enter__()
        if self.operations is not None:
            self.operations.__enter__()

    def failed(self) -> bool:
        """Whether the call raises an error that was not being handled when it began."""
        return sys.exc_info()[1] is not self._handling

    def close(self) -> None:
        """Remove all hooks."""
        if self.operations is not None:
            self.operations.__exit__(None, None, None)
        self._hooks.__exit__()
        for handle in self._handles:
            handle.remove()

    def _enter(self, name: str, module: Any, args: Any, kwargs: Any) -> None:
        for tensor in tensors((args, kwargs)):
            self._maker(tensor)
        self._running.append(_Running(name))

    def _leave(self, name: str, module: Any, args: Any, output: Any) -> None:
        for tensor in tensors(output):
            self._maker(tensor)
            if self._settings.outputs and activation(tensor):
                with self._quiet():
                    self._take(tensor.detach(), None)
        # Modules above it on the stack were interrupted by an exception.
        while len(self._running) > 1 and self._running.pop().name != name:
            pass
        self._running[-1].finished = name

    def _maker(self, tensor: Any) -> _Maker:
        """The maker of a tensor: the module that runs when it is first seen, or first seen after a change in place."""
        key = storage_of(tensor)
        found = self._makers.get(key)
        if found is None or found.version != tensor._version:
            found = self._makers[key] = _Maker(self._where(), tensor._version, tensor.shape)
        return found

    def _where(self) -> str:
        """The module that functions count to: the one that runs, or that finished last within it."""
        running = self._running[-1]
        return running.finished or running.name

    def _quiet(self) -> AbstractContextManager[None]:
        """A context whose operations are not the model's."""
        return nullcontext() if self.operations is None else self.operations.quiet()

    def _pack(self, outer: Callable[[Any], Any], tensor: Any) -> Any:
        with self._quiet():
            if activation(tensor) and not self._weights.has(tensor):
                self._take(tensor.detach(), self._running[-1].name)
            return outer(tensor)

    def _take(self, tensor: Any, saved_by: str | None) -> None:
        """Capture a saved tensor, or an output if ``saved_by`` is None."""
        met = self._seen.find(tensor)
        if met is None:
            maker = self._maker(tensor)
            whole = maker.shaped(without_repeats(tensor))
            met = Met(self._names.next(maker.module), storage_of(tensor), tuple(whole.shape), type_of(tensor))
            self._seen.note(tensor, met)
            if self._settings.wanted(maker.module, self._classes[maker.module]):
                met.taken = self._copy(whole, maker.module, met.name)
        if saved_by is not None and self.operations is not None:
            self.operations.visit().keeps.append(met)
        if saved_by is not None and not met.saved:
            met.saved = True
            self.saved.append(met)
            self.saved_bytes += kept_bytes(tensor)
            if met.taken:
                self.arrays[met.name][1].update(kind="saved", saved_by=saved_by)

    def _copy(self, tensor: Any, module: str, name: str) -> bool:
        """Copy the sample of an array; returns whether it was not left out."""
        settings = self._settings
        if tensor.numel() * tensor.element_size() < settings.least:
            return False
        count = sample(tensor.shape, tensor.element_size(), settings.max_array)
        if count is None:
            self.notes.append(f"{name} is left out: one sample has more bytes than the limit of "
                              f"{settings.max_array:,} an array")
            return False
        values = tensor[:count] if tensor.dim() else tensor
        size = values.numel() * values.element_size()
        self.full = self.full or self.bytes + size > self._room
        if self.full:
            return False
        self.bytes += size
        density = torch.count_nonzero(bits(tensor)).item() / tensor.numel()
        entry = {"module": module, "kind": "output", "saved_by": None, "shape": tuple(values.shape),
                 "full_shape": tuple(tensor.shape), "dtype": type_of(tensor), "layout": _layout(tensor),
                 "density": density}
        self.arrays[name] = values.to("cpu", copy=True).contiguous(), entry
        return True


@dataclass
class _Running:
    """A running module, and the module inside it that finished last."""

    name: str
    finished: str | None = None


@dataclass(frozen=True)
class _Maker:
    """The module that made a tensor, the number of changes in place until then, and its shape."""

    module: str
    version: int
    shape: Any

    def shaped(self, tensor: Any) -> Any:
        """The tensor in the shape its maker gave it, if it was only flattened after that."""
        whole = tensor.is_contiguous() and tensor.numel() == self.shape.numel()
        return tensor.view(self.shape) if whole else tensor


@dataclass(eq=False)
class Met:
    """A tensor that was seen: its name, the key of its memory, its full shape, its type, whether it is in the dump, and
    whether backward keeps it."""

    name: str
    memory: Any
    shape: tuple[int, ...]
    dtype: str
    taken: bool = False
    saved: bool = False


def _layout(tensor: Any) -> str | None:
    if tensor.dim() != 4:
        return None
    last = tensor.is_contiguous(memory_format=torch.channels_last) and not tensor.is_contiguous()
    return "NHWC" if last else "NCHW"


def _same(tensor: Any) -> Any:
    return tensor
