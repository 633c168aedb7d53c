"""A plan on the simulated engine: what it predicted beside what is measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cdma.console.errors import simulation_errors
from cdma.console.progress import Progress
from cdma.hdl.config.engine import EngineConfig
from cdma.measure.outcomes import PlannedArray, PlannedOutcome
from cdma.verif.engine.jobs import Handling
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.simulate import simulate
from cdma.workload.plan.codings import coding_of
from cdma.workload.plan.file import load_plan

__all__ = ["planned"]


def planned(path: str, config: EngineConfig | None, arrays: dict[str, np.ndarray], *, build_dir: Path,
            latency: int | None = None, stalls: float = 0.0, seed: int = 1,
            waves: Path | None = None) -> PlannedOutcome:
    """Move arrays as a plan says.

    Parameters
    ----------
    path
        The plan.
    config
        The engine; the plan's when None.
    latency
        Cycles that memories take to answer; the plan's when None.

    Raises
    ------
    ValueError
        If the plan cannot be read, or is not for these arrays or this engine; or a program is not installed.
    CheckError
        If the Verilog does not compile, or the simulation ends early.
    """
    plan = load_plan(path)
    config = config or plan.engine
    plan.check(config, {name: array.nbytes for name, array in arrays.items()})
    how = Behaviour(latency=plan.latency if latency is None else latency, stalls=stalls, longest=8)
    entries = {name: plan.tensors[name] for name in arrays}
    with Progress() as progress, simulation_errors():
        handling = {name: Handling(int(coding_of(entry.how.coding)), entry.how.fallback, entry.how.leave_raw,
                                   entry.how.narrow) for name, entry in entries.items()}
        results = simulate(arrays, handling, config, how=how, link_share=plan.link_share, waves=waves,
                           build_dir=build_dir, seed=seed, progress=progress)
    rows = tuple(PlannedArray(result, entries[result.name].treatment, entries[result.name].predicted)
                 for result in results)
    return PlannedOutcome(path, config.name, config.lanes, config.beat_bytes, config.link_beat_bytes, plan.clock_mhz,
                          plan.link_gb_per_s, how.latency, stalls, seed, rows)
