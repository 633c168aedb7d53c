"""What a coverage plan is made of: features, each with the bins that must be hit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

__all__ = ["Feature", "crossed"]


@dataclass(frozen=True)
class Feature:
    """Something that benches must see in each of several ways.

    Parameters
    ----------
    name
        As :func:`cdma.verif.common.cover.cover` is given it.
    room
        The part of the plan it belongs to.
    about
        What must be seen, in a sentence.
    bins
        Names of the ways; parts of crossed ones are joined with colons.
    """

    name: str
    room: str
    about: str
    bins: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.bins or len(set(self.bins)) != len(self.bins):
            raise ValueError(f"the bins of feature {self.name} must be one or more different names, not "
                             f"{', '.join(self.bins) or 'none'}")


def crossed(*parts: Iterable[object]) -> tuple[str, ...]:
    """The bins of a cross: every combination, in order."""
    return tuple(":".join(map(str, each)) for each in product(*parts))
