"""Dumps through the simulated cores or a simulated engine, both directions, every byte compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cdma.console.errors import simulation_errors
from cdma.console.progress import Progress
from hdl.config.engine import EngineConfig
from verif.core.simulate import simulate
from verif.engine.memory import Behaviour
from verif.engine.simulate import Handling
from verif.engine.simulate import simulate as simulate_engine

__all__ = ["simulated", "simulated_engine"]


def simulated(arrays: dict[int, dict[str, np.ndarray]], *, build_dir: Path, progress: Progress, beat_bytes: int = 32,
              stalls: float = 0.0, simulator: str = "verilator", seed: int = 1,
              waves: Path | None = None) -> dict[str, Any]:
    """The outcome that ``--json`` prints, of arrays by element size in bytes and by name.

    Raises
    ------
    ValueError
        If a program that the simulator needs is not installed.
    CheckError
        If the Verilog does not compile, or a simulation ends early.
    """
    rows: list[dict[str, Any]] = []
    with simulation_errors():
        for element_bytes, group in arrays.items():
            results = simulate(group, element_bytes, beat_bytes, stalls=stalls, simulator=simulator, waves=waves,
                               build_dir=build_dir, seed=seed, progress=progress)
            rows += [{"element_bits": 8 * element_bytes} | result.as_dict() for result in results]
    raw, packed = sum(row["raw_bytes"] for row in rows), sum(row["packed_bytes"] for row in rows)
    return {"simulator": simulator, "beat_bytes": beat_bytes, "stalls": stalls, "seed": seed, "arrays": rows,
            "raw_bytes": raw, "packed_bytes": packed, "ratio": raw / packed if packed else None,
            "passed": all(row["passed"] for row in rows)}


def simulated_engine(config: EngineConfig, arrays: dict[int, dict[str, np.ndarray]], *, build_dir: Path,
                     progress: Progress, latency: int = 0, stalls: float = 0.0, seed: int = 1,
                     waves: Path | None = None) -> dict[str, Any]:
    """The outcome that ``--engine --json`` prints; parameters and errors as for :func:`simulated`."""
    how = Behaviour(latency=latency, stalls=stalls, longest=8)
    handling = {name: Handling(element_bytes) for element_bytes, group in arrays.items() for name in group}
    with simulation_errors():
        results = simulate_engine({name: array for group in arrays.values() for name, array in group.items()}, handling,
                                  config, how=how, waves=waves, build_dir=build_dir, seed=seed, progress=progress)
    rows = [{"element_bits": 8 * handling[result.name].element_bytes} | result.as_dict() for result in results]
    raw, packed = sum(row["raw_bytes"] for row in rows), sum(row["packed_bytes"] for row in rows)
    moved = {direction: raw / max(1, sum(row[f"{direction}_cycles"] for row in rows))
             for direction in ("offload", "prefetch")}
    plain = rows[0]["plain_bytes_per_cycle"]
    return {"engine": config.name, "lanes": config.lanes, "beat_bytes": config.beat_bytes,
            "link_beat_bytes": config.link_beat_bytes, "latency": latency, "stalls": stalls, "seed": seed,
            "arrays": rows, "raw_bytes": raw, "packed_bytes": packed, "ratio": raw / packed,
            **{f"{direction}_bytes_per_cycle": value for direction, value in moved.items()},
            "gain": 2 / sum(1 / value for value in moved.values()) / plain, "toggles": _toggles(rows, raw, packed),
            "passed": all(row["passed"] for row in rows)}


def _toggles(rows: list[dict[str, Any]], raw_bytes: int, packed_bytes: int) -> dict[str, float]:
    """Toggles of the link's data wires by bytes, moved plainly and packed, and how many times as many packed has."""
    raw, packed = (sum(row[f"{kind}_toggles"] for row in rows) for kind in ("raw", "packed"))
    return {"raw_per_raw_byte": raw / raw_bytes, "packed_per_raw_byte": packed / raw_bytes,
            "packed_per_packed_byte": packed / packed_bytes, "packed_by_raw": packed / raw if raw else 0.0}
