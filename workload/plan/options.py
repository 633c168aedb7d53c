"""Tensors, and the predicted result of each treatment."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.workload.plan.rounding import Rounding
from cdma.workload.plan.treatments import Treatment

__all__ = ["Option", "Tensor"]


@dataclass(frozen=True)
class Option:
    """The predicted result of a treatment for a tensor.

    Parameters
    ----------
    how
        The treatment.
    packed_bytes, raw_blocks, nonzero
        Of the block stream: its bytes, blocks that are left raw, elements that are not zero.
    offload_cycles, prefetch_cycles
        From the start of a descriptor to its completion.
    error
        Largest error, as a share of the largest magnitude; if the values are not known, the format's bound for normal
        values.
    rounding
        Errors of rounding in detail; None if nothing is rounded, or the values are not known.
    """

    how: Treatment
    packed_bytes: int
    raw_blocks: int
    nonzero: int
    offload_cycles: float
    prefetch_cycles: float
    error: float = 0.0
    rounding: Rounding | None = None

    @property
    def cycles(self) -> float:
        """Cycles of offload and prefetch together."""
        return self.offload_cycles + self.prefetch_cycles

    def exposed(self, hidden_cycles: float) -> float:
        """Cycles of offload and prefetch that computing does not hide."""
        return max(0.0, self.offload_cycles - hidden_cycles) + max(0.0, self.prefetch_cycles - hidden_cycles)


@dataclass(frozen=True)
class Tensor:
    """A tensor, and all its treatments.

    Parameters
    ----------
    name, raw_bytes
        Of the tensor.
    density
        Share of its values that are not zero.
    options
        All treatments; those that change the tensor least come first.
    """

    name: str
    raw_bytes: int
    density: float
    options: tuple[Option, ...]
