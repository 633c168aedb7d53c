"""Dumps through the simulated cores or a simulated engine, both directions, every byte compared: rows as JSON has
them, and their sums."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cdma.console.errors import simulation_errors
from cdma.console.progress import Progress
from cdma.golden.codec.blocks import BLOCK_BYTES
from cdma.golden.codec.coding import Coding
from cdma.golden.results import to_json
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.core.simulate import CodedArray, simulate
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.simulate import Handling, simulate_row
from cdma.verif.engine.simulate import simulate as simulate_engine
from cdma.workload.plan.codings import coding_of
from cdma.workload.plan.file import load_plan

__all__ = ["planned", "simulated", "simulated_blocks", "simulated_engine"]

_WAYS = ("offload", "prefetch")

Row = dict[str, Any]


def simulated(arrays: dict[int, dict[str, np.ndarray]], *, build_dir: Path, progress: Progress, beat_bytes: int = 32,
              stalls: float = 0.0, simulator: str = "verilator", seed: int = 1, waves: Path | None = None) -> Row:
    """What becomes of arrays by element size in bytes and by name.

    Raises
    ------
    ValueError
        If a program that the simulator needs is not installed.
    CheckError
        If the Verilog does not compile, or a simulation ends early.
    """
    rows: list[Row] = []
    with simulation_errors():
        for element_bytes, group in arrays.items():
            coding = Coding[f"LINES{8 * element_bytes}"]
            sent = [CodedArray(name, array, coding) for name, array in group.items()]
            rows += [{"element_bits": 8 * element_bytes} | row for row in simulate(
                sent, beat_bytes, stalls=stalls, simulator=simulator, waves=waves, build_dir=build_dir, seed=seed,
                progress=progress)]
    return {"simulator": simulator, "beat_bytes": beat_bytes, "stalls": stalls, "seed": seed, "arrays": rows} | _sums(
        rows)


def simulated_blocks(arrays: Sequence[CodedArray], *, build_dir: Path, progress: Progress, beat_bytes: int = 32,
                     block_bytes: int = BLOCK_BYTES, stalls: float = 0.0, simulator: str = "verilator", seed: int = 1,
                     waves: Path | None = None) -> Row:
    """What becomes of arrays in the block cores; errors as for :func:`simulated`."""
    with simulation_errors():
        rows = simulate(arrays, beat_bytes, block_bytes=block_bytes, stalls=stalls, simulator=simulator, waves=waves,
                        build_dir=build_dir, seed=seed, progress=progress)
    codings = [_coding([row for row in rows if row["coding"] == name])
               for name in dict.fromkeys(row["coding"] for row in rows)]
    return {"simulator": simulator, "beat_bytes": beat_bytes, "block_bytes": block_bytes, "stalls": stalls,
            "seed": seed, "arrays": rows} | _sums(rows) | {"codings": codings}


def _coding(rows: Sequence[Row]) -> Row:
    """The sums over arrays of the same coding: sizes, raw beats per cycle into the compressor and out of the
    decompressor (None if all blocks stayed raw), and the raw beats per cycle that the packed side lets through."""
    beats, cycles = _sum(rows, "raw_beats"), _sum(rows, "decompress_cycles")
    sums = _sums(rows)
    return {"coding": rows[0]["coding"], "arrays": len(rows),
            **{key: sums[key] for key in ("raw_bytes", "packed_bytes", "ratio")},
            "compress_beats_per_cycle": beats / max(1, _sum(rows, "compress_cycles")),
            "decompress_beats_per_cycle": _sum(rows, "expanded_beats") / cycles if cycles else None,
            "limit": min(1.0, beats / _sum(rows, "payload_beats"))}


def simulated_engine(config: EngineConfig, arrays: Sequence[CodedArray], *, build_dir: Path, progress: Progress,
                     latency: int = 0, stalls: float = 0.0, seed: int = 1, waves: Path | None = None) -> Row:
    """What becomes of arrays, each with the coding of its blocks: all offloaded, then prefetched in reverse.

    The cycles of an array are those of it alone; ``row`` has those of all of them, one directly after the other, and
    is None if that was not measured. Toggles are those of the link's data wires by bytes. Parameters and errors as for
    :func:`simulated`.
    """
    how = Behaviour(latency=latency, stalls=stalls, longest=8)
    data, handling = {each.name: each.array for each in arrays}, {
        each.name: Handling(int(each.coding)) for each in arrays}
    with simulation_errors():
        rows = simulate_engine(data, handling, config, how=how, waves=waves, build_dir=build_dir, seed=seed,
                               progress=progress)
        row = None
        if len(rows) > 1 and all(each["passed"] for each in rows):
            row = simulate_row(data, handling, config, how=how, build_dir=build_dir, seed=seed, progress=progress)
    sums = _sums(rows)
    raw_bytes, packed_bytes = sums["raw_bytes"], sums["packed_bytes"]
    rates = {way: raw_bytes / max(1, (row or _cycles(rows))[f"{way}_cycles"]) for way in _WAYS}
    raw, packed = _sum(rows, "raw_toggles"), _sum(rows, "packed_toggles")
    return _engine(config, latency, stalls, seed) | {
        "arrays": rows, "row": row, **sums, **{f"{way}_bytes_per_cycle": rate for way, rate in rates.items()},
        "gain": 2 / sum(1 / rate for rate in rates.values()) / rows[0]["plain_bytes_per_cycle"],
        "toggles": {"raw_per_raw_byte": raw / raw_bytes, "packed_per_raw_byte": packed / raw_bytes,
                    "packed_per_packed_byte": packed / packed_bytes, "packed_by_raw": packed / raw if raw else 0.0}}


def planned(path: str, config: EngineConfig | None, arrays: dict[str, np.ndarray], *, build_dir: Path,
            progress: Progress, latency: int | None = None, stalls: float = 0.0, seed: int = 1,
            waves: Path | None = None) -> Row:
    """Move arrays as a plan says: what it predicted beside what is measured, and how far it is off.

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
    with simulation_errors():
        handling = {name: Handling(int(coding_of(entry.how.coding)), entry.how.fallback, entry.how.leave_raw,
                                   entry.how.narrow) for name, entry in entries.items()}
        rows = simulate_engine(arrays, handling, config, how=how, link_share=plan.link_share, waves=waves,
                               build_dir=build_dir, seed=seed, progress=progress)
    for row in rows:
        entry = entries[row["name"]]
        row |= {"treatment": entry.treatment, "predicted": to_json(entry.predicted)}
        row["error"] = _errors(row["predicted"], row)
    measured, predicted = _cycles(rows), _cycles([row["predicted"] for row in rows])
    return {"plan": path} | _engine(config, how.latency, stalls, seed) | {
        "clock_mhz": plan.clock_mhz, "link_gb_per_s": plan.link_gb_per_s, "arrays": rows,
        "passed": all(row["passed"] for row in rows), **measured, "predicted": predicted,
        "error": _errors(predicted, measured)}


def _engine(config: EngineConfig, latency: int, stalls: float, seed: int) -> Row:
    return {"engine": config.name, "lanes": config.lanes, "beat_bytes": config.beat_bytes,
            "link_beat_bytes": config.link_beat_bytes, "latency": latency, "stalls": stalls, "seed": seed}


def _sum(rows: Sequence[Row], key: str) -> int:
    return sum(row[key] for row in rows)


def _sums(rows: Sequence[Row]) -> Row:
    """The bytes of arrays and of their streams, and whether all passed."""
    raw, packed = _sum(rows, "raw_bytes"), _sum(rows, "packed_bytes")
    return {"raw_bytes": raw, "packed_bytes": packed, "ratio": raw / packed if packed else None,
            "passed": all(row["passed"] for row in rows)}


def _cycles(rows: Sequence[Row]) -> Row:
    """Cycles of offloads and prefetches, from descriptor to completion."""
    return {f"{way}_cycles": _sum(rows, f"{way}_cycles") for way in _WAYS}


def _errors(predicted: Row, measured: Row) -> Row:
    """How far predicted cycles are off, by those that were measured; None where nothing was."""
    return {way: predicted[f"{way}_cycles"] / measured[f"{way}_cycles"] - 1 if measured[f"{way}_cycles"] else None
            for way in _WAYS}
