"""Rooflines of graphics processors: the time of a layer from its operations and its memory traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["GPUS", "LINK_SHARE", "Gpu", "gpu"]

LINK_SHARE = 0.8
"""Share of a link's rate that transfers reach: Rhu et al. measured 12.8 of 16 GB/s on PCIe 3 with 16 lanes."""

_INSTEAD = {"float8": "bfloat16", "bfloat16": "float32", "float16": "float32", "tf32": "float32"}


@dataclass(frozen=True)
class Gpu:
    """Peak figures from its maker.

    Parameters
    ----------
    name, about
        Its name in commands, and its full name.
    peaks
        10^12 operations a second by the type that products are computed in, without structured sparsity. float32 is
        the rate outside tensor cores, at which all other layers run.
    bandwidth
        10^9 bytes a second of its memory.
    memory
        Its memory in 10^9 bytes.
    link, link_bandwidth
        Its link to the host, and 10^9 bytes a second in one direction.
    source
        Where the figures are published.
    """

    name: str
    about: str
    peaks: Mapping[str, float]
    bandwidth: float
    memory: float
    link: str = "PCIe 3 x16"
    link_bandwidth: float = 16.0
    source: str = ""

    def peak(self, compute: str = "float32") -> float:
        """10^12 operations a second in a type.

        A type without a peak of its own runs in the next wider one: float8 in bfloat16; tf32, bfloat16 and float16 in
        float32.
        """
        while compute not in self.peaks:
            compute = _INSTEAD[compute]
        return self.peaks[compute]

    def seconds(self, flops: float, traffic: float, efficiency: float, compute: str = "float32",
                memory: float = 1.0) -> float:
        """Time of ``flops`` operations that move ``traffic`` bytes: the longer of the two.

        Parameters
        ----------
        flops, traffic
            Operations, and bytes of memory.
        efficiency, memory
            Shares of the peak and of the bandwidth that are reached.
        compute
            The type of the operations.
        """
        return max(flops / (self.peak(compute) * 1e12 * efficiency), traffic / (self.bandwidth * 1e9 * memory))

    @property
    def link_reached(self) -> float:
        """10^9 bytes a second that transfers reach on its link, see :data:`LINK_SHARE`."""
        return self.link_bandwidth * LINK_SHARE


_HALVED = "tensor cores halved: given with sparsity"

GPUS = {entry.name: entry for entry in (
    Gpu("titan-x", "Titan X (Maxwell)", {"float32": 6.1}, 336.0, 12.0,
        source="NVIDIA, GeForce GTX Titan X, specifications: 3072 cores at 1 GHz"),
    Gpu("titan-xp", "Titan Xp (Pascal)", {"float32": 12.15}, 548.0, 12.0,
        source="NVIDIA, Titan Xp, specifications: 3840 cores at 1.58 GHz"),
    Gpu("v100", "V100 SXM2", {"float32": 15.7, "float16": 125.0}, 900.0, 16.0, source="NVIDIA, V100 data sheet"),
    Gpu("a100", "A100 SXM4, 40 GB", {"float32": 19.5, "tf32": 156.0, "bfloat16": 312.0, "float16": 312.0}, 1555.0, 40.0,
        "PCIe 4 x16", 32.0, "NVIDIA, A100 data sheet"),
    Gpu("h100", "H100 SXM", {"float32": 67.0, "tf32": 494.5, "bfloat16": 989.5, "float16": 989.5, "float8": 1979.0},
        3350.0, 80.0, "PCIe 5 x16", 64.0, f"NVIDIA, H100 data sheet; {_HALVED}"),
    Gpu("h200", "H200 SXM", {"float32": 67.0, "tf32": 494.5, "bfloat16": 989.5, "float16": 989.5, "float8": 1979.0},
        4800.0, 141.0, "PCIe 5 x16", 64.0, f"NVIDIA, H200 data sheet; {_HALVED}"),
    # The makers' pages say PCIe 6 of the GPU itself; the systems it is sold in have PCIe 5.
    Gpu("b200", "B200 in HGX", {"float32": 80.0, "tf32": 1100.0, "bfloat16": 2250.0, "float16": 2250.0,
                                "float8": 4500.0}, 8000.0, 192.0, "PCIe 5 x16", 64.0,
        f"NVIDIA, Blackwell architecture technical brief; {_HALVED}"),
    Gpu("rtx-4090", "GeForce RTX 4090", {"float32": 82.6, "tf32": 82.6, "bfloat16": 165.2, "float16": 165.2,
                                         "float8": 330.3}, 1008.0, 24.0, "PCIe 4 x16", 32.0,
        "NVIDIA, Ada GPU architecture white paper, sums in float32"),
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
