"""Runs one step of the regression of a configuration."""

from __future__ import annotations

import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from cdma.golden.codec.coding import Coding
from cdma.hdl.config.catalog import Design
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.generate.verilog import emit
from cdma.verif.common import runner, tools
from cdma.verif.common.cover import restored
from cdma.verif.common.lint import findings
from cdma.verif.core.streaming import build_core
from cdma.verif.engine.build import build_bare, build_engine, engine_text
from cdma.verif.engine.throughput import LOADS, QUICK, measure
from cdma.verif.regression.outcomes import Figure, Outcome, State, tests_of
from cdma.verif.regression.plan import LINT, THROUGHPUT, Step, image_bytes, steps

__all__ = ["Task", "run_step", "with_waves"]

_RAW_BYTES = 1 << 18
"""Bytes of the tensors whose throughput is measured: enough that starts and ends are a few per cent."""

_SHARES = {"verilator": 1.0, "icarus": 0.1}
"""Part of a step's stimuli that a simulator gets: Icarus is thirty times slower."""

_SHOWN = 20
"""Lines of lint that are kept."""


@dataclass(frozen=True)
class Task:
    """A step that is to be run; it can be sent to another process or machine.

    Parameters
    ----------
    config
        What is verified.
    step
        Name of the step.
    seed
        Of its random choices.
    build_dir
        Folder for compiled designs.
    replay
        The command that runs this step again, for the report.
    deadline
        Time (as of :func:`time.time`) after which it is not begun; None for no limit.
    tests
        Regular expression of the tests to run; None for all.
    simulator
        One of :data:`cdma.verif.common.tools.SIMULATORS`.
    """

    config: Design
    step: str
    seed: int
    build_dir: Path
    replay: str
    deadline: float | None = None
    tests: str | None = None
    simulator: str = "verilator"


def run_step(task: Task) -> Outcome:
    """Run a step; what it finds wrong is in the outcome.

    Raises
    ------
    MissingToolError
        If a program that it needs is not installed.
    """
    step = _step(task)
    outcome = Outcome(step.name, step.about, task.seed, State.NOT_RUN, 0.0, replay=task.replay)
    if task.deadline is not None and time.time() > task.deadline:
        return outcome
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cdma-") as place:
        try:
            done = _run(task, step, outcome, Path(place))
        except tools.MissingToolError:
            raise
        except (runner.BuildError, runner.BenchError, RuntimeError) as error:
            tests = tuple(tests_of(Path(place) / "results.xml"))
            done = replace(outcome, state=State.FAILED, said=str(error), tests=tests)
    return replace(done, seconds=time.monotonic() - began)


def with_waves(task: Task, failed: str, waves: Path) -> None:
    """Run the test that failed once more, and keep its waves, which end where it fails.

    Parameters
    ----------
    failed
        Name of the test.
    waves
        File to write, without its suffix.
    """
    step = _step(task)
    with tempfile.TemporaryDirectory(prefix="cdma-") as place:
        with suppress(runner.BuildError, runner.BenchError, RuntimeError):  # it failed before, too
            _bench(replace(task, tests=f"{failed}$"), step, Path(place), waves=True)
        found = next(Path(place).glob("dump.*"), None)
        if found is not None:
            waves.parent.mkdir(parents=True, exist_ok=True)
            waves.with_name(waves.name + found.suffix).write_bytes(found.read_bytes())


def _step(task: Task) -> Step:
    return next(step for step in steps(task.config) if step.name == task.step)


def _run(task: Task, step: Step, outcome: Outcome, place: Path) -> Outcome:
    if step.name == LINT:
        text = (engine_text(task.config, task.build_dir) if isinstance(task.config, EngineConfig) else
                emit(task.config).text)
        said = findings(task.config.name, text, place)
        return replace(outcome, state=State.FAILED if said else State.PASSED, said="\n".join(said[:_SHOWN]))
    if step.name == THROUGHPUT:
        assert isinstance(task.config, EngineConfig)
        return replace(outcome, state=State.PASSED, figures=_throughput(task.config, task))
    _bench(task, step, place)
    bins = next(iter(restored(place)), {})
    return replace(outcome, state=State.PASSED, tests=tuple(tests_of(place / "results.xml")), bins=bins)


def _bench(task: Task, step: Step, place: Path, waves: bool = False) -> None:
    config = task.config
    job = {"config": config.as_dict(), "share": step.share * _SHARES[task.simulator], **step.job}
    if task.simulator != "verilator" and "streams" in job:
        job["streams"] = round(job["streams"] * _SHARES[task.simulator])
    if not isinstance(config, EngineConfig):
        built = build_core(config, simulator=task.simulator, build_dir=task.build_dir, waves=waves)
    elif step.models:
        built = build_bare(config, simulator=task.simulator, build_dir=task.build_dir, waves=waves)
        job["models"] = True
    else:
        job.setdefault("image_bytes", image_bytes(config))
        built = build_engine(config, image_bytes=job["image_bytes"], simulator=task.simulator, build_dir=task.build_dir,
                             waves=waves)
    runner.run(built, step.bench, job=job, folder=place, seed=task.seed, tests=task.tests, samples=place)


def _throughput(config: EngineConfig, task: Task) -> tuple[Figure, ...]:
    loads = [load for load in LOADS if load[0] in config.numbers] or [(Coding(next(iter(config.numbers))), 0.4)]
    rows = [row for coding, density in loads
            for row in measure(config, [density], QUICK, raw_bytes=_RAW_BYTES, coding=coding, build_dir=task.build_dir,
                               seed=task.seed)]
    return tuple(Figure("{direction}, {coding} at density {density:g}".format(**row),
                        "{bytes_per_cycle:.1f} raw bytes per cycle, {share:.1%} of the limit".format(**row))
                 for row in rows)
