"""Which bytes of its memory a saved tensor needs, and how it is made of them again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workload.capturing.storage import without_repeats
from workload.extra import package

__all__ = ["Part", "View"]

torch = package("torch", "torch")

_ALIGNMENT = 64
"""Of PyTorch's memory: kernels take other paths at other alignments, and their results may differ then."""

_MOST_STORAGE = 4
"""A view with gaps takes its whole storage along, if that is at most so many times as large: other views of it follow
most often, and need nothing more then."""


@dataclass(frozen=True)
class Part:
    """Bytes of a storage, at one of its versions.

    Parameters
    ----------
    start, end
        The bytes, without the last.
    version
        How often the storage was changed in place.
    strides
        Shape and strides of a tensor whose values are moved by themselves, without the gaps between; None if all bytes
        are moved.
    """

    start: int
    end: int
    version: int
    strides: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    @classmethod
    def of(cls, tensor: Any) -> Part:
        """The part that is moved for a tensor: its own range, its whole storage, or its values alone."""
        once, size = without_repeats(tensor), tensor.element_size()
        reach = sum((length - 1) * stride for length, stride in zip(once.shape, once.stride(), strict=True)) + 1
        start = once.storage_offset() * size
        version, whole = tensor._version, tensor.untyped_storage().nbytes()
        if reach <= once.numel():
            return cls(start, start + reach * size, version)
        if whole <= _MOST_STORAGE * once.numel() * size:
            return cls(0, whole, version)
        return cls(start, start + reach * size, version, (tuple(once.shape), once.stride()))

    def covers(self, other: Part) -> bool:
        """Whether all that another part needs is in this one."""
        return self == other or (self.strides is None and self.version == other.version
                                 and self.start <= other.start and other.end <= self.end)

    def bytes_of(self, tensor: Any) -> Any:
        """The bytes to move, in memory of the host; of a tensor that this is the part of."""
        if self.strides is not None:
            values = without_repeats(tensor).contiguous().flatten().view(torch.uint8)
        else:
            values = torch.empty(0, dtype=torch.uint8, device=tensor.device)
            values.set_(tensor.untyped_storage(), self.start, (self.end - self.start,))
        return values.cpu().numpy()

    def restored(self, data: Any, dtype: Any, device: Any) -> Any:
        """New memory with the bytes at the same alignment as they had, without what was in the gaps."""
        lead = self.start % _ALIGNMENT
        memory = torch.empty(lead + self.end - self.start, dtype=torch.uint8)
        values = torch.from_numpy(data)
        if self.strides is None:
            memory[lead:] = values
        else:
            shape, strides = self.strides
            placed = torch.empty(0, dtype=dtype).set_(memory.untyped_storage(), lead // dtype.itemsize, shape, strides)
            placed.copy_(values.view(dtype).view(shape))
        return memory.to(device)


@dataclass(frozen=True)
class View:
    """A tensor as a view of its storage."""

    dtype: Any
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, tensor: Any) -> View:
        """The view that a tensor is."""
        return cls(tensor.dtype, tensor.storage_offset() * tensor.element_size(), tuple(tensor.shape), tensor.stride())

    def into(self, memory: Any, part: Part) -> Any:
        """The same view of a part that was restored."""
        at = part.start % _ALIGNMENT + self.offset - part.start
        return torch.empty(0, dtype=self.dtype, device=memory.device).set_(
            memory.untyped_storage(), at // self.dtype.itemsize, self.shape, self.strides)
