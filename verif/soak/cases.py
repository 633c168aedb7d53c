"""A case of a soak: a configuration, a bench and a seed. It is a file, runs again, and becomes smaller if it fails."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from cdma.golden.results import from_json, to_json
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.config.files import write_file
from cdma.verif.common import runner
from cdma.verif.common.lint import findings
from cdma.verif.engine.build import build_engine, engine_text
from cdma.verif.regression.outcomes import State, TestOutcome, tests_of
from cdma.verif.regression.plan import LINT, Step, image_bytes, steps
from cdma.verif.soak.configs import OPTIONS

__all__ = ["FRAGMENTS", "LARGEST_IMAGE", "Case", "CaseResult", "read_case", "run_case", "shrink", "soaked",
           "write_case"]

FRAGMENTS = Step("fragments", "small transfers by rings with records", "cdma.verif.engine.benches.fragments")
"""A bench that the regression has not: it measures, and checks every byte."""

LARGEST_IMAGE = 1 << 25
"""Bytes of a memory that streams in the largest pages need. All cases of a configuration run in one design, which has
such memories, or larger ones where its tensors need them."""

_LEAST_SHARE = 0.01
_SHRINK_S = 600.0
"""Seconds after which a case is not made smaller any more."""

_PLAIN = EngineConfig()
_NUMBER = re.compile(r"\d+")
_RUNNING = re.compile(r"running \S+\.(\w+) \(")
"""What cocotb writes into its log when a test begins."""

_WORD = re.compile(r"[A-Za-z]\w*")
_WORDS = 4
"""Words of a message that tell failures apart."""


def soaked(config: EngineConfig) -> Sequence[Step]:
    """The steps of a configuration: those of its regression, and fragments where completions go to rings."""
    return [*steps(config), *[FRAGMENTS] * config.write_back]


@dataclass(frozen=True)
class Case:
    """A run of a bench on a configuration.

    Parameters
    ----------
    config
        The engine.
    bench
        Name of a module in :mod:`cdma.verif.engine.benches`, or ``lint``.
    seed
        Of all random choices.
    share
        Part of the bench's stimuli.
    job
        What the bench is told beside it.
    tests
        Name of the only test to run; all when empty.
    """

    config: EngineConfig
    bench: str
    seed: int
    share: float
    job: dict[str, Any] = field(default_factory=dict)
    tests: str = ""


@dataclass(frozen=True)
class CaseResult:
    """What came of a case: its tests, what was wrong (empty when nothing was), what the bench reported, and seconds."""

    tests: tuple[TestOutcome, ...]
    said: str
    report: dict[str, Any]
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether nothing was wrong."""
        return not self.said

    @property
    def cycles(self) -> int:
        """Simulated in all tests."""
        return sum(test.cycles for test in self.tests)


def run_case(case: Case, build_dir: Path, waves: Path | None = None) -> CaseResult:
    """Run a case.

    Parameters
    ----------
    build_dir
        Folder for compiled designs.
    waves
        Folder for the waves; none are recorded when not given.

    Raises
    ------
    MissingToolError
        If a program that simulates is not installed.
    BuildError
        If the design does not compile.
    """
    began = time.monotonic()
    if case.bench == LINT:
        with tempfile.TemporaryDirectory(prefix="cdma-") as place:
            said = "\n".join(findings(case.config.name, engine_text(case.config, build_dir), Path(place)))
        return CaseResult((), said, {}, time.monotonic() - began)
    image = image_bytes(case.config)
    job = {"image_bytes": image, "config": case.config.as_dict(), "share": case.share, **case.job}
    built = build_engine(case.config, image_bytes=max(LARGEST_IMAGE, image), build_dir=build_dir,
                         waves=waves is not None)
    said, report = "", {}
    with tempfile.TemporaryDirectory(prefix="cdma-") as place:
        folder = Path(place)
        try:
            report = runner.run(built, f"cdma.verif.engine.benches.{case.bench}", job=job, folder=folder,
                                seed=case.seed, tests=f"{re.escape(case.tests)}$" if case.tests else None)
        except runner.BenchError as error:
            said = str(error)
        tests = tuple(tests_of(folder / "results.xml")) or _ended(folder / "bench.log", said)
        if waves is not None:
            waves.mkdir(parents=True, exist_ok=True)
            for dump in folder.glob("dump.*"):
                (waves / dump.name).write_bytes(dump.read_bytes())
    return CaseResult(tests, said, report, time.monotonic() - began)


def _ended(log: Path, said: str) -> tuple[TestOutcome, ...]:
    """The test that ran when something ended the simulation before its bench, as a protocol rule does; none where none
    began, or nothing was wrong."""
    began = _RUNNING.findall(log.read_text(errors="replace")) if said and log.exists() else []
    return tuple(TestOutcome(name, State.FAILED, 0.0, 0, said) for name in began[-1:])


def shrink(case: Case, failed: CaseResult, runs: Callable[[Case], CaseResult], tries: int = 24,
           seconds: float = _SHRINK_S) -> tuple[Case, CaseResult]:
    """A smaller case that fails in the same way, and what it says: one test, fewer stimuli, fewer options.

    Parameters
    ----------
    case
        One that fails.
    failed
        What came of it.
    runs
        Runs a case.
    tries
        Cases to run at most.
    seconds
        After which no further case is run.
    """
    smallest, result = case, failed
    left, end = tries, time.monotonic() + seconds
    reduced = True
    while reduced and left:
        reduced = False
        for smaller in _smaller(smallest, result):
            if not left or time.monotonic() >= end:
                break
            left -= 1
            found = runs(smaller)
            if _complaints(found) & _complaints(result):
                smallest, result, reduced = smaller, found, True
                break
    return smallest, result


def _complaints(result: CaseResult) -> set[str]:
    """What failed and how, without numbers: what remains the same when a case becomes smaller. Of protocol rules that
    were broken, which and at what kind of port."""
    rules = {_NUMBER.sub("", line) for line in result.said.splitlines() if line.startswith("rule ")}
    if rules:
        return rules
    lines = {"" if test.state is not State.FAILED else " ".join([test.name, *_WORD.findall(test.said)[:_WORDS]])
             for test in result.tests}
    return (lines or {" ".join(_WORD.findall(result.said)[:_WORDS])}) - {""}


def _smaller(case: Case, result: CaseResult) -> Iterator[Case]:
    """Cases with one thing less, what removes most first."""
    if not case.tests:
        yield from (replace(case, tests=test.name) for test in result.tests if test.state is State.FAILED)
    if case.share > _LEAST_SHARE:
        yield replace(case, share=case.share / 2)
    if case.job.get("streams", 0) > 1:
        yield replace(case, job=case.job | {"streams": case.job["streams"] // 2})
    for changes in _plainer(case.config):
        try:
            config = case.config.replace(**changes)
        except ValueError:
            continue  # an option that another one needs
        # A bench of an option needs it.
        if case.bench == LINT or any(step.bench.rpartition(".")[2] == case.bench for step in soaked(config)):
            yield replace(case, config=config)


def _plainer(config: EngineConfig) -> Iterator[dict[str, Any]]:
    """Changes that take an option out, or make the engine smaller."""
    if config.lanes > 1:
        yield {"lanes": 1}
    for name in OPTIONS:
        if getattr(config, name) != getattr(_PLAIN, name):
            yield {name: getattr(_PLAIN, name)}
    if len(config.codings) > 1:
        yield from ({"codings": (coding,)} for coding in config.codings)


def write_case(case: Case, said: str, file: Path) -> None:
    """Write a case, with what it says, to a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    values = {each.name: to_json(getattr(case, each.name)) for each in fields(case)} | {"said": said}
    write_file(file, json.dumps(values, indent=1) + "\n")


def read_case(file: Path) -> Case:
    """Read a case from a file.

    Raises
    ------
    ValueError
        If the file is missing or no case.
    """
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        values.pop("said", None)
        return from_json(Case, values)
    except FileNotFoundError as error:
        raise ValueError(f"{file} does not exist: give a file that cdma soak wrote") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{file} is no case of cdma soak: {error}") from error
