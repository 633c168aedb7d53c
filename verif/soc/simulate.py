"""Runs the firmware on the simulated SoC, and compares what it prints with the golden model."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding, coding_name
from cdma.golden.codec.crc32c import crc32c
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.litex.firmware import compiler, firmware
from cdma.hdl.litex.layout import Layout
from cdma.hdl.litex.soc import TOP, plain_errors, simulation_soc
from cdma.verif.common import runner, tools
from cdma.verif.engine.bound_rules import with_port_rules
from cdma.verif.engine.build import engine_text
from cdma.verif.soc.top import NAME, top

__all__ = ["MEMORIES", "WRITE_BACK", "simulate_soc", "ways"]

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
_NUMBERS = ("raw_bytes", "packed_bytes", "crc", "cycles", "link_cycles", "memory_stalls", "buffer_stalls")
_COMPARED = re.compile(r"([\w-]+) compared (\d+) differ (\d+) interrupts (\d+) reads (\d+)")


def ways(config: EngineConfig) -> dict[str, int]:
    """The ways in which the firmware moves the tensor through an engine, and how many interrupts each has."""
    return {way: interrupts for way, interrupts in _WAYS.items() if config.write_back or way != WRITE_BACK}


def simulate_soc(config: EngineConfig, tensor: bytes, coding: Coding, *, memory: str = "ram", build_dir: Path,
                 waves: Path | None = None, seed: int = 1,
                 progress: Callable[[str, int, int], None] | None = None) -> dict[str, Any]:
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

    Returns
    -------
    dict
        The engine, its lanes, the memory and the coding; bytes of the tensor and of the firmware without it; cycles of
        the whole simulation; ``transfers``, a row for each direction of each way: bytes of the tensor and of its
        streams, their CRC-32C (for rings the sum of all), cycles in which a descriptor was being processed, in which a
        beat of a stream was on the link, in which a lane waited for memory, and for its buffer; ``text``, all that the
        firmware has printed; and ``difference``, what was wrong first, None when all was right.

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
        console = runner.run(built, "cdma.verif.soc.benches.console", job=job, folder=folder, seed=seed)
        if waves is not None:
            waves.mkdir(parents=True, exist_ok=True)
            form = tools.wave_format("verilator")
            (folder / f"dump.{form}").replace(waves / f"soc.{form}")
    transfers = list(_transfers(console["text"]))
    difference = _difference(console, transfers, ways(config), _streams(layout, tensor, coding))
    return {"engine": config.name, "lanes": config.lanes, "memory": memory, "coding": coding_name(coding),
            "tensor_bytes": len(tensor), "firmware_bytes": len(rom) - len(tensor), "cycles": console["cycles"],
            "transfers": transfers, "text": console["text"], "difference": difference}


def _plain(verilog: str) -> str:
    """Verilog without the comments of LiteX, some of which say when it was made: then it is compiled once only."""
    return "\n".join(line for line in verilog.splitlines() if not line.startswith("//"))


def _transfers(text: str) -> Iterator[dict[str, Any]]:
    for found in _TRANSFER.finditer(text):
        way, direction, *numbers = found.groups()
        yield {"way": way, "direction": direction} | dict(zip(_NUMBERS, map(int, numbers), strict=True))


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


def _difference(console: dict[str, Any], transfers: list[dict[str, Any]], asked: dict[str, int],
                right: dict[str, tuple[int, int]]) -> str | None:
    """What differs first from what the golden model gives."""
    for line in console["text"].splitlines():
        if line.startswith("error: "):
            return f"the firmware says: {line.removeprefix('error: ')}"
    if not console["ended"]:
        return f"the firmware has not ended after {console['cycles']} cycles"
    for moved in transfers:
        size, crc = right[moved["way"]]
        if (moved["packed_bytes"], moved["crc"]) != (size, crc):
            return ("{way}, {direction}: {packed_bytes} bytes with the CRC {crc:#010x}, not ".format(**moved)
                    + f"{size} with {crc:#010x}")
    if [(moved["way"], moved["direction"]) for moved in transfers] != [
            (way, direction) for way in asked for direction in ("offload", "prefetch")]:
        return "the firmware has not moved the tensor in every way"
    seen = {way: (int(differ), int(count)) for way, _, differ, count, _ in _COMPARED.findall(console["text"])}
    reads = {way: int(count) for way, *_, count in _COMPARED.findall(console["text"])}
    for way, interrupts in asked.items():
        if seen.get(way) != (0, interrupts):
            return f"{way}: words that differ and interrupts are {seen.get(way)}, not {(0, interrupts)}"
        if way == WRITE_BACK and reads[way]:
            return f"{way}: while it waited for records, the driver read registers {reads[way]} times"
    return None if console["text"].endswith("PASS\n") else "the firmware does not say that it passed"
