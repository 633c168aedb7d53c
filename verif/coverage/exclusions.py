"""What coverage does not have to hit: patterns of names, each with its reason, and who signed it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property
from pathlib import Path

__all__ = ["EXCLUSIONS", "KINDS", "Exclusion", "Judged", "judge", "read_exclusions"]

EXCLUSIONS = Path(__file__).with_name("exclusions.toml")
"""The exclusions of this project."""

KINDS = ("bin", "line", "toggle")
"""What can be excluded: bins of the plan, and lines and toggles of Verilog."""

_FIELDS = {"kind", "name", "reason", "signed"}
_MOST_BITS = 256
"""Verilator counts no wider signals."""


@dataclass(frozen=True)
class Exclusion:
    """Names that do not have to be hit.

    Parameters
    ----------
    kind
        One of :data:`KINDS`.
    name
        Pattern with ``*`` and ``?``; of Verilog, module and point with a colon between them.
    reason
        Why they cannot be hit, or need not be.
    signed
        Who looked at them.
    from_bit
        Of signals with this name, only bits from this number on; None for what the pattern says.
    """

    kind: str
    name: str
    reason: str
    signed: str
    from_bit: int | None = None

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What its names match."""
        # Brackets are indices of bits here, not sets of characters.
        name = self.name.replace("[", "[[]")
        if self.from_bit is None:
            return re.compile(translate(name))
        bits = "|".join(map(str, range(self.from_bit, _MOST_BITS)))
        return re.compile(f"{translate(name)[:-2]}\\[(?:{bits})\\]:")

    def holds(self, name: str) -> bool:
        """Whether a name is excluded."""
        return self.pattern.match(name) is not None


@dataclass(frozen=True)
class Judged:
    """What remains of names and counts.

    Parameters
    ----------
    hit, total
        How many names were hit, of those that are not excluded.
    holes
        Those of them that were not hit.
    excluded
        How many names are excluded and were not hit.
    contradicted
        Names that are excluded, and were hit all the same.
    """

    hit: int
    total: int
    holes: tuple[str, ...]
    excluded: int
    contradicted: tuple[str, ...]


def read_exclusions(path: Path = EXCLUSIONS) -> tuple[Exclusion, ...]:
    """The exclusions in a file.

    Raises
    ------
    ValueError
        If one has no kind, name, reason or signature.
    """
    found = tomllib.loads(path.read_text(encoding="utf-8")).get("exclude", [])
    for number, entry in enumerate(found, 1):
        wrong = (set(entry) - {"from_bit"}) ^ _FIELDS or {key for key in _FIELDS if not str(entry[key]).strip()}
        if wrong or entry["kind"] not in KINDS:
            raise ValueError(f"exclusion {number} of {path} must have a kind ({', '.join(KINDS)}), a name, a reason "
                             f"and who signed it, not {entry}")
    return tuple(Exclusion(**entry) for entry in found)


def judge(counts: Iterable[tuple[str, int]], exclusions: Iterable[Exclusion]) -> Judged:
    """Judge names with their counts; an excluded name that was hit counts as hit, and is reported."""
    rules = tuple(exclusions)
    every = re.compile("|".join(rule.pattern.pattern for rule in rules) if rules else "(?!)")
    hit = excluded = 0
    holes, contradicted = [], []
    for name, count in counts:
        if count:
            hit += 1
            if every.match(name):
                contradicted.append(name)
        elif every.match(name):
            excluded += 1
        else:
            holes.append(name)
    return Judged(hit, hit + len(holes), tuple(holes), excluded, tuple(contradicted))
