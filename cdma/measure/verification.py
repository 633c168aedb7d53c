"""Verifies a configuration: the steps of its regression, and its area, on the cores of this machine or on a cluster."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cdma.console.about import project_version
from cdma.console.progress import Progress
from cdma.hdl.config.catalog import Design, kinds
from cdma.hdl.config.engine import EngineConfig
from cdma.measure.verified import Verification
from cdma.synth.area.area import area, engine_area
from cdma.verif.common.digest import rtl_digest
from cdma.verif.common.tools import MissingToolError, require
from cdma.verif.formal.proof import ProofResult
from cdma.verif.formal.run import prove
from cdma.verif.formal.solver import require as require_solver
from cdma.verif.formal.table import proofs_of
from cdma.verif.regression.outcomes import Figure, Outcome, State, TestOutcome
from cdma.verif.regression.plan import Step, steps
from cdma.verif.regression.run import Task, run_step, with_waves
from cdma.workload.characterise.spread import on_cluster, on_cores

__all__ = ["AREA", "PROOFS", "all_steps", "chosen_steps", "verify"]

AREA, PROOFS = "area", "proofs"
"""Steps that synthesise, and that prove."""

_PROOF_SECONDS = 300
"""Longest time of a proof."""

_WAVES = 3
"""Most failing tests that are run once more for their waves."""


def all_steps(config: Design) -> list[Step]:
    """The steps of a configuration: those of its regression, the proofs, and the area."""
    proofs = Step(PROOFS, "shallow proofs with the parameters of the configuration, where they depend on any")
    return [*steps(config), *([proofs] if proofs_of(config) else []),
            Step(AREA, "cells, flip-flops and kGE, mapped by Yosys")]


def chosen_steps(config: Design, names: Sequence[str] | None) -> list[Step]:
    """The steps of these names; all when none are given.

    Raises
    ------
    ValueError
        If the configuration has no such step.
    """
    there = {step.name: step for step in all_steps(config)}
    for name in names or ():
        if name not in there:
            raise ValueError(f"{config.name} has no step {name!r}: its steps are {', '.join(there)}")
    return [step for step in there.values() if not names or step.name in names]


def verify(config: Design, *, names: Sequence[str] | None = None, simulator: str = "verilator", seed: int = 1,
           budget_s: float | None = None, shard: tuple[int, int] = (1, 1), jobs: int = 1,
           scheduler: str | None = None, tests: str | None = None, build_dir: Path,
           replay: Callable[[str, int], str], waves: Path | None = None, date: str,
           progress: Progress) -> Verification:
    """Verify a configuration.

    Parameters
    ----------
    names
        Steps to run; all when not given.
    seed
        Of the first run of each step.
    budget_s
        Seconds in which steps are begun: while some are left, benches run again with the next seeds. Every step runs
        once when not given.
    simulator
        That benches run on; lint and throughput need Verilator.
    shard
        Which part of the steps, and of how many parts.
    jobs
        Processes.
    scheduler
        Address of a Dask scheduler, whose workers run the steps instead.
    tests
        Regular expression of the tests of benches to run.
    build_dir
        Folder for compiled designs.
    replay
        Gives the command that runs a step again, for its name and seed.
    waves
        Folder for waves of tests that failed; none are recorded when not given.
    date
        That the result says.

    Raises
    ------
    ValueError
        If there is no such step, or the cluster cannot be used.
    MissingToolError
        If a program that simulates, or the solver of the proofs, is not installed.
    """
    require(simulator)
    chosen = chosen_steps(config, names)
    if scheduler is None and PROOFS in (step.name for step in chosen[shard[0] - 1::shard[1]]):
        require_solver(("smt", "sat"))    # before minutes of other steps
    deadline = None if budget_s is None else time.time() + budget_s
    outcomes: list[Outcome] = []
    tasks_run: list[Task] = []
    for number, steps_of_round in enumerate(_rounds(chosen, budget_s is not None)):
        tasks = [Task(config, step.name, seed + number, build_dir.resolve(), replay(step.name, seed + number), deadline,
                      tests, simulator)
                 for at, step in enumerate(steps_of_round) if (at + number) % shard[1] == shard[0] - 1]
        begun = len(outcomes)
        for outcome in _run(tasks, jobs, scheduler):
            outcomes.append(outcome)
            progress(f"{config.name}: {outcome.step}, seed {outcome.seed}", len(outcomes) - begun, len(tasks))
        tasks_run += tasks
        late = deadline is not None and time.time() >= deadline
        if late or deadline is None or not any(step.repeats for step in chosen):
            break
    # A repetition that the budget does not hold is no gap; a step that was never run is one.
    kept = [(task, outcome) for task, outcome in zip(tasks_run, outcomes, strict=True)
            if outcome.state is not State.NOT_RUN or outcome.seed == seed]
    if waves is not None:
        kept = _with_waves(kept, waves, progress)
    kind = next(name for name, (of, _) in kinds().items() if isinstance(config, of))
    return Verification(config.name, kind, config.as_dict(), project_version(), _digest(config), date, simulator,
                        len(all_steps(config)), (f"{shard[0]}/{shard[1]}",), tuple(outcome for _, outcome in kept))


def _rounds(chosen: Sequence[Step], again: bool) -> Iterator[Sequence[Step]]:
    yield chosen
    while again:
        yield [step for step in chosen if step.repeats]


def _digest(config: Design) -> str:
    return hashlib.sha256(f"{rtl_digest()} {sorted(config.as_dict().items())}".encode()).hexdigest()[:16]


def _run(tasks: Sequence[Task], jobs: int, scheduler: str | None) -> Iterator[Outcome]:
    if scheduler is not None:
        return on_cluster(_work, tasks, scheduler, "g++, make and Perl")
    return map(_work, tasks) if jobs == 1 or len(tasks) < 2 else on_cores(_work, tasks, jobs)


def _work(task: Task) -> Outcome:
    if task.step not in (AREA, PROOFS):
        return run_step(task)
    began = time.monotonic()
    about = next(step.about for step in all_steps(task.config) if step.name == task.step)
    outcome = Outcome(task.step, about, task.seed, State.PASSED, 0.0, replay=task.replay)
    if task.deadline is not None and time.time() > task.deadline:
        return replace(outcome, state=State.NOT_RUN)
    done = (replace(outcome, figures=tuple(_area(task.config))) if task.step == AREA else
            _proved(outcome, task.config, task.build_dir.parent / "formal"))
    return replace(done, seconds=time.monotonic() - began)


def _proved(outcome: Outcome, config: Design, folder: Path) -> Outcome:
    """Each proof is a test of the step; one that takes too long leaves the step as one that was not run."""
    try:
        results = prove(proofs=proofs_of(config), folder=folder / config.name, limit=_PROOF_SECONDS)
    except MissingToolError as error:
        return replace(outcome, state=State.FAILED, said=str(error))
    tests = tuple(TestOutcome(result.name, _state(result), result.seconds, 0, result.message,
                              f"{result.claim} Proved for {result.how}.") for result in results)
    proved = sum(result.passed for result in results)
    made = [result.name for result in results if result.configured]
    states = {test.state for test in tests}
    return replace(
        outcome, state=next(state for state in (State.FAILED, State.NOT_RUN, State.PASSED) if state in states),
        said="\n".join(result.message for result in results if not result.passed), tests=tests,
        waves=next((result.trace for result in results if not result.passed and result.trace), ""),
        figures=(Figure("proved", f"{proved} of {len(results)}"),
                 Figure("with parameters of the configuration", f"{len(made)}: {', '.join(made)}")))


def _state(result: ProofResult) -> State:
    if result.outcome == "timeout":
        return State.NOT_RUN
    return State.PASSED if result.passed else State.FAILED


def _area(config: Design) -> list[Figure]:
    progress = Progress()
    if isinstance(config, EngineConfig):
        total = engine_area(config, progress=progress)["total"]
        more = [Figure("kGE without memories", f"{total['kge']:,.1f}"),
                Figure("bits of memories", f"{total['memory_bits']:,}")]
    else:
        total = area(config, modules=False, progress=progress)["total"]
        more = [Figure("kGE", f"{total['kge']:,.1f}")]
    return [Figure("cells", f"{total['cells']:,}"), Figure("flip-flops", f"{total['flip_flops']:,}"), *more]


def _copy_trace(trace: Path, file: Path) -> None:
    """Copy what the solver found; it is not here if another machine of the cluster found it."""
    if trace.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(trace, file)


def _with_waves(kept: Sequence[tuple[Task, Outcome]], waves: Path, progress: Progress) -> list[tuple[Task, Outcome]]:
    """The outcomes with files of waves, for the first tests that failed."""
    found = []
    left = _WAVES
    for task, outcome in kept:
        failed = next((test.name for test in outcome.tests if test.state is State.FAILED), None)
        if failed is not None and left:
            left -= 1
            progress(f"{outcome.step}: waves of {failed}", 0, 0)
            name = f"{outcome.step}-{outcome.seed}-{failed}"
            if outcome.step == PROOFS:
                _copy_trace(Path(outcome.waves), waves / f"{name}.vcd")
            else:
                with_waves(task, failed, waves / name)
            file = next(waves.glob(f"{name}.*"), None)
            outcome = replace(outcome, waves="" if file is None else f"{waves.name}/{file.name}")
        found.append((task, outcome))
    return found
