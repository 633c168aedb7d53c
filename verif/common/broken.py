"""Protocol rules that a simulation saw broken, from its log."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Broken", "broken"]

_LINE = re.compile(r"^\s*rule (\S+)\.(\w+) broken at (\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Broken:
    """A rule that did not hold.

    Parameters
    ----------
    rule : str
        Its name.
    place : str
        The instance of the rules that saw it, by its path: it names the port.
    time : int
        When, in the simulator's smallest unit.
    """

    rule: str
    place: str
    time: int

    def __str__(self) -> str:
        return f"rule {self.rule} is broken at {self.place}, time {self.time}"


def broken(log: str) -> list[Broken]:
    """What the modules of ``verif/rules`` reported, in order."""
    return [Broken(rule, place, int(time)) for place, rule, time in _LINE.findall(log)]
