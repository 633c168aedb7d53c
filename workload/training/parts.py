"""How a saved tensor is made again of bytes of its memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cdma.workload.capturing.storage import KINDS, Part
from cdma.workload.extra import package

__all__ = ["View", "restored"]

torch = package("torch", "torch")

_ALIGNMENT = 64
"""Of PyTorch's memory: kernels take other paths at other alignments, and their results may differ then."""


def restored(part: Part, data: Any, element_bytes: int, device: Any) -> Any:
    """Memory with the bytes of a part at the same alignment as they had, without what was in the gaps; ``data`` is an
    array of the host, or a tensor of its own, which is used as it is where it can be."""
    lead = part.start % _ALIGNMENT
    values = data if isinstance(data, torch.Tensor) else torch.from_numpy(data)
    if values is data and values.device == device and not (lead or part.strides or data.data_ptr() % _ALIGNMENT):
        return values
    memory = torch.empty(lead + part.end - part.start, dtype=torch.uint8, device=values.device)
    if part.strides is None:
        memory[lead:] = values
    else:
        shape, strides = part.strides
        dtype = KINDS[element_bytes]
        placed = torch.empty(0, dtype=dtype).set_(memory.untyped_storage(), lead // element_bytes, shape, strides)
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
