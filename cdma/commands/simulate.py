"""``cdma simulate``: dumps through the simulated cores or engine, both directions, against the golden model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from cdma.console.errors import CheckError
from cdma.console.numbers import number
from cdma.console.options import (
    CODINGS,
    DEFAULT_PRESET,
    add_command,
    build_option,
    dtype_option,
    element_option,
    engine,
    engine_option,
    json_option,
    one_of,
    refuse,
    whole_number,
)
from cdma.console.output import show
from cdma.console.progress import Progress
from cdma.hdl.config.settings import BEAT_BYTES, BLOCK_BYTES
from cdma.report.simulation_text import simulation_text

_DESCRIPTION = """\
Generate the Verilog of an engine, build it for the simulator, and move every array of the dumps between simulated
memories: all are offloaded in order, as in a training step's forward pass, then prefetched in reverse. The effective
bandwidth is printed beside that of a plain DMA engine of the same width. Every byte of both memories, completions and
counters are compared with the golden model; the first difference is printed, and the exit code is 1. With --plan,
arrays are moved as cdma plan chose, over the plan's link, and predicted cycles are printed beside simulated ones;
without --engine, on the plan's engine.

With --blocks, through the block cores alone instead, as block streams whose blocks have the tags first: every payload
and every expanded byte is compared, and ratios count headers and padding. Blocks that stay raw need no decompressor
and are routed around it. With --lines, through compressor and decompressor of line streams, one array a packet, back
to back.

Block cores and engines code each array with the coding that makes it smallest, of those that the engine builds. Its
values decide, not their type; --coding names another coding for all.

Arrays are coded without rounding, with elements of their own size (32 bits where values are longer). With --element
smaller than the values of a floating-point array, the array is first rounded to float16 or, for 8 bits, to OCP E4M3
float8 (with --coding bfloat16, to bfloat16); --narrow chooses another format, or none to code the raw bits in smaller
elements. Integers and raw files are never rounded."""

_EXAMPLES = """\
  cdma simulate                                           the shipped dump through the engine and back
  cdma simulate dump.npz --array conv1 --array fc6
  cdma simulate dump.npz --engine tiny --element 16       rounded to float16 first, through a small engine
  cdma simulate dump.npz --engine paper --latency 350 --stalls 0.1
  cdma simulate net.safetensors --coding zvc16            without exponents
  cdma simulate raw.bin --element 8 --json | jq '.arrays[].ratio'
  cdma simulate layer.npy --waves                         writes waves to the build folder
  cdma simulate --plan plan.json dump.npz                 as cdma plan dump.npz -o plan.json chose
  cdma simulate --blocks net.safetensors                  through the block cores alone
  cdma simulate --blocks dump.npz --coding zvc16 --block-bytes 2048
  cdma simulate --lines layer.npy --beat-bytes 64 --stalls 0.3   through the cores of line streams"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "simulate", "send dumps through the simulated Verilog, check every byte",
                         _DESCRIPTION, _EXAMPLES, run)
    parser.add_argument("dumps", nargs="*", metavar="DUMP", help=".npy, .npz, .safetensors, .pt, a folder that "
                        "cdma capture wrote, or raw elements (with --element or --dtype); "
                        "default: the dump that ships with the project")
    parser.add_argument("--array", action="append", metavar="NAME", help="array to take; may be repeated "
                        "(default: all)")
    element_option(parser, "bits of an element (default: those of each array's values)")
    dtype_option(parser)
    parser.add_argument("--narrow", choices=("float16", "bfloat16", "float8_e4m3", "none"),
                        help="format to round floating-point arrays to when --element is smaller than their values")
    cores = parser.add_mutually_exclusive_group()
    cores.add_argument("--blocks", action="store_true", help="simulate the block cores instead of an engine")
    cores.add_argument("--lines", action="store_true", help="simulate the cores of line streams instead of an engine")
    parser.add_argument("--coding", choices=("auto", *CODINGS), metavar="NAME", help="coding of all arrays, for an "
                        f"engine or the block cores: auto, {', '.join(CODINGS)} (default: auto)")
    parser.add_argument("--block-bytes", type=one_of(*BLOCK_BYTES), metavar="N", help="block cores: raw bytes of a "
                        "block, a power of two from 512 to 32768 (default: 4096)")
    engine_option(parser)
    parser.add_argument("--plan", metavar="PLAN.json", help="move arrays as a plan of cdma plan says, and print "
                        "predicted beside measured cycles")
    parser.add_argument("--latency", type=whole_number, metavar="CYCLES", help="cycles until the engine's memories "
                        "answer (default: 0, or the plan's)")
    parser.add_argument("--beat-bytes", type=one_of(*BEAT_BYTES), metavar="16|32|64", help="bytes of a transfer of "
                        "the cores (default: 32)")
    parser.add_argument("--stalls", type=_probability, default=0.0, metavar="P",
                        help="how often each side pauses, 0 to 0.95 (default: 0)")
    parser.add_argument("--simulator", choices=("verilator", "icarus"), default="verilator",
                        help="default: verilator; engines run only in verilator")
    parser.add_argument("--seed", type=whole_number, default=1, metavar="N", help="seed of the pauses (default: 1)")
    parser.add_argument("--waves", action="store_true", help="write the waves of all signals (FST)")
    build_option(parser)
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Simulate and print a row per array."""
    _check(call)
    waves = Path(call.build_dir).resolve() / "waves" if call.waves else None
    with Progress() as progress:
        outcome = _outcome(call, waves, progress)
    show(call, outcome, simulation_text)
    if waves is not None and not call.json:
        print(f"waves: {waves}")
    for row in outcome["arrays"]:
        if not row["passed"]:
            raise CheckError(f"{row['name']}: {row['difference']}")
    return 0


def _outcome(call: argparse.Namespace, waves: Path | None, progress: Progress) -> dict[str, Any]:
    """What becomes of the arrays, as JSON has it."""
    from cdma.measure.arrays import arrays_by_element, arrays_with_codings, named_arrays
    from cdma.measure.simulation import planned, simulated, simulated_blocks, simulated_engine

    paths = [Path(path) for path in call.dumps]
    how: dict[str, Any] = {"stalls": call.stalls, "seed": call.seed, "waves": waves, "progress": progress,
                           "build_dir": Path(call.build_dir).resolve()}
    if call.plan:
        arrays = named_arrays(paths, call.array, call.element, call.dtype)
        config = engine(call.engine, call.settings) if call.engine else None
        return planned(call.plan, config, arrays, latency=call.latency, **how)
    if call.blocks:
        sent = arrays_with_codings(paths, call.array, call.element, call.narrow, call.dtype, call.coding or "auto")
        return simulated_blocks(sent, beat_bytes=call.beat_bytes or 32, block_bytes=call.block_bytes or 4096,
                                simulator=call.simulator, **how)
    if call.lines:
        return simulated(arrays_by_element(paths, call.array, call.element, call.narrow, call.dtype),
                         beat_bytes=call.beat_bytes or 32, simulator=call.simulator, **how)
    config = engine(call.engine or DEFAULT_PRESET, call.settings)
    sent = arrays_with_codings(paths, call.array, call.element, call.narrow, call.dtype, call.coding or "auto",
                               config.numbers)
    return simulated_engine(config, sent, latency=call.latency or 0, **how)


def _check(call: argparse.Namespace) -> None:
    """Check that the options fit an engine, or cores, and that no preset is given for a dump."""
    _check_dumps(call.dumps)
    if call.blocks or call.lines:
        cores = "--blocks" if call.blocks else "--lines"
        refuse(call, f"{cores} simulates cores alone", "--engine", "--set", "--plan", "--latency")
        if call.lines:
            refuse(call, "line streams have neither codings nor blocks", "--coding", "--block-bytes")
    else:
        own = " (an engine has its own: --set block_bytes=N, --set beat_bytes=N)"
        refuse(call, f"cores alone have this option{own}", "--block-bytes", "--beat-bytes")
        refuse(call, "engines run only in verilator", "--simulator")
    if call.plan:
        if call.narrow is not None:
            raise ValueError("--narrow is not for plans: the plan says what is rounded; leave --narrow out")
        if call.coding is not None:
            raise ValueError("--coding is not for plans: the plan names the coding of each array; leave --coding out")
        if call.settings and call.engine is None:
            raise ValueError("--set is for --engine: a plan already has an engine")


def _check_dumps(dumps: list[str]) -> None:
    from cdma.hdl.config.catalog import kinds

    of = {name: kind for kind, (_, presets) in kinds().items() for name in presets}
    for dump in dumps:
        if dump in of and not Path(dump).exists():
            how = {"engine": "--engine names an engine", "core": "--lines simulates the cores of line streams",
                   "block_core": "--blocks simulates the block cores"}[of[dump]]
            raise ValueError(f"{dump} is a preset, and simulate takes dumps: {how}")


def _probability(text: str) -> float:
    return number(text, "a number from 0 to 0.95", lambda value: 0 <= value <= 0.95)
