"""Hooks on saved tensors: to the engine in the forward pass, and back in the backward pass."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from cdma.workload.capturing.storage import Part, Weights, is_plain, kept_bytes, storage_of
from cdma.workload.extra import package
from cdma.workload.training.engine import TensorEngine
from cdma.workload.training.parts import View, restored

__all__ = ["Counts", "Offload"]

torch = package("torch", "torch")

_MOST_STORAGE = 4
"""A view with gaps takes its whole storage along, if that is at most so many times as large: other views of it follow
most often, and need nothing more then."""


@dataclass
class Counts:
    """What became of the tensors that autograd saved.

    Parameters
    ----------
    saved
        All of them.
    moved, moved_bytes
        Parts of memory that the engine took, and their bytes.
    again
        Tensors that the engine had already: saved more than once, or views, with the same bytes.
    small, small_bytes
        Tensors that stay on the device because they are small, and their bytes.
    weights
        Parameters, buffers, and what autocast made of them.
    other
        Tensors that stay because they have no plain memory, are of a class of their own, or are on another device than
        an engine that takes tensors.
    stayed
        Tensors for which the engine had no room.
    restored
        Parts that came back.
    """

    saved: int = 0
    moved: int = 0
    moved_bytes: int = 0
    again: int = 0
    small: int = 0
    small_bytes: int = 0
    weights: int = 0
    other: int = 0
    stayed: int = 0
    restored: int = 0


class Offload:
    """While entered, an engine keeps what autograd saves; see :func:`cdma.workload.offload`.

    Members
    -------
    counts
        What became of the saved tensors so far.
    """

    def __init__(self, model: Any, engine: TensorEngine, least: int) -> None:
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"only what a torch.nn.Module saves can be offloaded, not {type(model).__name__}")
        missing = [name for name in ("offload", "prefetch", "free") if not callable(getattr(engine, name, None))]
        if missing:
            raise TypeError(f"the engine must have the calls offload, prefetch and free, as those of cdma.engines; "
                            f"{engine!r} has no {missing[0]}")
        if not isinstance(least, int) or least < 0:
            raise ValueError(f"least must be a whole number of 0 or more, not {least!r}")
        self.counts = Counts()
        self._model, self._engine, self._least = model, engine, least
        self._kept: dict[Any, list[weakref.ref[_Kept]]] = {}
        self._weights: Any = None
        self._hooks: Any = None
        self._layer, self._layers = getattr(engine, "layer", None), []

    def __enter__(self) -> Self:
        self._weights = Weights(self._model)
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, lambda saved: saved.restore())
        self._hooks.__enter__()
        if self._layer is not None:
            self._layers = [each.register_forward_pre_hook(self._begin_layer) for each in self._model.modules()
                            if next(each.children(), None) is None]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._hooks.__exit__(kind, error, trace)
        for each in self._layers:
            each.remove()

    def _begin_layer(self, *_: Any) -> None:
        # A compiler takes the hook into what it compiles, where it does nothing.
        if self._layer is not None and not torch.compiler.is_compiling():
            self._layer()

    def _pack(self, tensor: Any) -> Any:
        counts = self.counts
        counts.saved += 1
        if not is_plain(tensor):
            counts.other += 1
            return _Stays(tensor)
        if self._weights.has(tensor):
            counts.weights += 1
            return _Stays(tensor)
        size = kept_bytes(tensor)
        if not size or size < self._least:
            counts.small += 1
            counts.small_bytes += size
            return _Stays(tensor.detach())      # what an operation keeps of its own result would keep itself
        tensor = tensor.detach()
        if getattr(self._engine, "takes_tensors", False) and getattr(self._engine, "device",
                                                                     tensor.device) != tensor.device:
            counts.other += 1
            return _Stays(tensor)
        kept = self._keep(tensor)
        if kept is None:
            counts.stayed += 1
            return _Stays(tensor)
        return _Saved(kept, View.of(tensor))

    def _keep(self, tensor: Any) -> _Kept | None:
        """What the engine has of the memory of a tensor; it takes what it has not, if it has room.

        Memory is written in ways that no counter sees: through NumPy, ``.data``, and views with counters of their own.
        So what the engine has is what it was given only if the bytes are the same now.
        """
        key, part = storage_of(tensor), Part.of(tensor, _MOST_STORAGE)
        there = [kept for each in self._kept.get(key, ()) if (kept := each()) is not None]
        digests: dict[Part, bytes | int] = {}
        for kept in there:
            if kept.part.covers(part):
                if kept.part not in digests:
                    digests[kept.part] = _digest(self._engine, kept.part, tensor)
                if digests[kept.part] == kept.digest:
                    self.counts.again += 1
                    return kept
        takes = getattr(self._engine, "takes", None)
        if takes is not None and not takes(part.end - part.start):
            return None
        kept = _Kept(self._engine, part, tensor, self.counts)
        if key not in self._kept:
            # Keys hold a little memory each, so they go with the last part.
            weakref.finalize(kept, self._forget, key).atexit = False
        self._kept[key] = [*map(weakref.ref, there), weakref.ref(kept)]
        return kept

    def _forget(self, key: Any) -> None:
        if not any(each() is not None for each in self._kept.get(key, ())):
            self._kept.pop(key, None)


class _Kept:
    """A part of memory that the engine has, for all saved tensors in it.

    When the first of them is needed it comes back, and stays until the last of them was needed.
    """

    def __init__(self, engine: TensorEngine, part: Part, tensor: Any, counts: Counts) -> None:
        data = part.values(tensor) if getattr(engine, "takes_tensors", False) else part.bytes_of(tensor)
        self.part, self.digest = part, _digest(engine, part, tensor)
        self._engine, self._counts = engine, counts
        self._element_bytes, self._device = tensor.element_size(), tensor.device
        self._waiting = 0
        self._memory: Any = None
        self._handle = engine.offload(data, str(tensor.dtype).removeprefix("torch."))
        weakref.finalize(self, engine.free, self._handle).atexit = False
        counts.moved += 1
        counts.moved_bytes += data.nbytes

    def add(self) -> None:
        """One more saved tensor needs it."""
        self._waiting += 1

    def drop(self) -> None:
        """One of them does not need it any more."""
        self._waiting -= 1
        if not self._waiting:
            self._memory = None

    def memory(self) -> Any:
        """The memory, restored."""
        if self._memory is None:
            self._memory = restored(self.part, self._engine.prefetch(self._handle), self._element_bytes, self._device)
            self._counts.restored += 1
        return self._memory


def _digest(engine: TensorEngine, part: Part, tensor: Any) -> bytes | int:
    """What tells whether the bytes are the same as before: a hash, or where the host must not wait for a GPU, what
    PyTorch counts when it writes."""
    if tensor.is_cuda and getattr(engine, "takes_tensors", False):
        return tensor._version
    return part.digest(tensor)


class _Saved:
    """A saved tensor whose memory the engine keeps."""

    def __init__(self, kept: _Kept, view: View) -> None:
        self._kept, self._view = kept, view
        self._waits = True
        kept.add()

    def restore(self) -> Any:
        """The tensor, with the same bits, strides and alignment."""
        tensor = self._view.into(self._kept.memory(), self._kept.part)
        self._done()
        return tensor

    def _done(self) -> None:
        if self._waits:
            self._waits = False
            self._kept.drop()

    def __del__(self) -> None:
        self._done()


class _Stays:
    """A saved tensor that stays where it is."""

    def __init__(self, tensor: Any) -> None:
        self._tensor, self._version = tensor, tensor._version

    def restore(self) -> Any:
        """The tensor, unless it was changed in place: PyTorch does not look where there are hooks."""
        tensor = self._tensor
        if tensor._version != self._version:
            raise RuntimeError("a tensor that backward needs was modified by an inplace operation: "
                               f"{tuple(tensor.shape)} of {tensor.dtype} is at version {tensor._version}; "
                               f"expected version {self._version} instead")
        return tensor
