"""The soak: configurations, benches and seeds at random until the time is over; results add up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any

import numpy as np

from cdma.golden.results import derived, to_json
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.common import runner
from cdma.verif.regression.plan import Step, steps
from cdma.verif.soak.cases import Case, CaseResult, run_case, shrink, write_case
from cdma.verif.soak.configs import Pair, all_pairs, pairs, random_config
from cdma.verif.soak.streams import check_streams

__all__ = ["SoakReport", "soak", "streams_only"]

_CONFIG_S = 240.0
"""Seconds for a configuration: compiling it takes some tens of them."""

_GOLDEN = 2000
"""Malformed streams for the model with each configuration."""

_RTL = 240
"""Malformed streams of a case of the bench ``malicious``."""

_ALL_OPTIONS = EngineConfig(page_lists=True, address_windows=True, write_back=True, buffer_parity=True,
                            link_read_ids=4, link_clock="separate")
"""An engine that calls for every bench."""

_RATIOS = (0.2, 0.37, 0.71, 1.0, 1.37, 2.9)
"""Frequencies of a link's own clock, relative to that of the engine."""


@dataclass(frozen=True)
class SoakReport:
    """What came of a soak, or of several.

    Parameters
    ----------
    minutes
        They took.
    processor_minutes
        Of one processor that were used for it: what counts on a machine that has other work.
    configurations, cases
        How many were compiled, and how many runs of benches there were.
    benches
        Cases by bench.
    cycles
        That were simulated.
    streams_golden, streams_rtl
        Malformed streams that the model and the plain reference judged, and that the RTL and the model judged.
    pairs
        Pairs of settings of options that were seen, as ``option=setting & option=setting``.
    seeds
        Of the runs.
    failures
        A sentence for each.
    """

    minutes: float
    processor_minutes: float
    configurations: int
    cases: int
    benches: dict[str, int]
    cycles: int
    streams_golden: int
    streams_rtl: int
    pairs: tuple[str, ...]
    seeds: tuple[str, ...]
    failures: tuple[str, ...]

    @derived
    def pairs_of_all(self) -> int:
        """How many pairs of settings there are."""
        return len(all_pairs())


def soak(minutes: float, seed: int, *, shard: tuple[int, int] = (1, 1), build_dir: Path, report: Path | None = None,
         progress: Callable[[str, int, int], None] | None = None, config: EngineConfig | None = None,
         benches: Sequence[str] = ()) -> SoakReport:
    """Soak for so many minutes: each configuration has one case at least, and a case that is under way is finished.

    An interrupt ends it: the case that is under way is dropped, those before count.

    Parameters
    ----------
    seed
        Of all choices; with the same shard it gives the same cases, as far as the time goes.
    shard
        Which of how many machines or processes this is: each has choices of its own.
    build_dir
        Folder for compiled designs.
    report
        Folder for ``log.jsonl``, with a line for each case, and for files of failures.
    progress
        Called with what is under way, seconds that passed, and seconds in all.
    config
        The only configuration; random ones when not given.
    benches
        The only benches; all that a configuration calls for when none are given.

    Raises
    ------
    ValueError
        If there is no such bench, or a given configuration has none of the benches.
    MissingToolError
        If a program that simulates is not installed.
    """
    _check(config, benches)
    rng = np.random.default_rng([seed, *shard])
    began = time.monotonic()
    state = _State(report, build_dir)
    known: set[Pair] = set()

    def left() -> float:
        return began + 60 * minutes - time.monotonic()

    with suppress(KeyboardInterrupt):
        number = 0
        while left() > 0:
            number += 1
            engine = config or random_config(rng, known, f"cdma_soak{number}")
            usable = _usable(engine, benches)
            if not usable:
                continue  # its pairs must not count, because nothing of it would run
            known |= pairs(engine)
            state.stream_check(_GOLDEN, int(rng.integers(1 << 31)), lambda: left() <= 0)
            end = time.monotonic() + min(_CONFIG_S, left())
            for case in _cases(engine, usable, rng):
                if progress is not None:
                    progress(f"{engine.name}: {case.bench}", round(60 * minutes - left()), round(60 * minutes))
                state.case(case)
                if time.monotonic() >= end:
                    break
    return state.totals((time.monotonic() - began) / 60, f"{seed} {shard[0]}/{shard[1]}")


def streams_only(number: int, seed: int, *, progress: Callable[[str, int, int], None] | None = None) -> SoakReport:
    """Judge so many malformed streams with the model and the plain reference, and simulate nothing."""
    began = time.monotonic()
    found = check_streams(number, seed, progress and (lambda done: progress("malformed streams", done, number)))
    minutes = round((time.monotonic() - began) / 60, 2)
    return SoakReport(minutes, minutes, 0, 0, {}, 0, found.streams, 0, (), (f"{seed} streams",), found.failures)


def _pair(text: str) -> Pair:
    one, _, other = text.partition(" & ")
    return one, other


def _usable(config: EngineConfig, benches: Sequence[str]) -> list[Step]:
    """The benches of a configuration that other seeds make different."""
    return [step for step in steps(config) if step.bench and not step.models and step.repeats
            and (not benches or step.name in benches)]


def _check(config: EngineConfig | None, benches: Sequence[str]) -> None:
    """Refuse benches that no configuration has, or the given one has not."""
    known = [step.name for step in _usable(_ALL_OPTIONS, ())]
    if unknown := [name for name in benches if name not in known]:
        raise ValueError(f"there is no bench {' or '.join(unknown)}: the benches are {', '.join(sorted(known))}")
    if config is not None and not _usable(config, benches):
        raise ValueError(f"{config.name} has no bench {' or '.join(benches)}: its benches are "
                         f"{', '.join(step.name for step in _usable(config, ()))}")


def _cases(config: EngineConfig, usable: Sequence[Step], rng: np.random.Generator) -> Iterator[Case]:
    """Cases of a configuration without end, its benches in turn and in any order."""
    while usable:
        for at in rng.permutation(len(usable)):
            yield _case(config, usable[int(at)], rng)


def _case(config: EngineConfig, step: Step, rng: np.random.Generator) -> Case:
    job: dict[str, Any] = dict(step.job)
    if config.link_clock == "separate" and step.name != "link_clock":
        job["link_ratio"] = float(_RATIOS[int(rng.integers(len(_RATIOS)))])
    if "streams" in job:
        job["streams"] = _RTL
    share = float(step.share * rng.choice([0.5, 1.0, 2.0]))
    return Case(config, step.bench.rpartition(".")[2], int(rng.integers(1, 1 << 31)), min(1.0, share), job)


class _State:
    """What has been counted so far."""

    def __init__(self, report: Path | None, build_dir: Path) -> None:
        self._pairs: set[str] = set()
        self._configurations: set[str] = set()
        self._cases = self._cycles = self._golden = self._rtl = 0
        self._benches: dict[str, int] = {}
        self._failures: list[str] = []
        self._before = _processor_s()
        self._report = report
        self._build_dir = build_dir
        if report is not None:
            report.mkdir(parents=True, exist_ok=True)

    def stream_check(self, count: int, seed: int, until: Callable[[], bool]) -> None:
        found = check_streams(count, seed, until=until)
        self._golden += found.streams
        self._failures += found.failures
        self._log({"streams": found.streams, "seed": seed, "failures": list(found.failures)})

    def case(self, case: Case) -> None:
        result = self._run(case)
        self._pairs |= {" & ".join(pair) for pair in pairs(case.config)}
        self._configurations.add(case.config.name)
        self._cases += 1
        self._cycles += result.cycles
        self._rtl += int(result.report.get("streams", 0)) if case.bench == "malicious" else 0
        self._benches[case.bench] = self._benches.get(case.bench, 0) + 1
        self._log({"config": case.config.as_dict(), "bench": case.bench,
                   "seed": case.seed, "share": case.share, "job": case.job, "seconds": round(result.seconds, 2),
                   "cycles": result.cycles, "passed": result.passed})
        if not result.passed:
            self._failed(case, result)

    def _run(self, case: Case) -> CaseResult:
        try:
            return run_case(case, self._build_dir)
        except runner.BuildError as error:
            return CaseResult((), str(error), {}, 0.0)

    def _failed(self, case: Case, result: CaseResult) -> None:
        smallest, said = shrink(case, result, self._run)
        text, where = said.said, ""
        if self._report is not None:
            file = self._report / f"failure-{case.bench}-{case.seed}.json"
            write_case(smallest, text, file)
            where = f"; replay: cdma soak --replay {file}"
        self._failures.append(f"{case.bench}, seed {case.seed}: {text.splitlines()[-1]}{where}")

    def _log(self, line: dict[str, Any]) -> None:
        if self._report is not None:
            with (self._report / "log.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(to_json(line)) + "\n")

    def totals(self, minutes: float, seed: str) -> SoakReport:
        used = round((_processor_s() - self._before) / 60, 2)
        benches = dict(sorted(self._benches.items()))
        return SoakReport(round(minutes, 2), used, len(self._configurations), self._cases, benches, self._cycles,
                          self._golden, self._rtl, tuple(sorted(self._pairs)), (seed,),
                          tuple(self._failures))


def _processor_s() -> float:
    """Seconds of a processor that this process and those it started have used."""
    return sum(used.ru_utime + used.ru_stime for used in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))
