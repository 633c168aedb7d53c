"""The soak: configurations, benches and seeds at random until the time is over; results add up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any

import numpy as np

from cdma.golden.engine import PAGE_SIZES
from cdma.golden.results import derived, to_json
from cdma.hdl.config.engine import SWITCHES, EngineConfig
from cdma.verif.common import runner
from cdma.verif.engine import throughput
from cdma.verif.regression.plan import LINT, Step
from cdma.verif.soak.cases import FRAGMENTS, LARGEST_IMAGE, Case, CaseResult, run_case, shrink, soaked, write_case
from cdma.verif.soak.configs import Pair, all_pairs, pairs, random_config
from cdma.verif.soak.streams import check_streams

__all__ = ["SoakReport", "soak", "streams_only"]

_CONFIG_S = 240.0
"""Seconds for a configuration: compiling it takes some tens of them."""

_GOLDEN = 2000
"""Malformed streams for the model with each configuration."""

_RTL = 240
"""Malformed streams of a case of the bench ``malicious``."""

_ALL_OPTIONS = EngineConfig(link_read_ids=4, link_clock="separate", **SWITCHES)
"""An engine that calls for every bench."""

_RATIOS = (0.2, 0.37, 0.71, 1.0, 1.37, 2.9)
"""Frequencies of a link's own clock, relative to that of the engine."""

_FRAGMENT_BYTES = 1 << 18
"""Of all fragments of a size together, if these are neither too few nor too many."""

_LARGE_PAGES = 0.3
"""Part of the cases of page lists with a stream that goes on in its second page of the largest size."""


@dataclass
class SoakReport:
    """What came of a soak.

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

    minutes: float = 0.0
    processor_minutes: float = 0.0
    configurations: int = 0
    cases: int = 0
    benches: dict[str, int] = field(default_factory=dict)
    cycles: int = 0
    streams_golden: int = 0
    streams_rtl: int = 0
    pairs: Sequence[str] = ()
    seeds: Sequence[str] = ()
    failures: list[str] = field(default_factory=list)

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
    began, processor_s = time.monotonic(), _processor_s()
    found = SoakReport(seeds=(f"{seed} {shard[0]}/{shard[1]}",))
    known: set[Pair] = set()
    ran: dict[str, EngineConfig] = {}
    if report is not None:
        report.mkdir(parents=True, exist_ok=True)

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
            seed_of_streams = int(rng.integers(1 << 31))
            judged, failures = check_streams(_GOLDEN, seed_of_streams, until=lambda: left() <= 0)
            found.streams_golden += judged
            found.failures += failures
            _log(report, {"streams": judged, "seed": seed_of_streams, "failures": failures})
            end = time.monotonic() + min(_CONFIG_S, left())
            # The seed makes the name of its file.
            lint = [] if benches else [Case(engine, LINT, int(rng.integers(1, 1 << 31)), 0.0)]
            for case in chain(lint, _cases(engine, usable, rng)):
                if progress is not None:
                    progress(f"{engine.name}: {case.bench}", round(60 * minutes - left()), round(60 * minutes))
                result = _run(case, build_dir)
                ran[engine.name] = engine
                found.cases += 1
                found.cycles += result.cycles
                found.streams_rtl += int(result.report.get("streams", 0)) if case.bench == "malicious" else 0
                name = f"{case.bench} {case.tests}".strip()
                found.benches[name] = found.benches.get(name, 0) + 1
                _log(report, {"config": engine.as_dict(), "bench": name, "seed": case.seed, "share": case.share,
                              "job": case.job, "seconds": round(result.seconds, 2), "cycles": result.cycles,
                              "passed": result.passed})
                if not result.passed:
                    found.failures.append(_failure(case, result, build_dir, report))
                if case.bench != LINT and time.monotonic() >= end:
                    break
    found.minutes = round((time.monotonic() - began) / 60, 2)
    found.processor_minutes = round((_processor_s() - processor_s) / 60, 2)
    found.configurations, found.benches = len(ran), dict(sorted(found.benches.items()))
    found.pairs = sorted({" & ".join(pair) for engine in ran.values() for pair in pairs(engine)})
    return found


def streams_only(number: int, seed: int, *, progress: Callable[[str, int, int], None] | None = None) -> SoakReport:
    """Judge so many malformed streams with the model and the plain reference, and simulate nothing."""
    began = time.monotonic()
    judged, failures = check_streams(number, seed, progress and (
        lambda done: progress("malformed streams", done, number)))
    minutes = round((time.monotonic() - began) / 60, 2)
    return SoakReport(minutes, minutes, streams_golden=judged, seeds=(f"{seed} streams",), failures=failures)


def _usable(config: EngineConfig, benches: Sequence[str]) -> list[Step]:
    """The benches of a configuration that other seeds make different."""
    return [step for step in soaked(config) if not step.models and step.repeats
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
    if step is FRAGMENTS:
        sizes = rng.choice(throughput.FRAGMENTS, 3, replace=False).tolist()
        job |= {"coding": int(rng.choice(config.numbers)), "density": float(rng.random()),
                "way": str(rng.choice(throughput.WAYS)), "latencies": [int(rng.choice(throughput.LATENCIES))],
                "image_bytes": 1 << 22,
                "loads": [(size, min(max(_FRAGMENT_BYTES // size, 8), 48)) for size in sizes]}
    tests = ""
    if step.name == "page_lists" and rng.random() < _LARGE_PAGES:
        job |= {"large_page": PAGE_SIZES[-1], "image_bytes": LARGEST_IMAGE}
        tests = "streams_that_fill_pages"
    share = float(step.share * rng.choice([0.5, 1.0, 2.0]))
    return Case(config, step.bench.rpartition(".")[2], int(rng.integers(1, 1 << 31)), min(1.0, share), job, tests)


def _run(case: Case, build_dir: Path) -> CaseResult:
    try:
        return run_case(case, build_dir)
    except runner.BuildError as error:
        return CaseResult((), str(error), {}, 0.0)


def _failure(case: Case, result: CaseResult, build_dir: Path, report: Path | None) -> str:
    """Make a failing case smaller and write it to a file; returns a sentence about it."""
    smallest, said = shrink(case, result, lambda smaller: _run(smaller, build_dir))
    where = ""
    if report is not None:
        file = report / f"failure-{case.bench}-{case.seed}.json"
        write_case(smallest, said.said, file)
        where = f"; replay: cdma soak --replay {file}"
    return f"{case.bench}, seed {case.seed}: {said.said.splitlines()[-1]}{where}"


def _log(report: Path | None, line: dict[str, Any]) -> None:
    if report is not None:
        with (report / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(to_json(line)) + "\n")


def _processor_s() -> float:
    """Seconds of a processor that this process and those it started have used."""
    return sum(used.ru_utime + used.ru_stime for used in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))
