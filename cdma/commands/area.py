"""``cdma area``: area of engines and cores in cells or on an FPGA."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cdma.console.options import add_command, configurations, core_options, json_option
from cdma.console.output import show
from cdma.console.progress import Progress
from cdma.hdl.config.files import refuse_pipe
from cdma.report.table import Column, Table

if TYPE_CHECKING:
    from cdma.hdl.config.catalog import Design

_DESCRIPTION = """\
Synthesise engines and cores with Yosys and print their area. An engine is mapped unit by unit: cells, flip-flops and
kGE (thousands of two-input NAND gates), with a cell library also um2; memories in bits and by an area model, scaled to
28 nm beside the paper's figures. On an FPGA the engine is mapped as a whole: LUTs, flip-flops, RAMs, and how every
buffer is built. A warning names the buffers of 2048 bits or more that are in flip-flops, or in LUTs with more than 64
words. That takes some minutes.

Cores are printed by submodule and in total, with a cell library and OpenSTA also with their clock. Without a library,
gate sizes come from a small table. Submodules are mapped one by one, and the total is that of the flattened design, so
the rows do not add up to it. Quote the total."""

_EXAMPLES = """\
  cdma area                                               the engine, unit by unit, technology-independent
  cdma area paper --liberty nangate45.lib                 in your own cell library (.lib or .lib.gz)
  cdma area tiny --target ecp5                            LUTs, block RAM, and how each buffer is built
  cdma area block_compressor block_decompressor           the block cores; their memories are not in the cells
  cdma area compressor --liberty nangate45.lib --recipe small   less area, a lower clock
  cdma area compressor --set beat_bytes=64 --json"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "area", "print the area of engines and cores in cells or on an FPGA",
                         _DESCRIPTION, _EXAMPLES, run)
    core_options(parser)
    parser.add_argument("--target", choices=("generic", "liberty", "ecp5", "xilinx7", "ultrascale+"),
                        help="what to map to (default: liberty with --liberty, generic without)")
    parser.add_argument("--liberty", metavar="FILE", help="cell library to map to")
    parser.add_argument("--recipe", choices=("fast", "small", "plain"), default="fast",
                        help="map for short paths or few gates, or with Yosys' own scripts and without clock gates, as "
                        "peers are measured (default: fast)")
    json_option(parser)


_CORE = [Column("module", "module"), Column("cells", "cells", ",", optional=True),
         Column("flip-flops", "flip_flops", ",", optional=True),
         Column("clock gates", lambda row: row["clock_gates"] or None, ",", optional=True),
         Column("kGE", "kge", ".2f", optional=True), Column("um2", "um2", ".0f", optional=True),
         Column("LUTs", "luts", ",", optional=True), Column("block RAMs", "block_rams", ",", optional=True)]

_PATHS = [Column("path", "kind"), Column("ps", "ps", ".0f"), Column("MHz", "mhz", ".0f"), Column("from", "start"),
          Column("to", "end")]

_UNITS = [Column("unit", "unit"), Column("instances", "instances", optional=True), Column("cells", "cells", ","),
          Column("flip-flops", "flip_flops", ","), Column("kGE", "kge", ".2f"),
          Column("um2", "um2", ".0f", optional=True),
          Column("memory bits", lambda row: row["memory_bits"] or None, ",")]

_BUFFERS = [Column("buffer", "name"), Column("words", "words", ","), Column("bits", "width"),
            Column("built as", "built", left=True),
            Column("of", lambda row: ", ".join(f"{number} {ram}" for ram, number in row["rams"].items()), left=True)]


def run(call: argparse.Namespace) -> int:
    """Synthesise and print a table per design."""
    if call.target == "liberty" and call.liberty is None:
        raise ValueError("--target liberty needs a cell library: give --liberty FILE")
    if call.liberty is not None and call.target not in (None, "liberty"):
        raise ValueError(f"--liberty is for --target liberty, not {call.target}")
    if call.liberty is not None:
        refuse_pipe(call.liberty).stat()    # before minutes of work
    configs = configurations(call)
    with Progress() as progress:
        reports = [_report(config, call, progress) for config in configs]
    show(call, reports, lambda reports: "\n\n".join(map(area_text, reports)))
    return 0


def _report(config: Design, call: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from cdma.hdl.config.block_core import BlockCoreConfig
    from cdma.hdl.config.core import CoreConfig
    from cdma.synth.area.area import area, engine_area
    from cdma.synth.area.fpga import fpga_area

    target = call.target or ("liberty" if call.liberty else "generic")
    if isinstance(config, CoreConfig | BlockCoreConfig):
        return area(config, target=target, liberty=call.liberty, recipe=call.recipe, timed=True, progress=progress)
    if target in ("generic", "liberty"):
        return engine_area(config, liberty=call.liberty, recipe=call.recipe, progress=progress)
    return {"lanes": config.lanes} | fpga_area(config, target, progress)


def area_text(report: Mapping[str, Any]) -> str:
    """What is printed of a core, of an engine in cells, or of one on an FPGA; ``report`` is as JSON has it."""
    if "units" in report:
        return _engine_text(report)
    if "memories" in report:
        return _fpga_text(report)
    return "\n\n".join(filter(None, [_core_text(report), _clocks(report)]))


def _core_text(report: Mapping[str, Any]) -> str:
    mapped = f"{report['target']} gates" if report["target"] == "generic" else report["library"] or report["target"]
    memories = (f"\n\n{report['memory_bits']:,} bits of memory are not counted here: they are macros."
                if report["memory_bits"] else "")
    return f"{report['name']}, mapped to {mapped}:\n\n{Table(_CORE, report['rows']).text()}{memories}"


def _clocks(report: Mapping[str, Any]) -> str:
    """The clock that the slowest path of each kind allows; for a library without OpenSTA, that it is needed."""
    if report["library"] and report["memory_bits"]:
        return "cdma timing calculates the clock, with the timing of these macros."
    if report["library"] and report["timed_with"] is None:
        return "No clock: OpenSTA calculates it, and its program sta is not on PATH (Debian: apt install opensta)."
    if not report["paths"]:
        return ""
    return (f"Slowest paths, timed with {report['timed_with']} (recipe {report['recipe']}, an ideal clock, wires "
            f"without length):\n\n{Table(_PATHS, report['paths']).text()}")


def _engine_text(report: Mapping[str, Any]) -> str:
    library, scale, scaled, paper = report["library"], report["scale_28"], report["mm2_28"], report["paper_mm2"]
    logic = "the cells" if library else f"{report['nand2_um2']} um2 a gate"
    cores = sum(unit["logic_um2"] for unit in report["units"] if unit["unit"] in ("compressor", "decompressor"))
    macros = ", ".join(f"{number} of {size}" for size, number in report["macros"].items())
    units = [*report["units"], {"unit": "total", "instances": "", **report["total"]}]
    return (
        f"{report['name']}, {report['lanes']} lanes, mapped to {library or 'generic gates'} "
        f"(recipe {report['recipe']}):\n\n{Table(_UNITS, units).text()}\n\n"
        f"Memories (words x bits): {macros}.\n"
        f"At 45 nm: logic in {logic}, memories {report['bit_um2']} um2 a bit. At 28 nm: times (28/45)^2 = {scale:.3f}."
        "\n\n" + Table(["at 28 nm, mm2", "this engine", "paper, 6 lanes"], [
            ["compressors and decompressors", f"{cores / 1e6:.3f} x {scale:.3f} = {scaled['cores']:.3f}",
             f"{paper['cores']:.2f}"],
            ["all logic", f"{scaled['logic']:.3f}", ""], ["memories", f"{scaled['memory']:.3f}", ""],
            ["the whole engine", f"{scaled['engine']:.3f}", f"{paper['engine']:.1f}"]]).text())


def _fpga_text(report: Mapping[str, Any]) -> str:
    rams = report["block_rams"] | report["distributed_rams"]
    large = [memory for memory in report["memories"] if memory["words"] * memory["width"] >= report["least_bits"]]
    missed = [f"{memory['name']} ({memory['built']})" for memory in large if memory["name"] in report["no_block_ram"]]
    totals = [Column("LUTs", "luts", ","), Column("flip-flops", "flip_flops", ","),
              *(Column(ram, ram, ",") for ram in rams)]
    return (
        f"{report['name']}, {report['lanes']} lanes, mapped to {report['target']}:\n\n"
        f"{Table(totals, [{**report, **rams}]).text()}\n\nBuffers of {report['least_bits']} bits or more:\n\n"
        f"{Table(_BUFFERS, large).text()}\n\n"
        + (f"warning: not in block RAM: {', '.join(missed)}" if missed else
           f"Every one is block RAM, or has {report['lut_words']} words at most."))
