"""``cdma area``: what cores take in cells or on an FPGA."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from cdma.options import add_command, configurations, core_options, json_option
from cdma.output import count, fixed, print_json, table
from cdma.progress import Progress

_DESCRIPTION = """\
Synthesise cores with Yosys and print what they take, submodule by submodule and in all: cells, flip-flops and kGE
(thousands of two-input NAND gates), with a cell library also um2, on an FPGA LUTs and flip-flops. Without a library
a small table of cell sizes stands in for one."""

_EXAMPLES = """\
  cdma area                                               both cores, technology-independent
  cdma area decompressor --target ecp5                    LUTs of a Lattice ECP5
  cdma area paper_compressor --liberty nangate45.lib      your own cell library (.lib or .lib.gz)
  cdma area compressor --set beat_bytes=64 --json"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "area", "print what cores take in cells, or on an FPGA", _DESCRIPTION, _EXAMPLES,
                         run)
    core_options(parser)
    parser.add_argument("--target", choices=("generic", "liberty", "ecp5", "xilinx7"),
                        help="what to map to (default: liberty with --liberty, generic without)")
    parser.add_argument("--liberty", metavar="FILE", help="cell library to map to")
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
        reports = [(config, area(config, target=target, liberty=call.liberty and Path(call.liberty),
                                 progress=progress)) for config in configurations(call)]
    if call.json:
        print_json([report.as_dict() for _, report in reports])
        return 0
    for number, (config, report) in enumerate(reports):
        if number:
            print()
        bits = ", ".join(map(str, config.element_bits))
        print(f"{config.name}: {config.beat_bytes}-byte beats, elements of {bits} bits, {target}\n")
        print(area_table(report.rows))
    return 0


def area_table(rows: Any) -> str:
    """Rows of an area report as a table; columns that no row has are left out."""
    columns = [("cells", lambda row: count(row.cells)), ("flip-flops", lambda row: count(row.flip_flops)),
               ("kGE", lambda row: fixed(row.kge, 2)), ("um2", lambda row: fixed(row.um2, 0)),
               ("LUTs", lambda row: count(row.luts))]
    filled = [(head, cell) for head, cell in columns if any(cell(row) for row in rows)]
    return table(["module", *(head for head, _ in filled)],
                 [[row.module, *(cell(row) for _, cell in filled)] for row in rows])
