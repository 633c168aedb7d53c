"""Which saved tensors are activations, and which share their memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cdma.workload.extra import package

__all__ = ["KINDS", "Part", "Seen", "Weights", "activation", "bits", "in_memory", "is_plain", "kept_bytes",
           "storage_of", "tensors", "type_of", "without_repeats"]

torch = package("torch", "torch")
_Reference = package("torch.multiprocessing.reductions", "torch").StorageWeakRef

KINDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.complex128}
"""Types that hold the bits of elements of so many bytes."""


def activation(tensor: Any) -> bool:
    """Whether a tensor has floating-point values in memory."""
    return tensor.is_floating_point() and tensor.numel() > 0 and in_memory(tensor)


def in_memory(tensor: Any) -> bool:
    """Whether a tensor has plain memory; sparse and nested tensors and the wrappers of ``torch.func`` have not."""
    try:
        tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return False
    return tensor.layout is torch.strided and not tensor.is_nested


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
    """A tensor as integers of its element size, which are zero where all bits are zero; complex128 as it is."""
    return tensor.detach().view(KINDS[tensor.element_size()])


def is_plain(tensor: Any) -> bool:
    """Whether the bytes in memory, with type, shape and strides, are all of a tensor."""
    return (type(tensor) in (torch.Tensor, torch.nn.Parameter) and in_memory(tensor)
            and not (tensor.is_conj() or tensor.is_neg() or tensor.is_quantized))


def type_of(tensor: Any) -> str:
    """The type of a tensor's values, as PyTorch names it."""
    return str(tensor.dtype).removeprefix("torch.")


class Weights:
    """Parameters and buffers of a model, which are not activations.

    They are known by identity, never by their values: by their memory, by being a parameter, and by how autograd made a
    tensor of one. A cast that autocast made of a parameter that is not trained has no such trace, and counts as an
    activation.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        every = [*model.parameters(), *model.buffers()]
        self.storages = {storage_of(tensor) for tensor in every if is_plain(tensor)}
        # Where parameters are of a class of their own, as those of FSDP, plain ones take their places while they run.
        self._replaced = any(not is_plain(tensor) for tensor in every)

    def has(self, tensor: Any) -> bool:
        """Whether a tensor is a weight, a view of one, or one that autocast cast to the type it computes in."""
        if isinstance(tensor, torch.nn.Parameter) or storage_of(tensor) in self.storages:
            return True
        origin = _origin(tensor)
        if origin is not None and (isinstance(origin, torch.nn.Parameter) or storage_of(origin) in self.storages):
            return True
        return self._replaced and storage_of(tensor) in {
            storage_of(each) for each in self._model.parameters() if is_plain(each)}


_SAME_VALUES = frozenset(f"{name}Backward0" for name in (
    "Alias", "AsStrided", "Clone", "Expand", "Permute", "ReshapeAlias", "Select", "Slice", "Split", "SplitWithSizes",
    "Squeeze", "T", "ToCopy", "Transpose", "Unbind", "UnsafeView", "Unsqueeze", "View"))
"""Steps of autograd that keep values: views and copies, and the casts of autocast."""


def _origin(tensor: Any) -> Any:
    """The leaf of which a tensor is a view, a copy or a cast; None if it was computed."""
    node = tensor.grad_fn
    while node is not None and type(node).__name__ in _SAME_VALUES:
        node = node.next_functions[0][0]
    return node.variable if node is not None and type(node).__name__ == "AccumulateGrad" else None


class Seen:
    """Remembers parts of memory, each with a note.

    A part whose bytes have changed counts as a new one, however they were changed.
    """

    def __init__(self) -> None:
        self._parts: dict[Any, list[tuple[Part, bytes, Any]]] = {}

    def find(self, tensor: Any) -> Any:
        """The note of a tensor that contains all values of this one; None if there is none."""
        part = Part.of(tensor)
        return next((noted for other, digest, noted in self._parts.get(storage_of(tensor), ())
                     if other.covers(part) and other.digest(tensor) == digest), None)

    def note(self, tensor: Any, noted: Any) -> None:
        """Remember a tensor with a note."""
        part = Part.of(tensor)
        self._parts.setdefault(storage_of(tensor), []).append((part, part.digest(tensor), noted))


@dataclass(frozen=True)
class Part:
    """Bytes of a storage.

    Parameters
    ----------
    start, end
        The bytes, without the last.
    strides
        Shape and strides of a tensor whose values are meant by themselves, without the gaps between; None if all bytes
        are.
    """

    start: int
    end: int
    strides: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    @classmethod
    def of(cls, tensor: Any, most: int = 0) -> Part:
        """The part that has a tensor: its own range; its whole storage, if it has gaps and the storage is at most
        ``most`` times as large; or its values alone."""
        once, size = without_repeats(tensor), tensor.element_size()
        reach = sum((length - 1) * stride for length, stride in zip(once.shape, once.stride(), strict=True)) + 1
        start, whole = once.storage_offset() * size, tensor.untyped_storage().nbytes()
        if reach <= once.numel():
            return cls(start, start + reach * size)
        if whole <= most * once.numel() * size:
            return cls(0, whole)
        return cls(start, start + reach * size, (tuple(once.shape), once.stride()))

    def covers(self, other: Part) -> bool:
        """Whether all that another part needs is in this one."""
        return self == other or (self.strides is None and self.start <= other.start and other.end <= self.end)

    def values(self, tensor: Any) -> Any:
        """The bytes on the device, where possible without a copy; of a tensor that this part covers."""
        if self.strides is not None:
            return bits(without_repeats(tensor)).contiguous().flatten().view(torch.uint8)
        values = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        return values.set_(tensor.untyped_storage(), self.start, (self.end - self.start,))

    def bytes_of(self, tensor: Any) -> Any:
        """The bytes now, in memory of the host; of a tensor that this part covers."""
        return self.values(tensor).cpu().numpy()

    def digest(self, tensor: Any) -> bytes:
        """What tells the bytes from all others: a hash that nobody can collide, at more than 1 GB/s."""
        return hashlib.blake2b(self.bytes_of(tensor), digest_size=32).digest()
