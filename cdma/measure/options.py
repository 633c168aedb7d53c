"""What each option of the engine costs: area and clock of an engine with one of them on, beside one with none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdma.console.progress import Progress
from cdma.hdl.config.engine import load_engine
from cdma.measure.figures import OptionCost
from cdma.measure.synthesis import timed_engine
from cdma.synth.timing.engines import PartTiming
from cdma.synth.tools.scripts import DEFAULT_RECIPE

__all__ = ["OPTIONS", "OPTIONS_OF", "engine_options"]

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


def engine_options(liberty: str, progress: Progress) -> tuple[OptionCost, ...]:
    """Area and clock of an engine with each option by itself; errors as
    :func:`cdma.synth.timing.engines.engine_timing`."""
    known: dict[str, PartTiming] = {}
    return tuple(
        OptionCost.of(option, timed_engine(load_engine(OPTIONS_OF).replace(**values), liberty, DEFAULT_RECIPE, progress,
                                           known=known))
        for option, values in OPTIONS.items())
