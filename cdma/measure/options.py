"""What each option of the engine costs: area and clock of an engine with one of them on, beside one with none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdma.console.progress import Progress
from cdma.hdl.config.engine import load_engine
from cdma.synth.timing.clocks import WHOLE, engine_timing, unit_clocks

__all__ = ["OPTIONS", "OPTIONS_OF", "PEER_CORES", "engine_options"]

PEER_CORES = ("compressor", "decompressor", "paper_compressor", "paper_decompressor")
"""The presets of cores that docs/peers.md compares with designs of others."""

OPTIONS_OF = "paper"
"""The preset that the options are added to: the one with the highest goals for area and clock."""

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "page_lists": {"page_lists": True},
    "address_windows": {"address_windows": True},
    "write_back": {"write_back": True},
    "safe_writes": {"safe_writes": True},
    "link_clock=separate": {"link_clock": "separate"},
    "attribute_registers": {"attribute_registers": True, "user_bits": 4},
    "buffer_parity": {"buffer_parity": True},
    "burst_beats=16": {"burst_beats": 16},
    "link_read_ids=4": {"link_read_ids": 4},
    "pipeline=fast": {"pipeline": "fast"},
}
"""The options by the names they have in the table, and what each sets."""


def engine_options(liberty: str, progress: Progress) -> list[dict[str, Any]]:
    """Area and clock of an engine with each option by itself; errors as
    :func:`cdma.synth.timing.clocks.engine_timing`.

    The area is the logic of all units and lanes and the bits in memory macros. The clock is that of the engine mapped
    flat, or of its slowest unit if that is slower, with the path that limits it.
    """
    known: dict[str, dict[str, Any]] = {}
    return [_cost(option, engine_timing(load_engine(OPTIONS_OF).replace(**values), liberty=liberty, known=known,
                                        progress=progress)) for option, values in OPTIONS.items()]


def _cost(option: str, report: Mapping[str, Any]) -> dict[str, Any]:
    units = [part for part in report["parts"] if part["unit"] != WHOLE]
    slowest = max(unit_clocks(report), key=lambda unit: unit["ps"])
    return {"option": option, **{key: report[key] for key in ("name", "lanes", "library", "recipe", "tool", "yosys")},
            "kge": round(sum(part["kge"] * part["instances"] for part in units), 2),
            "memory_bits": sum(part["memory_bits"] * part["instances"] for part in units),
            **{key: slowest[key] for key in ("mhz", "ps", "start", "end")}}
