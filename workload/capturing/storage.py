"""Which saved tensors are activations, and which share their memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workload.extra import package

__all__ = ["Seen", "Weights", "activation", "bits", "in_memory", "kept_bytes", "storage_of", "tensors",
           "type_of", "without_repeats"]

torch = package("torch", "torch")
_Reference = package("torch.multiprocessing.reductions", "torch").StorageWeakRef


def activation(tensor: Any) -> bool:
    """Whether a tensor has floating-point values in memory."""
    return tensor.is_floating_point() and tensor.numel() > 0 and in_memory(tensor)


def in_memory(tensor: Any) -> bool:
    """Whether a tensor has plain memory; sparse tensors and the wrappers of ``torch.func`` have not."""
    try:
        tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return False
    return tensor.layout is torch.strided


def storage_of(tensor: Any) -> Any:
    """A key for the memory of a tensor, for comparisons and dictionaries; it does not keep the memory alive.

    While the key exists, no other memory compares equal, even if the address is reused.
    """
    return _Reference(tensor.untyped_storage())


def kept_bytes(tensor: Any) -> int:
    """Bytes of a tensor in memory; repeated values count once."""
    return without_repeats(tensor).numel() * tensor.element_size()


def without_repeats(tensor: Any) -> Any:
    """A tensor without the repetitions that ``expand`` makes."""
    for axis, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        if stride == 0 and size > 1:
            tensor = tensor.narrow(axis, 0, 1)
    return tensor


def tensors(value: Any) -> Iterator[Any]:
    """The tensors in the inputs or outputs of a module."""
    if isinstance(value, torch.Tensor):
        if in_memory(value):
            yield value
    elif isinstance(value, dict):
        for entry in value.values():
            yield from tensors(entry)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from tensors(entry)


def bits(tensor: Any) -> Any:
    """A tensor as integers of its element size, which are zero where all bits are zero."""
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.detach().view(kinds[tensor.element_size()])


def type_of(tensor: Any) -> str:
    """The type of a tensor's values, as PyTorch names it."""
    return str(tensor.dtype).removeprefix("torch.")


class Weights:
    """Parameters and buffers of a model, which are not activations."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._all = [*model.parameters(), *model.buffers()]
        self._storages = {storage_of(tensor) for tensor in self._all}

    @property
    def storages(self) -> frozenset[Any]:
        """Keys of their memory."""
        return frozenset(self._storages)

    def has(self, tensor: Any) -> bool:
        """Whether a tensor is a weight, a view of one, or one that autocast cast to the type it computes in."""
        if storage_of(tensor) in self._storages:
            return True
        return any(tensor.dtype is not weight.dtype and _same(tensor, weight) for weight in self._all)


def _same(tensor: Any, weight: Any) -> bool:
    """Whether a tensor has the values of a weight, or of some of its rows, cast to the tensor's type.

    Linear layers save their weight transposed. Layers that keep several weights in one, as attention does, cast the
    rows that they use.
    """
    if tensor.dim() != weight.dim():
        return False
    wanted = (tensor, tensor.t()) if tensor.dim() == 2 else (tensor,)
    return any(_is_part(each, weight) for each in wanted)


def _is_part(tensor: Any, weight: Any) -> bool:
    if tensor.shape == weight.shape:
        return bool(torch.equal(bits(tensor), bits(weight.detach().to(tensor.dtype))))
    if tensor.dim() < 2 or tensor.shape[1:] != weight.shape[1:] or len(tensor) > len(weight):
        return False
    values, cast = bits(tensor), bits(weight.detach().to(tensor.dtype))
    starts = (cast[:len(cast) - len(values) + 1] == values[0]).flatten(1).all(1).nonzero().flatten().tolist()
    return any(bool(torch.equal(values, cast[start:start + len(values)])) for start in starts)


class Seen:
    """Remembers parts of memory, each with a note.

    After a change in place, a part counts as a new one.
    """

    def __init__(self) -> None:
        self._parts: dict[Any, list[tuple[_Part, Any]]] = {}

    def find(self, tensor: Any) -> Any:
        """The note of a tensor that contains all values of this one; None if there is none."""
        part = _Part.of(tensor)
        return next((noted for other, noted in self._parts.get(storage_of(tensor), ()) if other.covers(part)), None)

    def note(self, tensor: Any, noted: Any) -> None:
        """Remember a tensor with a note."""
        self._parts.setdefault(storage_of(tensor), []).append((_Part.of(tensor), noted))


@dataclass(frozen=True)
class _Part:
    """The range of bytes of a tensor in its memory, its strides, and the number of changes in place."""

    start: int
    end: int
    strides: tuple[tuple[int, int], ...]
    dense: bool
    version: int

    @classmethod
    def of(cls, tensor: Any) -> _Part:
        once, size = without_repeats(tensor), tensor.element_size()
        strides = tuple((length, stride) for length, stride in zip(once.shape, once.stride(), strict=True)
                        if length > 1)
        reach = sum((length - 1) * stride for length, stride in strides) + 1
        start = once.storage_offset() * size
        return cls(start, start + reach * size, strides, reach == once.numel(), tensor._version)

    def covers(self, other: _Part) -> bool:
        """Whether this part contains all values of another."""
        return self == other or (self.dense and self.version == other.version and self.start <= other.start
                                 and other.end <= self.end)
