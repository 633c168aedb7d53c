"""Short floating-point formats: what their bits mean, as one table that narrowing reads."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FORMATS", "FloatFormat"]


@dataclass(frozen=True)
class FloatFormat:
    """A floating-point format of one sign bit, ``exponent_bits`` and ``fraction_bits``.

    With ``infinities`` the highest exponent holds infinities and NaNs, as in IEEE 754. Without, only the code of all
    ones is a NaN and the largest finite value takes what overflows, as in the OCP 8-bit E4M3 format.
    """

    name: str
    exponent_bits: int
    fraction_bits: int
    infinities: bool
    about: str

    @property
    def element_bytes(self) -> int:
        """Bytes of a value."""
        return (1 + self.exponent_bits + self.fraction_bits) // 8

    @property
    def bias(self) -> int:
        """What the exponent field is above the exponent."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def infinity(self) -> int:
        """Code of the value that overflow gives, without sign: infinity, or the largest finite value."""
        top = ((1 << self.exponent_bits) - 1) << self.fraction_bits
        return top if self.infinities else top + (1 << self.fraction_bits) - 2

    @property
    def nan(self) -> int:
        """Code of the quiet NaN, without sign."""
        top = ((1 << self.exponent_bits) - 1) << self.fraction_bits
        return top + (1 << (self.fraction_bits - 1)) if self.infinities else top + (1 << self.fraction_bits) - 1


FORMATS = {entry.name: entry for entry in (
    FloatFormat("float16", 5, 10, True, "IEEE 754 half precision"),
    FloatFormat("bfloat16", 8, 7, True, "the upper half of a float32"),
    FloatFormat("float8_e4m3", 4, 3, False, "OCP 8-bit E4M3: no infinities, overflow gives 448"),
    FloatFormat("float8_e5m2", 5, 2, True, "OCP 8-bit E5M2: the upper half of a float16"),
)}
"""The formats that arrays can be narrowed to, by name."""
