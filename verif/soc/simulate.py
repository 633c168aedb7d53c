"""Runs the firmware on the simulated SoC, and compares what it prints with the golden model."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding, coding_name
from cdma.golden.codec.crc32c import crc32c
from cdma.golden.results import from_json
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.litex.firmware import compiler, firmware
from cdma.hdl.litex.layout import Layout
from cdma.hdl.litex.soc import TOP, plain_errors, simulation_soc
from cdma.verif.common import runner, tools
from cdma.verif.engine.bound_rules import with_port_rules
from cdma.verif.engine.build import engine_text
from cdma.verif.soc.top import NAME, Console, top

__all__ = ["MEMORIES", "WRITE_BACK", "SocRun", "Transfer", "simulate_soc", "ways"]

WRITE_BACK = "write-back"
"""The way in which completions come into a ring of records, where the engine was built for it."""

MEMORIES = ("ram", "dram")
"""What the main RAM can be: block RAM on the bus, or SDRAM behind LiteDRAM."""

_CYCLES = 5_000_000
_CYCLES_PER_BYTE = 500
"""When the simulation is given up: ten times the cycles that the firmware usually takes."""

_WAYS = {"poll": 0, "interrupt": 2, "ring": 0, WRITE_BACK: 0}
_TRANSFER = re.compile(r"([\w-]+) (offload|prefetch) raw (\d+) packed (\d+) crc (\d+) cycles (\d+) link (\d+) "
                       r"memory (\d+) buffer (\d+)")
_COMPARED = re.compile(r"([\w-]+) compared (\d+) differ (\d+) interrupts (\d+) reads (\d+)")


def ways(config: EngineConfig) -> dict[str, int]:
    """The ways in which the firmware moves the tensor through an engine, and how many interrupts each has."""
    return {way: interrupts for way, interrupts in _WAYS.items() if config.write_back or way != WRITE_BACK}


@dataclass(frozen=True)
class Transfer:
    """A direction of one way, as the engine's counters say.

    Parameters
    ----------
    way, direction : str
        How the tensor was moved, and whether it was an offload or a prefetch.
    raw_bytes, packed_bytes : int
        Of the tensor, and of its stream or streams.
    crc : int
        CRC-32C of the stream; for rings the sum of those of all streams.
    cycles : int
        In which a descriptor was being processed.
    link_cycles : int
        In which a beat of a stream was on the link.
    memory_stalls, buffer_stalls : int
        In which a lane waited for memory, or its buffer.
    """

    way: str
    direction: str
    raw_bytes: int
    packed_bytes: int
    crc: int
    cycles: int
    link_cycles: int
    memory_stalls: int
    buffer_stalls: int


@dataclass(frozen=True)
class SocRun:
    """A run of the firmware.

    Parameters
    ----------
    engine : str
        Name of the engine.
    lanes : int
        Its lanes.
    memory : str
        What the main RAM is: ``ram`` on the bus, or ``dram`` with a port for each master.
    coding : str
        Name of the coding of its blocks.
    tensor_bytes : int
        Length of the tensor.
    firmware_bytes : int
        Of the code, with its constants, without the tensor.
    cycles : int
        Cycles of the whole simulation.
    transfers : tuple of Transfer
        What was moved, in order.
    text : str
        All that the firmware has printed.
    difference : str or None
        What was wrong first; None when all was right.
    """

    engine: str
    lanes: int
    memory: str
    coding: str
    tensor_bytes: int
    firmware_bytes: int
    cycles: int
    transfers: tuple[Transfer, ...]
    text: str
    difference: str | None


def simulate_soc(config: EngineConfig, tensor: bytes, coding: Coding, *, memory: str = "ram", build_dir: Path,
                 waves: Path | None = None, seed: int = 1,
                 progress: Callable[[str, int, int], None] | None = None) -> SocRun:
    """Compile the SoC and its firmware, and let the firmware move a tensor in every way.

    Parameters
    ----------
    config : EngineConfig
        The engine.
    tensor : bytes
        What is moved.
    coding : Coding
        The coding of its blocks.
    memory : str
        One of :data:`MEMORIES`.
    build_dir : Path
        Folder for compiled designs; what is there is used again.
    waves : Path, optional
        Folder for the waves.
    seed : int
        Of the registers' values before reset.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Raises
    ------
    ValueError
        If the tensor or the engine does not fit the SoC, or there is no compiler for its firmware.
    MissingToolError, BuildError, BenchError
        As :func:`cdma.verif.common.runner.build` and :func:`cdma.verif.common.runner.run`.
    """
    say = progress or (lambda stage, done, total: None)
    tools.require("verilator")
    compiler()
    layout = Layout(config, len(tensor))
    with tempfile.TemporaryDirectory(prefix="cdma-") as place:
        folder = Path(place)
        verilog = folder / "engine.v"
        say("generating the engine", 0, 0)
        checked = with_port_rules(engine_text(config, build_dir), config.name, config)
        verilog.write_text(checked, encoding="utf-8")
        soc = simulation_soc(config, layout.main_ram_bytes, verilog, dram=memory == "dram")
        say("compiling the firmware", 0, 0)
        with plain_errors():
            rom = firmware(soc, tensor, coding, folder / "firmware")
            made = soc.platform.get_verilog(soc, name=TOP)
        sources = [Path(path).read_text(encoding="utf-8") for path, *_ in soc.platform.sources]
        say("compiling the SoC for the simulator", 0, 0)
        built = runner.build("\n".join([_plain(made.main_source), *sources, top(TOP)]), NAME, simulator="verilator",
                             build_dir=build_dir, waves=waves is not None)
        for name in made.data_files:
            folder.joinpath(name).write_text("0\n", encoding="ascii")
        soc.write_rom(rom, folder)
        say("running the firmware", 0, 0)
        job = {"cycles": _CYCLES + _CYCLES_PER_BYTE * len(tensor)}
        console = from_json(Console, runner.run(built, "cdma.verif.soc.benches.console", job=job, folder=folder,
                                               seed=seed))
        if waves is not None:
            waves.mkdir(parents=True, exist_ok=True)
            form = tools.wave_format("verilator")
            (folder / f"dump.{form}").replace(waves / f"soc.{form}")
    transfers = tuple(_transfers(console.text))
    difference = _difference(console, transfers, ways(config), _streams(layout, tensor, coding))
    return SocRun(config.name, config.lanes, memory, coding_name(coding), len(tensor), len(rom) - len(tensor),
                  console.cycles, transfers, console.text, difference)


def _plain(verilog: str) -> str:
    """Verilog without the comments of LiteX, some of which say when it was made: then it is compiled once only."""
    return "\n".join(line for line in verilog.splitlines() if not line.startswith("//"))


def _transfers(text: str) -> Iterator[Transfer]:
    for found in _TRANSFER.finditer(text):
        way, direction, *numbers = found.groups()
        yield Transfer(way, direction, *map(int, numbers))


def _streams(layout: Layout, tensor: bytes, coding: Coding) -> dict[str, tuple[int, int]]:
    """Bytes and checksum of the streams of each way, from the golden model."""
    def stream(raw: bytes) -> tuple[int, int]:
        packed = blocks.compress(raw, coding, layout.config.block_bytes)
        return packed.size, crc32c(packed) if layout.config.crc else 0

    size = layout.part_bytes
    parts = [stream(tensor[at:at + size]) for at in range(0, len(tensor), size)]
    lengths, checksums = zip(*parts, strict=True)
    whole, in_parts = stream(tensor), (sum(lengths), sum(checksums) % 2**32)
    return {"poll": whole, "interrupt": whole, "ring": in_parts, WRITE_BACK: in_parts}


def _difference(console: Console, transfers: tuple[Transfer, ...], asked: dict[str, int],
                right: dict[str, tuple[int, int]]) -> str | None:
    """What differs first from what the golden model gives."""
    for line in console.text.splitlines():
        if line.startswith("error: "):
            return f"the firmware says: {line.removeprefix('error: ')}"
    if not console.ended:
        return f"the firmware has not ended after {console.cycles} cycles"
    for moved in transfers:
        if (moved.packed_bytes, moved.crc) != right[moved.way]:
            return (f"{moved.way}, {moved.direction}: {moved.packed_bytes} bytes with the CRC {moved.crc:#010x}, not "
                    f"{right[moved.way][0]} with {right[moved.way][1]:#010x}")
    if [(moved.way, moved.direction) for moved in transfers] != [
            (way, direction) for way in asked for direction in ("offload", "prefetch")]:
        return "the firmware has not moved the tensor in every way"
    seen = {way: (int(differ), int(count)) for way, _, differ, count, _ in _COMPARED.findall(console.text)}
    reads = {way: int(count) for way, *_, count in _COMPARED.findall(console.text)}
    for way, interrupts in asked.items():
        if seen.get(way) != (0, interrupts):
            return f"{way}: words that differ and interrupts are {seen.get(way)}, not {(0, interrupts)}"
        if way == WRITE_BACK and reads[way]:
            return f"{way}: while it waited for records, the driver read registers {reads[way]} times"
    return None if console.text.endswith("PASS\n") else "the firmware does not say that it passed"
