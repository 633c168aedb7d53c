"""Tensors, and what each treatment would make of them."""

from __future__ import annotations

from dataclasses import dataclass

from workload.plan.rounding import Rounding
from workload.plan.treatments import Treatment

__all__ = ["Option", "Tensor"]


@dataclass(frozen=True)
class Option:
    """What a treatment would make of a tensor.

    Parameters
    ----------
    how
        The treatment.
    packed_bytes, raw_blocks, nonzero
        Of the block stream: its bytes, blocks that are left raw, elements that are not zero.
    offload_cycles, prefetch_cycles
        From taking a descriptor to its completion.
    error
        Largest error by the largest magnitude; of a tensor that is not at hand, the format's bound for normal values.
    rounding
        All that rounding changes; None where nothing is rounded, or the tensor is not at hand.
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
        """There and back."""
        return self.offload_cycles + self.prefetch_cycles

    def exposed(self, hidden_cycles: float) -> float:
        """Cycles of offload and prefetch beyond those that computing hides of each."""
        return max(0.0, self.offload_cycles - hidden_cycles) + max(0.0, self.prefetch_cycles - hidden_cycles)


@dataclass(frozen=True)
class Tensor:
    """A tensor, and all that could be done with it.

    Parameters
    ----------
    name, raw_bytes
        Of the tensor.
    density
        Share of its values that are not zero.
    options
        All treatments, what changes least first.
    """

    name: str
    raw_bytes: int
    density: float
    options: tuple[Option, ...]
