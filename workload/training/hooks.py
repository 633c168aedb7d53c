"""Hooks on saved tensors: to the engine in the forward pass, and back in the backward pass."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from workload.capturing.storage import Weights, in_memory, kept_bytes, storage_of
from workload.extra import package
from workload.training.engine import TensorEngine
from workload.training.parts import Part, View

__all__ = ["Counts", "Offload"]

torch = package("torch", "torch")


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
        Tensors in memory that the engine had already: saved more than once, or views.
    small, small_bytes
        Tensors that stay on the device because they are small, and their bytes.
    weights
        Parameters, buffers, and what autocast made of them.
    other
        Tensors that stay because they have no plain memory, or are of a class of their own.
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
    restored: int = 0


class Offload:
    """While entered, an engine keeps what autograd saves; see :func:`workload.offload`.

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

    def __enter__(self) -> Self:
        self._weights = Weights(self._model)
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, _unpack)
        self._hooks.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._hooks.__exit__(kind, error, trace)

    def _pack(self, tensor: Any) -> Any:
        counts = self.counts
        counts.saved += 1
        if not _plain(tensor):
            counts.other += 1
            return tensor
        if self._weights.has(tensor):
            counts.weights += 1
            return tensor
        size = kept_bytes(tensor)
        if not size or size < self._least:
            counts.small += 1
            counts.small_bytes += size
            return tensor
        tensor = tensor.detach()
        return _Saved(self._keep(tensor), View.of(tensor))

    def _keep(self, tensor: Any) -> _Kept:
        """What the engine has of the memory of a tensor; it takes what it has not."""
        key, part = storage_of(tensor), Part.of(tensor)
        there = [kept for each in self._kept.get(key, ()) if (kept := each()) is not None]
        for kept in there:
            if kept.part.covers(part):
                self.counts.again += 1
                return kept
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
        data = part.bytes_of(tensor)
        self.part = part
        self._engine, self._counts = engine, counts
        self._dtype, self._device = tensor.dtype, tensor.device
        self._waiting = 0
        self._memory: Any = None
        self._handle = engine.offload(data, str(tensor.dtype).removeprefix("torch."))
        weakref.finalize(self, engine.free, self._handle).atexit = False
        counts.moved += 1
        counts.moved_bytes += data.size

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
            self._memory = self.part.restored(self._engine.prefetch(self._handle), self._dtype, self._device)
            self._counts.restored += 1
        return self._memory


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


def _unpack(saved: Any) -> Any:
    return saved.restore() if isinstance(saved, _Saved) else saved


def _plain(tensor: Any) -> bool:
    """Whether the bytes in memory, with type, shape and strides, are all of a tensor."""
    return (type(tensor) in (torch.Tensor, torch.nn.Parameter) and in_memory(tensor)
            and not (tensor.is_conj() or tensor.is_neg() or tensor.is_quantized))
