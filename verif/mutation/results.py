"""What came of mutants, and their score."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from cdma.golden.results import derived, to_json
from cdma.verif.evidence.store import RECORDED, recording

__all__ = ["GOALS", "MutantResult", "MutationReport", "Score", "Verdict", "record", "recorded",
           "scores"]

GOALS = {"mutants": 300, "killed": 0.97, "own": 0.9}
"""Mutants that count, the share of them that tests kill, and the share of these that the unit's own tests kill."""


class Verdict(StrEnum):
    """What came of a mutant."""

    OWN = "own"             # a test or a proof of the unit itself fails
    OTHER = "other"         # another test, or a bench
    SURVIVED = "survived"
    SAME = "same"           # no netlist differs, and no design of a test
    PROVED = "proved"       # a proof says that it does the same
    INVALID = "invalid"     # no hardware is made


@dataclass(frozen=True)
class MutantResult:
    """What came of a mutant.

    Parameters
    ----------
    name
        Of the mutant.
    operator
        The kind of change.
    verdict
        What came of it.
    by
        The test, proof or bench that found it; of one that does the same, what says so.
    said
        What it said: the exception, or ``timeout``.
    processor_s
        Seconds of a processor that it took.
    """

    name: str
    operator: str
    verdict: Verdict
    by: str
    said: str
    processor_s: float

    @property
    def unit(self) -> str:
        """The file."""
        return self.name.partition(":")[0]

    @property
    def replay(self) -> str:
        """The command that tries it again."""
        return f"cdma mutate --only '{self.name}'"


@dataclass(frozen=True)
class Score:
    """How many mutants of a unit had which verdict."""

    unit: str
    own: int
    other: int
    survived: int
    equivalent: int
    invalid: int

    @derived
    def counted(self) -> int:
        """Mutants that make hardware which differs."""
        return self.own + self.other + self.survived

    @derived
    def killed(self) -> int:
        """Those that something found."""
        return self.own + self.other


@dataclass(frozen=True)
class MutationReport:
    """What came of mutants."""

    results: tuple[MutantResult, ...]

    @derived
    def score(self) -> Score:
        """Of all units."""
        return _score("all", self.results)

    @property
    def survivors(self) -> list[MutantResult]:
        """Mutants that nothing found."""
        return [result for result in self.results if result.verdict is Verdict.SURVIVED]


def _score(unit: str, results: Iterable[MutantResult]) -> Score:
    verdicts = [result.verdict for result in results]
    equivalent = verdicts.count(Verdict.SAME) + verdicts.count(Verdict.PROVED)
    return Score(unit, verdicts.count(Verdict.OWN), verdicts.count(Verdict.OTHER), verdicts.count(Verdict.SURVIVED),
                 equivalent, verdicts.count(Verdict.INVALID))


def scores(results: Iterable[MutantResult]) -> list[Score]:
    """By unit."""
    by_unit: dict[str, list[MutantResult]] = {}
    for result in results:
        by_unit.setdefault(result.unit, []).append(result)
    return [_score(unit, by_unit[unit]) for unit in sorted(by_unit)]


def record(results: Iterable[MutantResult], seed: int, command: str, path: Path = RECORDED) -> None:
    """Merge results into the section ``mutation``, by the mutants' names; a line each.

    Results of another seed stay: each mutant counts, whichever sample it is of.
    """
    lines = {result.name: f"{result.verdict}|{result.operator}|{result.by}" for result in results}
    part = {"seeds": [seed], "mutants": lines}
    with recording(path) as evidence:
        evidence.merge("mutation", command=command, part=to_json(part), join=_joined)


def _joined(old: dict[str, Any] | None, part: dict[str, Any]) -> dict[str, Any]:
    if old is None:
        return part
    mutants = old["mutants"] | part["mutants"]
    return {"seeds": sorted({*old["seeds"], *part["seeds"]}),
            "mutants": {name: mutants[name] for name in sorted(mutants, key=_place)}}


def _place(name: str) -> tuple[str, int, int, str]:
    path, line, rest = name.split(":", 2)
    column, _, change = rest.partition(" ")
    return path, int(line), int(column), change


def recorded(results: dict[str, Any]) -> list[MutantResult]:
    """The results of the section ``mutation``."""
    found = []
    for name, line in results["mutants"].items():
        verdict, operator, by = line.split("|", 2)
        found.append(MutantResult(name, operator, Verdict(verdict), by, "", 0.0))
    return found
