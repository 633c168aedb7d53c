"""Data like activations: with zeros at random places behind a ReLU, and dense with both signs behind a GELU."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.narrowing import Narrowing, narrow

__all__ = ["DENSITIES", "GELU", "RELU", "VALUES", "Sample", "samples"]

DENSITIES = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Densities of the table."""

VALUES = {"float32": 4, "bfloat16": 2, "uint8": 1}
"""Types of values, and bytes of an element."""

RELU, GELU = "ReLU", "GELU"
"""What values are the outputs of."""


@dataclass(frozen=True)
class Sample:
    """Data to measure with.

    Parameters
    ----------
    values
        Type of the values, one of :data:`VALUES`.
    density
        Share of the elements that are not zero; 1 behind a GELU.
    activation
        :data:`RELU`: no value is negative, and zeros are at random places. :data:`GELU`: dense values of both signs.
    """

    values: str
    density: float = 1.0
    activation: str = RELU

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return VALUES[self.values]

    @property
    def label(self) -> str:
        """The density, or what else the data are."""
        return f"{self.density:.1f}" if self.activation == RELU else self.activation

    def codings(self) -> tuple[Coding, ...]:
        """The codings of blocks that suit the values: lines, tags first and, where there is one, exponents."""
        zero_value = (Coding(self.element_bytes), Coding(0x10 | self.element_bytes))
        return zero_value if self.values == "uint8" else (*zero_value, Coding(0x20 | self.element_bytes))

    def data(self, raw_bytes: int, seed: int = 0) -> Bytes:
        """The bytes of the values; ``raw_bytes`` is a multiple of 4."""
        rng = np.random.default_rng(seed)
        found = rng.standard_normal(raw_bytes // self.element_bytes, np.float32)
        if self.activation == GELU:
            # By the hyperbolic tangent, as PyTorch's approximate="tanh".
            found *= (1 + np.tanh(np.float32(0.7978845608) * (found + np.float32(0.044715) * found ** 3))) / 2
        else:
            found = np.abs(found) + np.float32(0.01)
            found[rng.random(found.size, np.float32) >= self.density] = 0
        if self.values == "uint8":
            # Rounded away from zero, so that the density does not change.
            return np.ceil(np.minimum(found * 32, 127)).astype(np.uint8)
        if self.values == "bfloat16":
            return narrow(found, Narrowing.BFLOAT16).view(np.uint8)
        return found.astype("<f4").view(np.uint8)


def samples(densities: Iterable[float] = DENSITIES) -> tuple[Sample, ...]:
    """Values of each type behind a ReLU, at these densities; those of floating point behind a GELU too."""
    chosen = tuple(densities)
    return tuple(sample for values in VALUES for sample in (
        *(Sample(values, density) for density in chosen),
        *((Sample(values, activation=GELU),) if values != "uint8" else ())))
