"""``cdma area``: what cores take in cells or on an FPGA."""

from __future__ import annotations

import argparse
from typing import Any

from cdma.options import add_command, configurations, core_options, json_option
from cdma.output import area_text, fixed, print_json, table
from cdma.progress import Progress

_DESCRIPTION = """\
Synthesise cores with Yosys and print what they take, submodule by submodule and in all: cells, flip-flops and kGE
(thousands of two-input NAND gates), with a cell library also um2 and the clock that the slowest paths allow, on an FPGA
LUTs and flip-flops. Without a library a small table of gate sizes stands in for one. Modules are mapped one by one and
the whole flattened, as it would be built, so the rows do not add up to the total; the total is what counts."""

_EXAMPLES = """\
  cdma area                                               both cores, technology-independent
  cdma area decompressor --target ecp5                    LUTs of a Lattice ECP5
  cdma area paper_compressor --liberty nangate45.lib      um2 and MHz in your own cell library (.lib or .lib.gz)
  cdma area --liberty nangate45.lib --recipe small        less area, a lower clock
  cdma area compressor --set beat_bytes=64 --json"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "area", "print what cores take in cells, or on an FPGA", _DESCRIPTION, _EXAMPLES,
                         run)
    core_options(parser)
    parser.add_argument("--target", choices=("generic", "liberty", "ecp5", "xilinx7"),
                        help="what to map to (default: liberty with --liberty, generic without)")
    parser.add_argument("--liberty", metavar="FILE", help="cell library to map to")
    parser.add_argument("--recipe", choices=("fast", "small"), default="fast",
                        help="what logic is mapped for: short paths, or few gates (default: fast)")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Synthesise and print a table per core."""
    from synth.area import area

    if call.target == "liberty" and call.liberty is None:
        raise ValueError("--target liberty needs a cell library: give --liberty FILE")
    if call.liberty is not None and call.target not in (None, "liberty"):
        raise ValueError(f"--liberty is for --target liberty, not {call.target}")
    target = call.target or ("liberty" if call.liberty else "generic")
    with Progress() as progress:
        reports = [area(config, target=target, liberty=call.liberty, recipe=call.recipe, timed=True,
                        progress=progress).as_dict()
                   for config in configurations(call)]
    if call.json:
        print_json(reports)
    else:
        print("\n\n".join(f"{area_text(report)}{_timing_text(report)}" for report in reports))
    return 0


def _timing_text(report: dict[str, Any]) -> str:
    """The clock that the slowest path of each kind allows; nothing if the report has no timing."""
    if not report["paths"]:
        return ""
    rows = [[path["kind"], fixed(path["ps"], 0), fixed(path["mhz"], 0), path["start"], path["end"]]
            for path in report["paths"]]
    return (f"\n\nSlowest paths, timed with {report['timed_with']} (recipe {report['recipe']}, an ideal clock, wires "
            f"without length):\n\n{table(['path', 'ps', 'MHz', 'from', 'to'], rows, left=(0, 3, 4))}")
