"""``cdma simulate``: dumps through the simulated cores or engine, both directions, against the golden model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from cdma.console.errors import CheckError
from cdma.console.options import (
    add_command,
    dtype_option,
    element_option,
    engine,
    engine_option,
    json_option,
    one_of,
    whole_number,
)
from cdma.console.output import print_json
from cdma.console.progress import Progress
from cdma.hdl.config.settings import BEAT_BYTES, BLOCK_BYTES
from cdma.report.simulation_text import simulation_text

_CODINGS = ("zvc8", "zvc16", "zvc32", "bfloat16", "float32")
"""Codings that block cores and engines can be simulated with."""

_DESCRIPTION = """\
Generate the Verilog of compressor and decompressor, build it for the simulator, and send every array of the dumps
through both, one array a packet, back to back. Every byte of both directions is compared with the golden model; the
first difference is printed, and the exit code is 1.

With --blocks, through the block cores instead, as block streams whose blocks have the tags first: every payload and
every expanded byte is compared, and ratios count headers and padding. Blocks that stay raw need no decompressor and
are routed around it.

With --engine, a whole engine between simulated memories instead: all arrays are offloaded in order, as in a training
step's forward pass, then prefetched in reverse; the effective bandwidth is printed beside that of a plain DMA engine
of the same width. Completions, counters and both memories are compared with the golden model. With --plan, arrays
are moved as cdma plan chose, over the plan's link, and predicted cycles are printed beside simulated ones; without
--engine, on the plan's engine.

Block cores and engines code each array with the coding that makes it smallest, of those that the engine builds. Its
values decide, not their type; --coding names another coding for all.

Arrays are coded without rounding, with elements of their own size (32 bits where values are longer). With --element
smaller than the values of a floating-point array, the array is first rounded to float16 or, for 8 bits, to OCP E4M3
float8 (with --coding bfloat16, to bfloat16); --narrow chooses another format, or none to code the raw bits in smaller
elements. Integers and raw files are never rounded."""

_EXAMPLES = """\
  cdma simulate                                           the dump that ships with the project
  cdma simulate dump.npz --array conv1 --array fc6
  cdma simulate dump.npz --element 16                     rounded to float16 first
  cdma simulate layer.npy --beat-bytes 64 --stalls 0.3    with pauses in three of ten cycles on every side
  cdma simulate raw.bin --element 8 --json | jq '.arrays[].ratio'
  cdma simulate layer.npy --waves                         writes waves to the build folder
  cdma simulate --blocks                                  through the block cores
  cdma simulate --blocks net.safetensors                  bfloat16 and float32 values with exponents
  cdma simulate --coding zvc16 dump.npz --block-bytes 2048   with a coding and a block size of your own
  cdma simulate --engine engine                          the shipped dump through the DMA engine and back
  cdma simulate --engine engine --coding zvc32           without exponents
  cdma simulate --engine paper dump.npz --latency 350 --stalls 0.1
  cdma simulate --plan plan.json dump.npz                 as cdma plan dump.npz -o plan.json chose"""


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
    parser.add_argument("--blocks", action="store_true", help="simulate the block cores")
    parser.add_argument("--coding", choices=("auto", *_CODINGS), metavar="NAME", help="coding of all arrays, for an "
                        f"engine or else the block cores: auto, {', '.join(_CODINGS)} (default: auto)")
    parser.add_argument("--block-bytes", type=one_of(*BLOCK_BYTES), metavar="N", help="block cores: raw bytes of a "
                        "block, a power of two from 512 to 32768 (default: 4096)")
    engine_option(parser, "simulate an engine: preset (engine, paper, smallest, tiny, wide) or TOML file")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings",
                        help="change a parameter of the engine; may be repeated")
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
    parser.add_argument("--build-dir", default="build/sim", metavar="DIR",
                        help="folder for Verilog and simulator builds, which are reused (default: build/sim)")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Simulate and print a row per array."""
    _check(call)
    waves = Path(call.build_dir).resolve() / "waves" if call.waves else None
    with Progress() as progress:
        outcome = _outcome(call, waves, progress)
    if call.json:
        print_json(outcome)
    else:
        print(simulation_text(outcome))
        if waves is not None:
            print(f"waves: {waves}")
    for row in outcome["arrays"]:
        if not row["passed"]:
            raise CheckError(f"{row['name']}: {row['difference']}")
    return 0


def _outcome(call: argparse.Namespace, waves: Path | None, progress: Progress) -> dict[str, Any]:
    """What becomes of the arrays, as JSON has it."""
    from cdma.measure.arrays import arrays_by_element, arrays_with_codings, named_arrays
    from cdma.measure.simulation import planned, simulated, simulated_blocks, simulated_engine

    config = engine(call.engine, call.settings) if call.engine else None
    paths = [Path(path) for path in call.dumps]
    how: dict[str, Any] = {"stalls": call.stalls, "seed": call.seed, "waves": waves, "progress": progress,
                           "build_dir": Path(call.build_dir).resolve()}
    if call.plan:
        arrays = named_arrays(paths, call.array, call.element, call.dtype)
        return planned(call.plan, config, arrays, latency=call.latency, **how)
    if _of_blocks(call):
        sent = arrays_with_codings(paths, call.array, call.element, call.narrow, call.dtype, call.coding or "auto")
        return simulated_blocks(sent, beat_bytes=call.beat_bytes or 32, block_bytes=call.block_bytes or 4096,
                                simulator=call.simulator, **how)
    if config is not None:
        sent = arrays_with_codings(paths, call.array, call.element, call.narrow, call.dtype, call.coding or "auto",
                                   config.numbers)
        return simulated_engine(config, sent, latency=call.latency or 0, **how)
    return simulated(arrays_by_element(paths, call.array, call.element, call.narrow, call.dtype),
                     beat_bytes=call.beat_bytes or 32, simulator=call.simulator, **how)


def _of_blocks(call: argparse.Namespace) -> bool:
    """Whether the call simulates block cores."""
    coded = call.coding is not None and call.engine is None and call.plan is None
    return call.blocks or coded or call.block_bytes is not None


def _check(call: argparse.Namespace) -> None:
    """Check that the options fit an engine, or cores, and that no preset is given for a dump."""
    _check_dumps(call.dumps)
    simulates_engine = call.engine is not None or call.plan is not None
    if simulates_engine and _of_blocks(call):
        own = "" if call.blocks else ", or give an engine --set block_bytes=N"
        raise ValueError(f"{'--blocks' if call.blocks else '--block-bytes'} is for block cores alone: leave it out, or "
                         f"leave out --engine and --plan{own}")
    given = {"--beat-bytes": call.beat_bytes is not None, "--simulator icarus": call.simulator == "icarus"} \
        if simulates_engine else {"--set": call.settings, "--latency": call.latency is not None}
    for option, there in given.items():
        if there:
            what = "cores alone: leave it out" if simulates_engine else (
                "engines: leave it out, or give --engine instead of block cores" if _of_blocks(call) else
                "engines: give --engine")
            own = ", or give an engine --set beat_bytes=N" if option == "--beat-bytes" else ""
            raise ValueError(f"{option} is for {what}{own}")
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
            how = {"engine": "--engine names an engine", "core": "without options it simulates the cores",
                   "block_core": "--blocks simulates the block cores"}[of[dump]]
            raise ValueError(f"{dump} is a preset, and simulate takes dumps: {how}")


def _probability(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 0.95:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 0.95, not {text!r}")
    return value
