"""``cdma area``: area of engines and cores in cells or on an FPGA."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from cdma.console.options import add_command, configurations, core_options, engine, engine_option, json_option
from cdma.console.output import print_json
from cdma.console.progress import Progress
from cdma.report.area_text import area_text, core_timing_text, engine_area_text, engine_fpga_text

if TYPE_CHECKING:
    from cdma.hdl.config.catalog import Design
    from cdma.measure.figures import EngineOnFpga
    from cdma.synth.area.cores import AreaReport
    from cdma.synth.area.engines import EngineArea

_DESCRIPTION = """\
Synthesise cores with Yosys and print their area, by submodule and in total: cells, flip-flops and kGE (thousands of
two-input NAND gates), with a cell library also um2 and, where OpenSTA is installed, the clock; on an FPGA LUTs and
flip-flops. Without a library, gate sizes come from a small table. Submodules are mapped one by one, and the total is
that of the flattened design, so the rows do not add up to it. Quote the total.

An engine is mapped unit by unit: logic in gates or cells, memories in bits and by an area model, scaled to 28 nm
beside the paper's figures. On an FPGA the engine is mapped as a whole: LUTs, flip-flops, RAMs, and how every buffer
is built. A warning names the buffers of 2048 bits or more that are in flip-flops, or in LUTs with more than 64 words.
That takes some minutes."""

_EXAMPLES = """\
  cdma area                                               both cores, technology-independent
  cdma area decompressor --target ecp5                    LUTs of a Lattice ECP5
  cdma area paper_compressor --liberty nangate45.lib      um2 and MHz in your own cell library (.lib or .lib.gz)
  cdma area --liberty nangate45.lib --recipe small        less area, a lower clock
  cdma area compressor --set beat_bytes=64 --json
  cdma area block_compressor                              a block core; its memories are not in the cells
  cdma area --engine paper --liberty nangate45.lib        a whole engine, unit by unit
  cdma area --engine tiny --target ecp5                   LUTs, block RAM, and how each buffer is built"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "area", "print the area of engines and cores in cells or on an FPGA",
                         _DESCRIPTION, _EXAMPLES, run)
    core_options(parser)
    parser.add_argument("--target", choices=("generic", "liberty", "ecp5", "xilinx7"),
                        help="what to map to (default: liberty with --liberty, generic without)")
    parser.add_argument("--liberty", metavar="FILE", help="cell library to map to")
    parser.add_argument("--recipe", choices=("fast", "small", "plain"), default="fast",
                        help="map for short paths or few gates, or with Yosys' own scripts and without clock gates, as "
                        "peers are measured (default: fast)")
    engine_option(parser, "an engine instead of cores: preset (default, paper, smallest, tiny, wide) or TOML file")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Synthesise and print a table per design."""
    if call.target == "liberty" and call.liberty is None:
        raise ValueError("--target liberty needs a cell library: give --liberty FILE")
    if call.liberty is not None and call.target not in (None, "liberty"):
        raise ValueError(f"--liberty is for --target liberty, not {call.target}")
    if call.engine is not None and call.configurations:
        raise ValueError(f"give --engine {call.engine} or {' '.join(call.configurations)}, not both")
    configs = [engine(call.engine, call.settings)] if call.engine else configurations(call)
    with Progress() as progress:
        reports = [_report(config, call, progress) for config in configs]
    if call.json:
        print_json(reports)
    else:
        print("\n\n".join(map(_text, reports)))
    return 0


def _text(report: AreaReport | EngineArea | EngineOnFpga) -> str:
    from cdma.measure.figures import EngineOnFpga
    from cdma.synth.area.engines import EngineArea

    if isinstance(report, EngineArea):
        return engine_area_text(report)
    if isinstance(report, EngineOnFpga):
        return engine_fpga_text(report)
    return "\n\n".join(filter(None, [area_text(report), core_timing_text(report)]))


def _report(config: Design, call: argparse.Namespace,
            progress: Progress) -> AreaReport | EngineArea | EngineOnFpga:
    from cdma.hdl.config.block_core import BlockCoreConfig
    from cdma.hdl.config.core import CoreConfig
    from cdma.measure.synthesis import measured_engine, measured_on_fpga
    from cdma.synth.area.cores import area

    target = call.target or ("liberty" if call.liberty else "generic")
    if isinstance(config, CoreConfig | BlockCoreConfig):
        return area(config, target=target, liberty=call.liberty, recipe=call.recipe, timed=True, progress=progress)
    if target in ("generic", "liberty"):
        return measured_engine(config, call.liberty, call.recipe, progress)
    return measured_on_fpga(config, target, progress)
