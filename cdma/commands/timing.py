"""``cdma timing``: the clock of cores and engines in cells or on an FPGA, and what limits it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.console.options import (
    add_command,
    configurations,
    core_options,
    engine,
    engine_option,
    json_option,
    whole_number,
)
from cdma.console.output import print_json
from cdma.console.pictures import picture_file
from cdma.console.progress import Progress
from cdma.report.plots.sweep import sweep_plot
from cdma.report.timing_text import cells_text, pnr_text, pnr_units_text, sweep_text

if TYPE_CHECKING:
    from hdl.config.core import CoreConfig
    from hdl.config.engine import EngineConfig

_DESCRIPTION = """\
Tell how fast cores and engines are, and by which path they are limited. In the cells of a library a netlist is mapped
by Yosys and timed by OpenSTA where it is installed, by the library's own tables where not: a core flattened, an engine
unit by unit and then all units together, one lane standing for all. Units are mapped with those inside them cut out.
Memories are macros that end and start paths: their set-up time and their time from the clock to what was read are those
of 32 kbit at 45 nm (50 and 310 ps) unless you give yours.

With --target ecp5 the design is really placed and routed on a Lattice ECP5, between registers that stand for its pins;
that takes minutes for a core, and up to an hour for an engine of several lanes; with --units each unit of the engine is
placed by itself, between such registers as well. It needs the extra 'boards' of this package. With --sweep both cores
are measured over beats and pipelines, and the default engine over lanes and pipelines: area, clock and throughput, and
which of them no other beats."""

_EXAMPLES = """\
  cdma timing --liberty nangate45.lib                        both cores in your own cell library (.lib or .lib.gz)
  cdma timing --engine tiny --liberty nangate45.lib          unit by unit, and all together
  cdma timing paper_compressor --target ecp5 --seeds 3       place and route on an ECP5, best and median of three
  cdma timing --engine tiny --target ecp5 --speed 6
  cdma timing --engine default --target ecp5 --units         unit by unit, even where the whole does not fit
  cdma timing --sweep --liberty nangate45.lib --plot sweep.svg"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "timing", "print the clock of cores and engines in cells or on an FPGA",
                         _DESCRIPTION, _EXAMPLES, run)
    core_options(parser)
    engine_option(parser, "an engine instead of cores: preset (default, paper, tiny, wide) or TOML file")
    parser.add_argument("--target", choices=("cells", "ecp5"), default="cells",
                        help="cells of a library, or place and route on a Lattice ECP5 (default: cells)")
    parser.add_argument("--liberty", metavar="FILE", help="cell library")
    parser.add_argument("--recipe", choices=("fast", "small"), default="fast",
                        help="what logic is mapped for in cells: short paths, or few gates (default: fast)")
    parser.add_argument("--tool", choices=("opensta", "tables"),
                        help="what times cells (default: opensta where it is installed)")
    parser.add_argument("--memory-output", type=_ps, metavar="PS",
                        help="memory macros: from the clock to what was read (default: 310)")
    parser.add_argument("--memory-setup", type=_ps, metavar="PS", help="memory macros: set-up time (default: 50)")
    parser.add_argument("--device", choices=("LFE5U-25F", "LFE5U-45F", "LFE5U-85F"), default="LFE5U-85F",
                        help="which ECP5 (default: LFE5U-85F)")
    parser.add_argument("--speed", type=int, choices=(6, 7, 8), default=8, help="its speed grade (default: 8)")
    parser.add_argument("--seeds", type=_positive, default=1, metavar="N",
                        help="place and route so often, and tell the best and the median (default: 1)")
    parser.add_argument("--units", action="store_true",
                        help="with --engine and --target ecp5: each unit by itself instead of the whole engine")
    parser.add_argument("--sweep", action="store_true", help="beats, lanes and pipelines instead of one configuration")
    parser.add_argument("--plot", type=picture_file, metavar="FILE.svg", help="with --sweep: plot area and throughput")
    json_option(parser)


def _positive(text: str) -> int:
    number = whole_number(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {text}")
    return number


def _ps(text: str) -> float:
    try:
        ps = float(text)
    except ValueError:
        ps = -1.0
    if not 0 <= ps < 1e6:
        raise argparse.ArgumentTypeError(f"must be a time in ps from 0 to a million, not {text!r}")
    return ps


def run(call: argparse.Namespace) -> int:
    """Measure and print a table."""
    _check(call)
    if call.sweep:
        with Progress() as progress:
            sweep = swept(call.liberty, call.recipe, call.tool, progress)
        if call.plot:
            Path(call.plot).write_text(sweep_plot(sweep["points"]), encoding="utf-8")
        print_json(sweep) if call.json else print(sweep_text(sweep))
        return 0
    if call.units:
        with Progress() as progress:
            report = placed_units(engine(call.engine, call.settings), call.device, call.speed, call.seeds, progress)
        print_json(report) if call.json else print(pnr_units_text(report))
        return 0
    configs = [engine(call.engine, call.settings)] if call.engine else configurations(call)
    with Progress() as progress:
        reports = [_report(config, call, progress) for config in configs]
    if call.json:
        print_json(reports)
    else:
        print(pnr_text(reports) if call.target == "ecp5" else cells_text(reports))
    return 0


def _check(call: argparse.Namespace) -> None:
    if call.target == "cells" and call.liberty is None:
        raise ValueError("timing in cells needs a cell library: give --liberty FILE, or --target ecp5")
    if call.target == "ecp5" and call.liberty is not None:
        raise ValueError("--liberty is for --target cells, not ecp5")
    if call.engine is not None and call.configurations:
        raise ValueError(f"give --engine {call.engine} or {' '.join(call.configurations)}, not both")
    if call.units and (call.engine is None or call.target != "ecp5"):
        raise ValueError("--units places the units of an engine: give it --engine PRESET and --target ecp5 (in cells "
                         "engines are timed unit by unit anyway)")
    if call.sweep and (call.engine or call.configurations or call.settings or call.target != "cells"):
        raise ValueError("--sweep measures configurations of its own in cells: give it none, and no --set or --target")
    if call.plot and not call.sweep:
        raise ValueError("--plot is for --sweep")


def _report(config: CoreConfig | EngineConfig, call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from hdl.config.engine import EngineConfig
    from synth.timing.cores import timing

    if call.target == "ecp5":
        return placed(config, call.device, call.speed, call.seeds, progress)
    if isinstance(config, EngineConfig):
        return timed_engine(config, call.liberty, call.recipe, progress, tool=call.tool, output=call.memory_output,
                            setup=call.memory_setup)
    return timing(config, liberty=call.liberty, recipe=call.recipe, tool=call.tool, progress=progress).as_dict()


def timed_engine(config: EngineConfig, liberty: str, recipe: str, progress: Progress, tool: str | None = None,
                 output: float | None = None, setup: float | None = None) -> dict[str, Any]:
    """The timing of an engine in cells as ``--json`` prints it."""
    from hdl.generate.verilog import emit
    from synth.timing.engines import engine_timing
    from synth.timing.macros import DEFAULT, MacroTiming

    changes = {name: value for name, value in (("output_ps", output), ("setup_ps", setup)) if value is not None}
    progress(f"generating {config.name}", 0, 0)
    return engine_timing(config, emit(config).text, liberty=liberty, recipe=recipe, tool=tool,
                         macros=MacroTiming(**(asdict(DEFAULT) | changes)), progress=progress).as_dict()


def placed(config: CoreConfig | EngineConfig, device: str, speed: int, seeds: int,
           progress: Progress) -> dict[str, Any]:
    """A design placed and routed, as ``--json`` prints it."""
    from hdl.generate.verilog import emit
    from synth.pnr.place import place_and_route

    progress(f"generating {config.name}", 0, 0)
    made = emit(config)
    return place_and_route(made.text, config.name, made.ports, device=device, speed=speed, seeds=seeds,
                           progress=progress).as_dict()


def placed_units(config: EngineConfig, device: str, speed: int, seeds: int, progress: Progress) -> dict[str, Any]:
    """The units of an engine placed and routed, as ``--json`` prints them."""
    from hdl.generate.verilog import emit
    from synth.pnr.engines import place_units

    progress(f"generating {config.name}", 0, 0)
    return place_units(config, emit(config).text, device=device, speed=speed, seeds=seeds, progress=progress).as_dict()


def swept(liberty: str, recipe: str, tool: str | None, progress: Progress) -> dict[str, Any]:
    """The sweep as ``--json`` prints it."""
    from synth.cells.library import load
    from synth.timing.cores import chosen_tool, tool_name
    from synth.timing.sweep import front, sweep_cores, sweep_engines

    name = tool_name(chosen_tool(tool))
    points = [*sweep_cores(liberty=liberty, recipe=recipe, tool=tool, progress=progress),
              *sweep_engines(liberty=liberty, recipe=recipe, tool=tool, progress=progress)]
    best = [point for design in dict.fromkeys(point.design for point in points)
            for point in front([other for other in points if other.design == design])]
    return {"library": load(liberty).name, "recipe": recipe, "tool": name,
            "points": [point.as_dict() | {"front": point in best} for point in points]}
