"""Area and clock of engines and cores: their Verilog generated, then mapped, timed, or placed and routed."""

from __future__ import annotations

from dataclasses import replace

from cdma.console.progress import Progress
from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.hdl.config.catalog import Design
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.generate.verilog import emit
from cdma.synth.area.engines import EngineArea, engine_area
from cdma.synth.area.fpga import FpgaArea, fpga_area
from cdma.synth.pnr.engines import PlacedUnits, place_units
from cdma.synth.pnr.place import PnrReport, place_and_route
from cdma.synth.timing.cores import TimingReport
from cdma.synth.timing.engines import EngineTiming, PartTiming, block_timing, engine_timing
from cdma.synth.timing.macros import DEFAULT, MacroTiming

__all__ = ["measured_engine", "measured_on_fpga", "placed", "placed_units", "timed_block_core", "timed_engine"]


def measured_engine(config: EngineConfig, liberty: str | None, recipe: str, progress: Progress) -> EngineArea:
    """The area of an engine."""
    return engine_area(config, _verilog(config, progress), liberty=liberty, recipe=recipe, progress=progress)


def measured_on_fpga(config: EngineConfig, target: str, progress: Progress) -> FpgaArea:
    """The area of an engine on an FPGA."""
    return fpga_area(_verilog(config, progress), config.name, target, progress)


def _verilog(config: EngineConfig, progress: Progress) -> str:
    progress(f"generating {config.name}", 0, 0)
    # Memories count as macros in either case; only inferred ones can be separated from the logic.
    return emit(config.replace(memories="inferred")).text


def timed_block_core(config: BlockCoreConfig, liberty: str, recipe: str, progress: Progress,
                     output: float | None = None, setup: float | None = None) -> TimingReport:
    """The timing of a block core in cells; ``output`` and ``setup`` are the times of memory macros, in ps."""
    return block_timing(config, liberty=liberty, recipe=recipe, macros=_macros(output, setup), progress=progress)


def _macros(output: float | None, setup: float | None) -> MacroTiming:
    changes = {name: value for name, value in (("output_ps", output), ("setup_ps", setup)) if value is not None}
    return replace(DEFAULT, **changes)


def timed_engine(config: EngineConfig, liberty: str, recipe: str, progress: Progress,
                 output: float | None = None, setup: float | None = None,
                 known: dict[str, PartTiming] | None = None) -> EngineTiming:
    """The timing of an engine in cells; ``output`` and ``setup`` are the times of memory macros, in ps, ``known`` is as
    for :func:`cdma.synth.timing.engines.engine_timing`."""
    progress(f"generating {config.name}", 0, 0)
    return engine_timing(config, emit(config).text, liberty=liberty, recipe=recipe, macros=_macros(output, setup),
                         known=known, progress=progress)


def placed(config: Design, device: str, speed: int, seeds: int, progress: Progress) -> PnrReport:
    """A design placed and routed."""
    progress(f"generating {config.name}", 0, 0)
    made = emit(config)
    return place_and_route(made.text, config.name, made.ports, device=device, speed=speed, seeds=seeds,
                           progress=progress)


def placed_units(config: EngineConfig, device: str, speed: int, seeds: int, progress: Progress) -> PlacedUnits:
    """The units of an engine placed and routed one by one."""
    progress(f"generating {config.name}", 0, 0)
    return place_units(config, emit(config).text, device=device, speed=speed, seeds=seeds, progress=progress)
