"""A plan on the simulated engine: what it predicted beside what is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cdma.console.errors import simulation_errors
from cdma.console.progress import Progress
from golden.results import to_json
from hdl.config.engine import EngineConfig
from verif.engine.memory import Behaviour
from verif.engine.simulate import Handling, simulate
from workload.plan.file import Entry, load_plan

__all__ = ["planned"]


def planned(path: str, config: EngineConfig | None, arrays: dict[str, np.ndarray], *, build_dir: Path,
            latency: int | None = None, stalls: float = 0.0, seed: int = 1,
            waves: Path | None = None) -> dict[str, Any]:
    """The outcome that ``cdma simulate --plan --json`` prints.

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
        results = simulate(arrays, {name: Handling(**to_json(entry.how)) for name, entry in entries.items()}, config,
                           how=how, link_share=plan.link_share, waves=waves, build_dir=build_dir, seed=seed,
                           progress=progress)
    rows = [_beside(entries[result.name], result.as_dict()) for result in results]
    totals = {key: sum(row[key] for row in rows) for key in ("offload_cycles", "prefetch_cycles")}
    predicted = {key: sum(row["predicted"][key] for row in rows) for key in totals}
    return {"plan": path, "engine": config.name, "lanes": config.lanes, "beat_bytes": config.beat_bytes,
            "link_beat_bytes": config.link_beat_bytes, "clock_mhz": plan.clock_mhz,
            "link_gb_per_s": plan.link_gb_per_s, "latency": how.latency, "stalls": stalls, "seed": seed,
            "arrays": rows, **totals, "predicted": predicted, "error": _error(predicted, totals),
            "passed": all(row["passed"] for row in rows)}


def _beside(entry: Entry, row: dict[str, Any]) -> dict[str, Any]:
    """What was measured of an array beside what was predicted."""
    predicted = to_json(entry.predicted)
    return row | {"treatment": entry.treatment, "predicted": predicted, "error": _error(predicted, row)}


def _error(predicted: dict[str, Any], measured: dict[str, Any]) -> dict[str, float | None]:
    """How far predictions are off, by what was measured; None where nothing was."""
    return {way: predicted[f"{way}_cycles"] / measured[f"{way}_cycles"] - 1 if measured[f"{way}_cycles"] else None
            for way in ("offload", "prefetch")}
