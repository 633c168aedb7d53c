"""Area and clock of engines and cores: their Verilog generated, then mapped, timed, or placed and routed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cdma.console.progress import Progress
from hdl.config.core import CoreConfig
from hdl.config.engine import EngineConfig
from hdl.generate.verilog import emit
from synth.area.engines import engine_area
from synth.area.fpga import fpga_area
from synth.cells.library import load
from synth.pnr.engines import place_units
from synth.pnr.place import place_and_route
from synth.timing.engines import engine_timing
from synth.timing.macros import DEFAULT, MacroTiming
from synth.timing.sweep import front, sweep_cores, sweep_engines
from synth.tools import opensta

__all__ = ["measured_engine", "measured_on_fpga", "placed", "placed_units", "swept", "timed_engine"]


def measured_engine(config: EngineConfig, liberty: str | None, recipe: str, progress: Progress) -> dict[str, Any]:
    """The area of an engine as ``--json`` prints it."""
    return engine_area(config, _verilog(config, progress), liberty=liberty, recipe=recipe,
                       progress=progress).as_dict()


def measured_on_fpga(config: EngineConfig, target: str, progress: Progress) -> dict[str, Any]:
    """What an engine takes on an FPGA as ``--json`` prints it."""
    return {"lanes": config.lanes} | fpga_area(_verilog(config, progress), config.name, target, progress).as_dict()


def _verilog(config: EngineConfig, progress: Progress) -> str:
    progress(f"generating {config.name}", 0, 0)
    # Memories count as macros in either case; only inferred ones can be separated from the logic.
    return emit(config.replace(memories="inferred")).text


def timed_engine(config: EngineConfig, liberty: str, recipe: str, progress: Progress,
                 output: float | None = None, setup: float | None = None) -> dict[str, Any]:
    """The timing of an engine in cells as ``--json`` prints it."""
    changes = {name: value for name, value in (("output_ps", output), ("setup_ps", setup)) if value is not None}
    progress(f"generating {config.name}", 0, 0)
    return engine_timing(config, emit(config).text, liberty=liberty, recipe=recipe,
                         macros=MacroTiming(**(asdict(DEFAULT) | changes)), progress=progress).as_dict()


def placed(config: CoreConfig | EngineConfig, device: str, speed: int, seeds: int,
           progress: Progress) -> dict[str, Any]:
    """A design placed and routed, as ``--json`` prints it."""
    progress(f"generating {config.name}", 0, 0)
    made = emit(config)
    return place_and_route(made.text, config.name, made.ports, device=device, speed=speed, seeds=seeds,
                           progress=progress).as_dict()


def placed_units(config: EngineConfig, device: str, speed: int, seeds: int, progress: Progress) -> dict[str, Any]:
    """The units of an engine placed and routed, as ``--json`` prints them."""
    progress(f"generating {config.name}", 0, 0)
    return place_units(config, emit(config).text, device=device, speed=speed, seeds=seeds, progress=progress).as_dict()


def swept(liberty: str, recipe: str, progress: Progress) -> dict[str, Any]:
    """The sweep as ``--json`` prints it."""
    opensta.require()
    points = [*sweep_cores(liberty=liberty, recipe=recipe, progress=progress),
              *sweep_engines(liberty=liberty, recipe=recipe, progress=progress)]
    best = [point for design in dict.fromkeys(point.design for point in points)
            for point in front([other for other in points if other.design == design])]
    return {"library": load(liberty).name, "recipe": recipe, "tool": opensta.version(),
            "points": [point.as_dict() | {"front": point in best} for point in points]}
