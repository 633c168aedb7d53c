"""What others published about ways of needing less memory, with sources; nothing here was measured by this project."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ACTNN", "Lossy"]


@dataclass(frozen=True)
class Lossy:
    """A published lossy treatment of activations.

    Parameters
    ----------
    bits
        Bits of a value on the device, with all that is stored beside it.
    accuracy
        What it costs in accuracy, in the words of its authors.
    source
        Where that is published.
    """

    bits: float
    accuracy: str
    source: str


ACTNN = Lossy(32 / 12, "negligible on vision tasks (published)",
              "Chen et al., ActNN: Reducing Training Memory Footprint via 2-Bit Activation Compressed Training, ICML "
              "2021, abstract: 2 bits on average, activations take 12 times less memory than in float32")
"""2-bit activations. Twelve times less than float32 is published; what is stored beside the 2 bits is in it."""
