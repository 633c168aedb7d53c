"""Results of the steps of a regression."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from xml.etree import ElementTree

from cdma.golden.results import derived
from cdma.verif.common.job import CLOCK_NS

__all__ = ["Figure", "Outcome", "State", "TestOutcome", "tests_of"]


class State(StrEnum):
    """How a step or a test ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class TestOutcome:
    """How a test of a bench ended.

    Parameters
    ----------
    name
        Of the test.
    state
        How it ended.
    seconds
        It took.
    cycles
        Of the engine's clock that were simulated.
    said
        What was wrong; empty when it passed.
    about
        What it shows; empty for tests of benches, whose names say it.
    """

    __test__ = False  # it is no test itself, though pytest goes by the name

    name: str
    state: State
    seconds: float
    cycles: int
    said: str = ""
    about: str = ""


@dataclass(frozen=True)
class Figure:
    """Something that a step measured: its name, and the value with its unit."""

    name: str
    value: str


@dataclass(frozen=True)
class Outcome:
    """How a step ended.

    Parameters
    ----------
    step, about
        Its name, and what it checks.
    seed
        Of its random choices.
    state
        How it ended.
    seconds
        It took, compilation included.
    tests
        Of its bench.
    figures
        What it measured.
    said
        What was wrong; empty when it passed.
    replay
        The command that runs it again.
    bins
        Samples of the coverage plan, by feature and bin.
    waves
        File with the waves of the test that failed; empty when there is none.
    """

    step: str
    about: str
    seed: int
    state: State
    seconds: float
    tests: tuple[TestOutcome, ...] = ()
    figures: tuple[Figure, ...] = ()
    said: str = ""
    replay: str = ""
    bins: dict[str, dict[str, int]] = field(default_factory=dict)
    waves: str = ""

    @derived
    def cycles(self) -> int:
        """Simulated in all tests."""
        return sum(test.cycles for test in self.tests)


def tests_of(results: Path) -> list[TestOutcome]:
    """The tests in a results file of cocotb; none if it cannot be read."""
    try:
        cases = list(ElementTree.parse(results).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return []
    return [_test(case) for case in cases]


def _test(case: ElementTree.Element) -> TestOutcome:
    faults = [*case.iter("failure"), *case.iter("error")]
    said = "\n".join(fault.get("message") or fault.get("error_msg") or (fault.text or "").strip() or "failed"
                     for fault in faults)
    simulated = next((float(each.get("value", 0)) for each in case.iter("property")
                      if each.get("name") == "sim_time_duration"), 0.0)
    return TestOutcome(case.get("name", ""), State.FAILED if faults else State.PASSED, float(case.get("time", 0)),
                       round(simulated / CLOCK_NS), said)
