"""What a run of the test suite, or of ``cdma verify``, found, from the file that it wrote, for the store of results."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from cdma.verif.regression.outcomes import State

__all__ = ["Room", "Skipped", "Suite", "Verified", "read_suite", "read_verification"]


@dataclass(frozen=True)
class Skipped:
    """Tests that were skipped for one reason."""

    reason: str
    tests: int


@dataclass(frozen=True)
class Room:
    """How many tests there are of a folder of ``tests``, and the seconds of one processor that they took."""

    name: str
    tests: int
    seconds: float


@dataclass(frozen=True)
class Suite:
    """A run of the test suite.

    Parameters
    ----------
    tests, failed
        How many there are, and how many of them failed.
    skipped
        The reasons why tests were skipped.
    seconds
        From begin to end.
    rooms
        The tests by folder.
    """

    tests: int
    failed: int
    skipped: tuple[Skipped, ...]
    seconds: float
    rooms: tuple[Room, ...]


@dataclass(frozen=True)
class Verified:
    """A run of ``cdma verify``.

    Parameters
    ----------
    name
        Of the configuration's top module.
    simulator
        That benches ran on.
    steps, unfinished
        How many steps there are, and how many of them did not pass.
    tests, cycles
        Tests of benches that ran, and cycles of the clock that they simulated.
    seconds
        That the steps took, added up.
    """

    name: str
    simulator: str
    steps: int
    unfinished: int
    tests: int
    cycles: int
    seconds: float


def read_suite(file: Path) -> Suite:
    """Read a JUnit file that pytest wrote.

    Raises
    ------
    ValueError
        If the file is missing, or is none.
    """
    try:
        suite = ElementTree.parse(file).getroot().find("testsuite")
    except FileNotFoundError as error:
        raise ValueError(f"{file} does not exist: run the tests with --junitxml={file} first") from error
    except ElementTree.ParseError as error:
        raise ValueError(f"{file} is no JUnit file: {error}") from error
    if suite is None:
        raise ValueError(f"{file} is no JUnit file: it has no test suite")
    cases = list(suite.iter("testcase"))
    reasons: dict[str, int] = {}
    rooms: dict[str, tuple[int, float]] = {}
    for case in cases:
        for skip in case.iter("skipped"):
            reason = skip.get("message") or "no reason given"
            reasons[reason] = reasons.get(reason, 0) + 1
        name = _room(case.get("classname", ""))
        count, seconds = rooms.get(name, (0, 0.0))
        rooms[name] = count + 1, seconds + float(case.get("time", 0))
    failed = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    return Suite(len(cases), failed, tuple(Skipped(reason, count) for reason, count in sorted(reasons.items())),
                 float(suite.get("time", 0)),
                 tuple(Room(name, count, round(seconds, 1)) for name, (count, seconds) in sorted(rooms.items())))


def read_verification(file: Path) -> Verified:
    """Read the ``results.json`` of a report of ``cdma verify``.

    Raises
    ------
    ValueError
        If the file is missing, or is none.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        outcomes = found["outcomes"]
        tests = [test for outcome in outcomes for test in outcome["tests"]]
        return Verified(found["name"], found["simulator"], len(outcomes),
                        sum(outcome["state"] != State.PASSED for outcome in outcomes), len(tests),
                        sum(test["cycles"] for test in tests), round(sum(outcome["seconds"] for outcome in outcomes)))
    except FileNotFoundError as error:
        raise ValueError(f"{file} does not exist: run cdma verify PRESET --report {file.parent} first") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{file} is no results.json of cdma verify: {error!r}") from error


def _room(classname: str) -> str:
    """The folder of a test, at most two below ``tests``."""
    words = classname.split(".")
    folders = [word for word in words[1:] if not word.startswith("test_") and not word[:1].isupper()]
    return "/".join(folders[:2]) or "tests"
