"""``cdma soc``: a RISC-V core runs the C driver in a simulated SoC and moves a tensor through the engine."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from typing import Any

from cdma.console.errors import CheckError, simulation_errors
from cdma.console.numbers import byte_size
from cdma.console.options import add_command, build_option, engine, engine_option, json_option
from cdma.console.output import count, show
from cdma.console.progress import Progress
from cdma.hdl.config.extras import install
from cdma.report.table import Column, Table

_DESCRIPTION = """\
Build a SoC with LiteX, with a RISC-V core, memories, a UART and an engine on its bus, and simulate it while the core
runs firmware: our C driver, compiled by a bare-metal compiler. The firmware moves a tensor through the engine and back
by polling, by interrupt, through a descriptor ring in main memory, and with completions in a write-back ring there; it
compares every byte and prints what the engine counted. Lengths and checksums of the streams are compared with the
golden model; the exit code is 1 if anything differs. With --board it is not simulated: the SoC for an FPGA board with
SDRAM is written, with the firmware in its ROM, and LiteX's scripts for Yosys and nextpnr. LiteX comes with the extra
[soc]: pip install 'cdma-rtl[soc]'; the compiler is Debian's gcc-riscv64-unknown-elf. The first run takes some minutes,
the next ones less than one."""

_EXAMPLES = """\
  cdma soc                                                64 KiB of the shipped dump
  cdma soc --set lanes=2                                  an engine of two lanes
  cdma soc --sdram                                        SDRAM, with a port for each of the engine's masters
  cdma soc my_dump.npz --array conv1 --bytes 128K
  cdma soc --board ulx3s-85f -o ulx3s_soc --set pipeline=fast
  cdma soc --json | jq '.transfers[].cycles'"""

_ARRAY = "fire4/concat"
_BYTES = 65536


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "soc", "simulate a SoC in which a RISC-V core runs the C driver", _DESCRIPTION,
                         _EXAMPLES, run)
    parser.add_argument("dump", nargs="?", metavar="DUMP", help="dump with the tensor (default: the shipped one)")
    parser.add_argument("--array", metavar="NAME", help=f"which array of the dump (default: {_ARRAY} of the shipped "
                        "one)")
    parser.add_argument("--bytes", type=byte_size, default=_BYTES, metavar="SIZE",
                        help="take so many bytes of the array, from its first on (default: 64K)")
    engine_option(parser, "tiny", "; it needs address_bits 32, and is built with write_back")
    parser.add_argument("--sdram", action="store_true", help="main RAM is SDRAM behind LiteDRAM, where each of the "
                        "engine's masters has its own port (default: block RAM on the bus)")
    parser.add_argument("--board", metavar="BOARD", help="write the SoC for a board: ulx3s-85f")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder for the board's files (default: its name)")
    parser.add_argument("--waves", action="store_true", help="write the waves of all signals (FST)")
    build_option(parser)
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Simulate and print a row for each direction of each way."""
    if call.output and not call.board:
        raise ValueError("--output is for the files of a board: name one with --board, or leave it out")
    if call.board and call.waves:
        raise ValueError("a board is not simulated: leave out --waves")
    import numpy as np

    from cdma.hdl.litex.layout import Layout, fpga
    from cdma.measure.arrays import arrays_with_codings

    if call.board:
        fpga(call.board)
    config = engine(call.engine or "tiny", ["write_back=true", *call.settings])
    name = call.array or (None if call.dump else _ARRAY)
    asked, *others = arrays_with_codings([Path(call.dump)] if call.dump else [], [name] if name else None, None, None,
                                         built=config.numbers)
    if others:
        names = ", ".join(each.name for each in (asked, *others))
        raise ValueError(f"{call.dump} has {1 + len(others)} arrays: choose one with --array ({names})")
    tensor = np.ascontiguousarray(asked.array).reshape(-1).view(np.uint8)[:call.bytes]
    Layout(config, tensor.size)
    # What is wrong with the call was said before LiteX is needed.
    for package in ("litex", "litedram", "litex_boards", "migen", "pythondata_cpu_vexriscv"):
        if importlib.util.find_spec(package) is None:
            raise ValueError(f"a SoC needs the Python package {package}: {install('soc')}")
    if call.board:
        from cdma.hdl.litex.boards import write_board

        folder = Path(call.output or call.board)
        files = write_board(call.board, config, tensor.tobytes(), asked.coding, folder)
        show(call, {"board": call.board, "engine": config.name, "files": [str(folder / name) for name in files]},
             lambda made: "\n".join(made["files"]) + (
                 f"\n\nbuild it in {folder} with 'sh build_cdma_soc.sh', which calls yosys, nextpnr-ecp5 and ecppack; "
                 "the firmware prints at 115,200 baud"))
        return 0
    from cdma.verif.soc.simulate import simulate_soc

    build_dir = Path(call.build_dir).resolve()
    waves = build_dir / "waves" if call.waves else None
    with Progress() as progress, simulation_errors():
        outcome = simulate_soc(config, tensor.tobytes(), asked.coding, memory="dram" if call.sdram else "ram",
                               build_dir=build_dir, waves=waves, progress=progress)
    show(call, outcome, _text)
    if waves is not None and not call.json:
        print(f"waves: {waves}")
    if outcome["difference"]:
        raise CheckError(outcome["difference"])
    return 0


_WAYS = [Column("by", "way"), Column("direction", "direction"), Column("raw bytes", "raw_bytes", ","),
         Column("packed bytes", "packed_bytes", ","),
         Column("ratio", lambda way: way["raw_bytes"] / way["packed_bytes"] if way["packed_bytes"] else "-", ".3f"),
         Column("cycles", "cycles", ","),
         Column("raw bytes/cycle", lambda way: way["raw_bytes"] / way["cycles"] if way["cycles"] else "-", ".2f"),
         Column("memory stalls", "memory_stalls", ",")]


def _text(outcome: dict[str, Any]) -> str:
    lanes = "1 lane" if outcome["lanes"] == 1 else f"{outcome['lanes']} lanes"
    where = "on the bus of a RISC-V SoC" if outcome["memory"] == "ram" else "at the SDRAM of a RISC-V SoC"
    return (f"{outcome['engine']}, {lanes}, {where}; the tensor is coded as {outcome['coding']}.\n"
            f"What the firmware printed, of {count(outcome['tensor_bytes'])} bytes moved in each way:\n\n"
            f"{Table(_WAYS, outcome['transfers']).text()}\n\n"
            f"{'every byte compared: FAIL' if outcome['difference'] else 'every byte compared: pass'}; "
            f"{count(outcome['cycles'])} cycles, {count(outcome['firmware_bytes'])} bytes of firmware")
