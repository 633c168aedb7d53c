"""Rooflines of graphics processors: the time of a layer from its operations and its memory traffic."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EFFICIENCY", "GPUS", "Gpu", "gpu"]

EFFICIENCY = 0.5
"""Share of the peak that convolutions and matrix products reach: an assumption, not a measurement. Libraries reach
from a third to nearly all of it, depending on the shapes; give your own value, or a profile, where it matters."""


@dataclass(frozen=True)
class Gpu:
    """Peak figures from its maker's data sheet.

    Parameters
    ----------
    name, about
        Its name in commands, and its full name.
    tflops
        10^12 floating-point operations in float32 a second, outside tensor cores.
    bandwidth
        10^9 bytes a second of its memory.
    memory
        Its memory in 10^9 bytes.
    """

    name: str
    about: str
    tflops: float
    bandwidth: float
    memory: float

    def seconds(self, flops: float, traffic: float, efficiency: float = EFFICIENCY) -> float:
        """Time of ``flops`` operations that move ``traffic`` bytes: the longer of the two."""
        return max(flops / (self.tflops * 1e12 * efficiency), traffic / (self.bandwidth * 1e9))


GPUS = {entry.name: entry for entry in (
    Gpu("titan-x", "Titan X (Maxwell)", 6.1, 336.0, 12.0),
    Gpu("titan-xp", "Titan Xp (Pascal)", 12.15, 548.0, 12.0),
    Gpu("v100", "V100 SXM2", 15.7, 900.0, 16.0),
    Gpu("a100", "A100 SXM4, 40 GB", 19.5, 1555.0, 40.0),
    Gpu("h100", "H100 SXM", 67.0, 3350.0, 80.0),
)}
"""The processors by name; Rhu et al. measured on the first two."""


def gpu(name: str) -> Gpu:
    """The processor of a name.

    Raises
    ------
    ValueError
        If there is no such processor.
    """
    if name not in GPUS:
        raise ValueError(f"there is no GPU {name!r}: give {', '.join(GPUS)}")
    return GPUS[name]
