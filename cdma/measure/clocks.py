"""What ``cdma bench`` measures of clocks: units of engines in cells, place and route, and the sweep."""

from __future__ import annotations

from cdma.console.progress import Progress
from cdma.hdl.codec.coding import ELEMENT_BITS
from cdma.hdl.config.block_core import block_preset_names, load_block
from cdma.hdl.config.catalog import Design
from cdma.hdl.config.core import load, preset_names
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.hdl.config.settings import BEAT_BYTES
from cdma.measure.figures import EngineClocks, PlacedEngine, PlacedPreset
from cdma.measure.synthesis import placed, placed_units, swept, timed_engine
from cdma.synth.timing.sweep import Sweep
from cdma.synth.tools.scripts import DEFAULT_RECIPE

__all__ = ["PLACED_ENGINES", "PLACED_SPEEDS", "ROUTED_ENGINES", "TIMED_ENGINES", "block_pnr", "pnr", "pnr_units",
           "sweep", "timing_units"]

TIMED_ENGINES = ("default", "paper")
"""The presets of engines that are timed in cells. Those with short blocks have memories that are too small for macros:
mapping builds them from registers, and does not buffer nets that drive a hundred registers."""

_ZERO_VALUE = tuple(f"zvc{bits}" for bits in ELEMENT_BITS)

PLACED_ENGINES = {"tiny": load_engine("tiny"),
                  "default_zvc": load_engine("default").replace(name="cdma_engine_zvc", codings=_ZERO_VALUE)}
"""The engines whose units are placed and routed: the default one without exponents, because with them it is larger than
the part."""

ROUTED_ENGINES = {"tiny": PLACED_ENGINES["tiny"]}
"""Those of them that are placed and routed as a whole, after all presets of cores: nextpnr does not route the default
one within hours."""

PLACED_SPEEDS = (8, 6)
"""The speed grades; all presets on the first, the tiny engine and the two cores to start with on the second as well."""

_DEVICE, _SEEDS = "LFE5U-85F", 3
_BOTH_SPEEDS = ("compressor", "decompressor", "tiny")


def timing_units(liberty: str, progress: Progress) -> tuple[EngineClocks, ...]:
    """Clock and slowest path of each unit of engines; errors as :func:`cdma.synth.timing.engines.engine_timing`."""
    return tuple(EngineClocks.of(name, timed_engine(load_engine(name), liberty, DEFAULT_RECIPE, progress))
                 for name in TIMED_ENGINES)


def pnr(progress: Progress) -> tuple[PlacedPreset, ...]:
    """Presets placed and routed; errors as :func:`cdma.synth.pnr.place.place_and_route`."""
    jobs: list[tuple[str, Design]] = [*((name, load(name)) for name in preset_names()), *ROUTED_ENGINES.items()]
    rows = []
    for speed in PLACED_SPEEDS:
        for name, config in jobs:
            if speed == PLACED_SPEEDS[0] or name in _BOTH_SPEEDS:
                seeds = _seeds(config) if speed == PLACED_SPEEDS[0] else 1
                rows.append(PlacedPreset.of(name, placed(config, _DEVICE, speed, seeds, progress)))
    return tuple(rows)


def block_pnr(progress: Progress) -> tuple[PlacedPreset, ...]:
    """Presets of the block cores placed and routed; errors as :func:`cdma.synth.pnr.place.place_and_route`."""
    configs = [(name, load_block(name)) for name in block_preset_names()]
    return tuple(PlacedPreset.of(name, placed(config, _DEVICE, PLACED_SPEEDS[0], _seeds(config), progress))
                 for name, config in configs)


def _seeds(config: Design) -> int:
    """How often a design is placed: engines and wide cores, which take long, once."""
    return 1 if isinstance(config, EngineConfig) or config.beat_bytes == max(BEAT_BYTES) else _SEEDS


def pnr_units(progress: Progress) -> tuple[PlacedEngine, ...]:
    """Units of engines placed and routed; errors as :func:`cdma.synth.pnr.place.place_and_route`."""
    return tuple(PlacedEngine.of(name, placed_units(config, _DEVICE, PLACED_SPEEDS[0], 1, progress))
                 for name, config in PLACED_ENGINES.items())


def sweep(liberty: str, progress: Progress) -> Sweep:
    """Cores and engines over beats, lanes and pipelines; errors as :func:`cdma.synth.timing.cores.timing`."""
    return swept(liberty, DEFAULT_RECIPE, progress)
