"""What coverage does not have to hit: patterns of names, each with its reason, and who signed it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path
from typing import Any

__all__ = ["EXCLUSIONS", "Exclusion", "judge", "read_exclusions"]

EXCLUSIONS = Path(__file__).with_name("exclusions.toml")
"""The exclusions of this project."""

_MOST_BITS = 256
"""Verilator counts no wider signals."""


@dataclass(frozen=True)
class Exclusion:
    """Names that do not have to be hit.

    Parameters
    ----------
    kind
        ``bin`` of the plan, or ``line`` or ``toggle`` of Verilog.
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

    @property
    def pattern(self) -> str:
        """The regular expression of its names."""
        # Brackets are indices of bits here, not sets of characters.
        name = translate(self.name.replace("[", "[[]"))
        if self.from_bit is None:
            return name
        return f"{name[:-2]}\\[(?:{'|'.join(map(str, range(self.from_bit, _MOST_BITS)))})\\]:"


def read_exclusions(path: Path = EXCLUSIONS) -> list[Exclusion]:
    """The exclusions in a file."""
    return [Exclusion(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("exclude", [])]


def judge(counts: Iterable[tuple[str, int]], exclusions: Iterable[Exclusion]) -> dict[str, Any]:
    """Judge names with their counts: ``total`` and ``hit``, how many there are that are not excluded, and were hit;
    ``holes``, those that were not; ``excluded``, how many are excluded and were not hit; and ``contradicted``, those
    that are excluded and were hit all the same, which count as hit."""
    every = re.compile("|".join(rule.pattern for rule in exclusions) or "(?!)")
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
    return {"hit": hit, "total": hit + len(holes), "excluded": excluded, "holes": holes, "contradicted": contradicted}
