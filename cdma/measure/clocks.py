"""What ``cdma bench`` measures of clocks: units of engines in cells, place and route, and the sweep."""

from __future__ import annotations

from cdma.console.progress import Progress
from cdma.measure.figures import EngineClocks, PlacedEngine, PlacedPreset
from cdma.measure.synthesis import placed, placed_units, swept, timed_engine
from hdl.config.core import load, preset_names
from hdl.config.engine import load_engine
from hdl.config.settings import BEAT_BYTES
from synth.timing.sweep import Sweep
from synth.tools.scripts import DEFAULT_RECIPE

__all__ = ["PLACED_ENGINES", "PLACED_SPEEDS", "TIMED_ENGINES", "pnr", "pnr_units", "sweep", "timing_units"]

TIMED_ENGINES = ("default", "tiny")
"""The presets of engines that are timed in cells."""

PLACED_ENGINES = ("tiny", "default")
"""The presets of engines that are placed and routed, after all presets of cores."""

PLACED_SPEEDS = (8, 6)
"""The speed grades; all presets on the first, the tiny engine and the two cores to start with on the second as well."""

_DEVICE, _SEEDS = "LFE5U-85F", 3
_BOTH_SPEEDS = ("compressor", "decompressor", "tiny")


def timing_units(liberty: str, progress: Progress) -> tuple[EngineClocks, ...]:
    """Clock and slowest path of each unit of engines; errors as :func:`synth.timing.engines.engine_timing`."""
    return tuple(EngineClocks.of(name, timed_engine(load_engine(name), liberty, DEFAULT_RECIPE, progress))
                 for name in TIMED_ENGINES)


def pnr(progress: Progress) -> tuple[PlacedPreset, ...]:
    """Presets placed and routed; errors as :func:`synth.pnr.place.place_and_route`."""
    jobs = [(name, load(name)) for name in preset_names()] + [(name, load_engine(name)) for name in PLACED_ENGINES]
    rows = []
    for speed in PLACED_SPEEDS:
        for name, config in jobs:
            if speed == PLACED_SPEEDS[0] or name in _BOTH_SPEEDS:
                # Designs that take long are placed once, not three times.
                often = speed == PLACED_SPEEDS[0] and config.beat_bytes < max(BEAT_BYTES)
                rows.append(PlacedPreset.of(name, placed(config, _DEVICE, speed, _SEEDS if often else 1, progress)))
    return tuple(rows)


def pnr_units(progress: Progress) -> tuple[PlacedEngine, ...]:
    """Units of engines placed and routed; errors as :func:`synth.pnr.place.place_and_route`."""
    return tuple(PlacedEngine.of(name, placed_units(load_engine(name), _DEVICE, PLACED_SPEEDS[0], 1, progress))
                 for name in PLACED_ENGINES)


def sweep(liberty: str, progress: Progress) -> Sweep:
    """Cores and engines over beats, lanes and pipelines; errors as :func:`synth.timing.cores.timing`."""
    return swept(liberty, DEFAULT_RECIPE, progress)
