"""``cdma timing``: the clock of cores and engines in cells or on an FPGA, and what limits it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cdma.console.files import check_no_input, picture_file
from cdma.console.numbers import number, one_or_more
from cdma.console.options import add_command, configurations, core_options, json_option
from cdma.console.output import show
from cdma.console.progress import Progress
from cdma.hdl.config.files import refuse_pipe, write_file
from cdma.report.placing import spread
from cdma.report.plots.drawing import require_extra
from cdma.report.plots.sweep import sweep_plot
from cdma.report.table import Column, Table

if TYPE_CHECKING:
    from cdma.hdl.config.catalog import Design
    from cdma.hdl.config.engine import EngineConfig

_DESCRIPTION = """\
Print the clock that cores and engines reach, and the path that limits it. In the cells of a library Yosys maps the
design and OpenSTA, which must be installed, calculates its clock. A core is flattened. An engine is measured unit by
unit, each without the units inside it, and then as a whole with one of its lanes. Memories are macros, where paths
start and end. By default their set-up and clock-to-output times are those of 32 kbit at 45 nm (50 and 310 ps).

With --target ecp5 the design is placed and routed on a Lattice ECP5, with registers at its ports. That takes minutes
for a core, and up to an hour for an engine of several lanes. With --units each unit of the engine is placed by
itself. Place and route needs the extra 'boards' of this package. --sweep measures area, clock and throughput of both
cores over beats and pipelines and of the default engine over lanes and pipelines, and marks the Pareto front."""

_ESTIMATED = ("ultrascale+", "xilinx7")
"""The families whose clock is estimated."""

_EXAMPLES = """\
  cdma timing --liberty nangate45.lib                        the engine, unit by unit and as a whole (.lib or .lib.gz)
  cdma timing block_compressor --liberty nangate45.lib       a block core, its memories as macros
  cdma timing tiny --target ecp5 --speed 6                   place and route on an ECP5
  cdma timing paper_compressor --target ecp5 --seeds 5       median and spread of five
  cdma timing tiny --target ultrascale+                      an estimate: LUTs, RAMs, levels, and what is over 4 ns
  cdma timing --target ecp5 --units                          unit by unit, also if the whole engine does not fit
  cdma timing --sweep --liberty nangate45.lib --plot sweep.svg"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "timing", "print the clock of cores and engines in cells or on an FPGA",
                         _DESCRIPTION, _EXAMPLES, run)
    core_options(parser)
    parser.add_argument("--target", choices=("liberty", "ecp5", *_ESTIMATED), default="liberty",
                        help="cells of a library, place and route on a Lattice ECP5, or an estimate for AMD's "
                        "UltraScale+ or 7 series (default: liberty)")
    parser.add_argument("--liberty", metavar="FILE", help="cell library")
    parser.add_argument("--recipe", choices=("fast", "small", "plain"), default="fast",
                        help="in cells, map for short paths or few gates, or with Yosys' own scripts and without clock "
                        "gates (default: fast)")
    parser.add_argument("--memory-output", type=_ps, metavar="PS",
                        help="memory macros: clock-to-output time (default: 310)")
    parser.add_argument("--memory-setup", type=_ps, metavar="PS", help="memory macros: set-up time (default: 50)")
    parser.add_argument("--part", choices=("LFE5U-25F", "LFE5U-45F", "LFE5U-85F"), default="LFE5U-85F",
                        help="which ECP5 (default: LFE5U-85F)")
    parser.add_argument("--speed", type=int, choices=(6, 7, 8), default=8, help="its speed grade (default: 8)")
    parser.add_argument("--seeds", type=one_or_more, default=3, metavar="N",
                        help="place and route N times, print the median and the spread (default: 3)")
    parser.add_argument("--units", action="store_true",
                        help="with --target ecp5: each unit of one engine by itself instead of the whole engine")
    parser.add_argument("--sweep", action="store_true", help="beats, lanes and pipelines instead of one configuration")
    parser.add_argument("--plot", type=picture_file, metavar="FILE.svg", help="with --sweep: plot area and throughput")
    json_option(parser)


def _ps(text: str) -> float:
    return number(text, "a time in ps from 0 to a million", lambda ps: 0 <= ps < 1e6)


def run(call: argparse.Namespace) -> int:
    """Measure and print a table."""
    _check(call)
    with Progress() as progress:
        found, text = _measured(call, progress)
    show(call, found, text)
    return 0


def _measured(call: argparse.Namespace, progress: Progress) -> tuple[Any, Callable[[Any], str]]:
    """What is measured, and what makes text of it."""
    from cdma.synth.pnr.place import place, place_units
    from cdma.synth.timing.sweep import sweep

    placing = {"device": call.part, "speed": call.speed, "seeds": call.seeds, "progress": progress}
    if call.sweep:
        if call.plot:
            check_no_input(call.plot, call.liberty)
            require_extra()
        found = sweep(liberty=call.liberty, recipe=call.recipe, progress=progress)
        if call.plot:
            write_file(call.plot, sweep_plot(found["points"]))
        return found, _sweep_text
    configs = configurations(call)
    if call.units:
        return place_units(_one_engine(configs), **placing), _units_text
    if call.target in _ESTIMATED:
        from cdma.synth.timing.estimate import estimate

        return [estimate(config, call.target, progress) for config in configs], _estimates_text
    if call.target == "ecp5":
        return [place(config, **placing) for config in configs], _placed_text
    return [_in_cells(config, call, progress) for config in configs], cells_text


def _one_engine(configs: Sequence[Design]) -> EngineConfig:
    from cdma.hdl.config.engine import EngineConfig

    if len(configs) != 1 or not isinstance(configs[0], EngineConfig):
        raise ValueError("--units places the units of one engine: name one")
    return configs[0]


def _in_cells(config: Design, call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from cdma.hdl.config.engine import EngineConfig
    from cdma.synth.timing.clocks import engine_timing, timing
    from cdma.synth.timing.macros import MacroTiming

    given = {"output_ps": call.memory_output, "setup_ps": call.memory_setup}
    macros = MacroTiming(**{name: ps for name, ps in given.items() if ps is not None})
    how = {"liberty": call.liberty, "recipe": call.recipe, "macros": macros, "progress": progress}
    return engine_timing(config, **how) if isinstance(config, EngineConfig) else timing(config, **how)


def _check(call: argparse.Namespace) -> None:
    if call.liberty is not None:
        refuse_pipe(call.liberty).stat()    # before minutes of work
    if call.target == "liberty" and call.liberty is None:
        raise ValueError("timing in cells needs a cell library: give --liberty FILE, or --target ecp5")
    if call.target != "liberty" and call.liberty is not None:
        raise ValueError(f"--liberty is for --target liberty, not {call.target}")
    if call.target != "liberty" and (call.memory_output is not None or call.memory_setup is not None):
        raise ValueError("--memory-output and --memory-setup are for --target liberty: leave them out")
    if call.units and call.target != "ecp5":
        raise ValueError("--units places the units of an engine: give it --target ecp5 (in cells engines are timed "
                         "unit by unit anyway)")
    if call.sweep and (call.configurations or call.settings or call.target != "liberty"):
        raise ValueError("--sweep measures configurations of its own in cells: give it none, and no --set or --target")
    if call.plot and not call.sweep:
        raise ValueError("--plot is for --sweep")


_CELLS = [Column("MHz", "mhz", ".0f"), Column("ps", "ps", ".0f"), Column("gates", "gates"), Column("from", "start"),
          Column("to", "end")]

_PLACED = [Column("MHz", lambda row: row["median_mhz"] if row["best"] else "too large", ".1f", left=False),
           Column("spread", spread, left=False, optional=True), Column("LUTs", "used.luts", ","),
           Column("flip-flops", "used.flip_flops", ","), Column("block RAM", "used.block_ram", ","),
           Column("DSP", "used.dsp", ","), Column("ns", "best.path.ns", ".2f"),
           Column("wires", "best.path.routing_ns", ".2f"), Column("levels", "best.path.levels"),
           Column("from", "best.path.start"), Column("to", "best.path.end")]

_SWEEP = [Column("design", "design"), Column("lanes", "lanes"), Column("beat", "beat_bytes"),
          Column("pipeline", "pipeline"), Column("kGE", "kge", ".1f"), Column("MHz", "mhz", ".0f"),
          Column("GB/s", "gb_per_s", ".1f"), Column("front", lambda point: "yes" if point["front"] else "", left=True)]


def cells_text(reports: Sequence[Mapping[str, Any]]) -> str:
    """What is printed for cores and engines in the cells of a library: a table of the cores, and one of each engine."""
    from cdma.synth.timing.clocks import gates, unit_clocks
    from cdma.synth.timing.paths import worst

    cores = [report for report in reports if "units" not in report]
    of_units = [Column("unit", "unit"), *_CELLS]
    parts = [f"{report['name']} in {_cells_head(report)}\n\n{Table(of_units, unit_clocks(report)).text()}\n\n"
             f"Paths start and end at memory macros too: {report['macros']['setup_ps']:g} ps of set-up, and "
             f"{report['macros']['output_ps']:g} ps from the clock to the data that is read."
             for report in reports if "units" in report]
    if cores:
        rows = [{"name": report["name"], "gates": gates(worst(report["paths"])), **worst(report["paths"])}
                for report in cores]
        parts.insert(0, f"{_cells_head(cores[0])}\n\n{Table([Column('core', 'name'), *_CELLS], rows).text()}")
    return "\n\n".join(parts)


def _cells_head(report: Mapping[str, Any]) -> str:
    return ("{library} (recipe {recipe}), timed with {tool}: an ideal clock, wires without length. Slowest path from "
            "register to register:".format(**report))


def _placed_text(reports: Sequence[Mapping[str, Any]]) -> str:
    return (f"{_placed_head(reports[0], reports)} Slowest path from register to register:\n\n"
            f"{Table([Column('design', 'name'), *_PLACED], reports).text()}")


def _units_text(report: Mapping[str, Any]) -> str:
    rows = [*report["units"], {"name": "total", "used": report["total"], "best": None, "median_mhz": None}]
    columns = [Column("unit", "name"), Column("MHz", lambda row: _PLACED[0].cell(row) if "runs" in row else "",
                                              left=False), *_PLACED[1:]]
    return (f"{report['name']}, each unit by itself on {_placed_head(report, report['units'])} The resources of a unit "
            "are those of all its instances. Its path is the slowest from register to register; registers that stand "
            f"for neighbouring units count too and have the names of ports:\n\n{Table(columns, rows).text()}")


def _placed_head(report: Mapping[str, Any], placings: Sequence[Mapping[str, Any]]) -> str:
    has, runs = report["available"], max(len(each["runs"]) for each in placings)
    return (f"{report['device']}, speed grade {report['speed']}, placed and routed by {report['nextpnr']}, "
            f"{'one seed' if runs <= 1 else f'median of {runs} seeds, and the slowest path of the best'}. The part has "
            f"{has['luts']:,} LUTs, {has['block_ram']:,} block RAMs of 18 kbit and {has['dsp']:,} multipliers.")


_ESTIMATES = [Column("design", "name"), Column("LUTs", "luts", ","), Column("flip-flops", "flip_flops", ","),
              Column("RAMs", lambda row: ", ".join(f"{number} {ram}" for ram, number in row["rams"].items()),
                     left=True),
              Column("levels", "levels"), Column("ns", "path.ns", ".2f"), Column("MHz", "mhz", ".0f"),
              Column("over 4 ns", lambda row: f"{row['over']:,} of {row['ends']:,}", left=False)]

_GROUPS = [Column("ends", "ends", ","), Column("ns", "ns", ".2f"), Column("levels", "levels"), Column("from", "start"),
           Column("to", "end")]

_ESTIMATE = """\
An estimate for {target}: nothing is placed, and one lane of an engine stands for all. Levels of logic in the netlist of
{yosys}, in ns: a LUT {lut:g}, a net {net:g} and {fan_out:g} for each doubling of its readers, a register {output:g},
block RAM {block_ram:g}; --json has all delays."""


def _estimates_text(reports: Sequence[Mapping[str, Any]]) -> str:
    first = reports[0]
    parts = [_ESTIMATE.format(**first, **first["delays"]), Table(_ESTIMATES, reports).text()]
    for report in reports:
        if report["groups"]:
            about = (f"{report['name']}: ends of paths over {report['over_ns']:g} ns by the units in which they start "
                     "and end, with the slowest of each:")
            parts += [about, Table(_GROUPS, report["groups"]).text()]
    return "\n\n".join(parts)


def _sweep_text(sweep: Mapping[str, Any]) -> str:
    return ("{library} (recipe {recipe}), timed with {tool}. GB/s of raw data, a beat per cycle and lane. Points on "
            "the front: no other point of the design has less area and as many GB/s:\n\n".format(**sweep)
            + Table(_SWEEP, sweep["points"]).text())
