"""The share of a GPU's peaks that each kind of layer reaches: assumptions, which a profile replaces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

__all__ = ["EFFICIENCY", "Efficiency", "efficiency"]

EFFICIENCY = 0.5
"""Share of the peak that convolutions and matrix products reach: an assumption, not a measurement. Libraries reach
from a third to nearly all of it, depending on the shapes; give your own value, or a profile, where it matters."""


@dataclass(frozen=True)
class Efficiency:
    """The share of the peak by kind of layer, each above 0 and at most 1.

    Parameters
    ----------
    convolution, product
        Of the operations of convolutions and matrix products.
    attention
        Of the operations of fused attention. Dao 2023 (FlashAttention-2) measured 0.5 to 0.73 on an A100.
    memory
        Of the memory's bandwidth, for all layers. The default is all of it, so that computing hides no more than it
        can; copies reach about nine tenths.

    Raises
    ------
    ValueError
        If a share is not above 0 and at most 1.
    """

    convolution: float = EFFICIENCY
    product: float = EFFICIENCY
    attention: float = EFFICIENCY
    memory: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value <= 1:
                raise ValueError(f"the efficiency must be above 0 and at most 1, not {value:g} ({field.name})")

    def text(self) -> str:
        """The shares in words: one number if all operations have one and the memory has 1, else each by name."""
        if self.convolution == self.product == self.attention and self.memory == 1:
            return f"{self.product:g} of the peak"
        each = (f"{field.name} {getattr(self, field.name):g}" for field in fields(self))
        return f"shares of the peak: {', '.join(each)}"


def efficiency(given: Iterable[tuple[str | None, float]]) -> Efficiency:
    """The shares that a user gave: pairs of a name and a value, None for convolutions and products together.

    Raises
    ------
    ValueError
        If there is no such name, or a share is not allowed.
    """
    names = [field.name for field in fields(Efficiency)]
    found: dict[str, float] = {}
    for name, value in given:
        if name is not None and name not in names:
            raise ValueError(f"there is no efficiency of {name!r}: give {', '.join(names)}")
        found |= {"convolution": value, "product": value} if name is None else {name: value}
    return Efficiency(**found)
