"""``cdma simulate``: dumps through the simulated Verilog, both directions, against the golden model."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.errors import CheckError, simulation_errors
from cdma.options import add_command, element_option, json_option, whole_number
from cdma.output import count, fixed, print_json, table
from cdma.progress import Progress

if TYPE_CHECKING:
    import numpy as np

    from verif.simulate import ArrayResult

_DESCRIPTION = """\
Generate the Verilog of compressor and decompressor, build it for the simulator, and send every array of the dumps
through both, one array a packet, back to back. Every byte of both directions is compared with the golden model; the
first byte that differs is named, and the exit code is 1.

Arrays are coded as they are, with elements of their own size (32 bits where values are longer). With --element
smaller than the values of a floating-point array, the array is first rounded to float16 or, for 8 bits, to OCP E4M3
float8; --narrow chooses another format, or none to code the raw bits in smaller elements. Integers and raw files are
never rounded."""

_EXAMPLES = """\
  cdma simulate                                           the dump that ships with the project
  cdma simulate dump.npz --array conv1 --array fc6
  cdma simulate dump.npz --element 16                     rounded to float16 first
  cdma simulate layer.npy --beat-bytes 64 --stalls 0.3    with pauses in three of ten cycles on every side
  cdma simulate raw.bin --element 8 --json | jq '.arrays[].ratio'
  cdma simulate layer.npy --waves                         leaves the waves in the build folder"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "simulate", "send dumps through the simulated Verilog, check every byte",
                         _DESCRIPTION, _EXAMPLES, run)
    parser.add_argument("dumps", nargs="*", metavar="DUMP", help=".npy, .npz, or raw elements (with --element); "
                        "default: the dump that ships with the project")
    parser.add_argument("--array", action="append", metavar="NAME", help="array of a .npz file; may be repeated "
                        "(default: all)")
    element_option(parser, "bits of an element (default: those of each array's values)")
    parser.add_argument("--narrow", choices=("float16", "bfloat16", "float8_e4m3", "none"),
                        help="format to round floating-point arrays to when --element is smaller than their values")
    parser.add_argument("--beat-bytes", type=int, choices=(16, 32, 64), default=32, help="bytes of a transfer "
                        "(default: 32)")
    parser.add_argument("--stalls", type=_probability, default=0.0, metavar="P",
                        help="how often each side pauses, 0 to 0.95 (default: 0)")
    parser.add_argument("--simulator", choices=("verilator", "icarus"), default="verilator",
                        help="default: verilator")
    parser.add_argument("--seed", type=whole_number, default=1, metavar="N", help="seed of the pauses (default: 1)")
    parser.add_argument("--waves", action="store_true", help="write the waves of all signals (FST)")
    parser.add_argument("--build-dir", default="build/sim", metavar="DIR",
                        help="folder for Verilog and simulator builds, which are used again (default: build/sim)")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Simulate and print a row per array."""
    from verif.simulate import simulate

    build_dir = Path(call.build_dir).resolve()
    waves = build_dir / "waves" if call.waves else None
    results: list[ArrayResult] = []
    element_bits: list[int] = []
    with Progress() as progress, simulation_errors():
        for element_bytes, arrays in _by_element(call).items():
            results += simulate(arrays, element_bytes, call.beat_bytes, stalls=call.stalls, simulator=call.simulator,
                                waves=waves, build_dir=build_dir, seed=call.seed, progress=progress)
            element_bits += [8 * element_bytes] * len(arrays)
    rows = [{"element_bits": bits} | asdict(result) for bits, result in zip(element_bits, results, strict=True)]
    failed = [result for result in results if not result.passed]
    raw, packed = sum(result.raw_bytes for result in results), sum(result.packed_bytes for result in results)
    if call.json:
        print_json({"simulator": call.simulator, "beat_bytes": call.beat_bytes, "stalls": call.stalls,
                    "seed": call.seed, "arrays": rows, "raw_bytes": raw, "packed_bytes": packed,
                    "ratio": raw / packed if packed else None, "passed": not failed})
    else:
        _print(rows)
        ratio = f"{raw / packed:.3f}" if packed else "none"
        print(f"\n{len(results)} arrays, {count(raw)} -> {count(packed)} bytes, ratio {ratio}; "
              f"every byte compared in both directions: {len(results) - len(failed)} passed, {len(failed)} failed")
        if waves is not None:
            print(f"waves: {waves}")
    if failed:
        raise CheckError(f"{failed[0].name}: {failed[0].difference}")
    return 0


def _probability(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 0.95:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 0.95, not {text!r}")
    return value


def _by_element(call: argparse.Namespace) -> dict[int, dict[str, np.ndarray]]:
    """The arrays to send, narrowed where asked, by element size in bytes."""
    from workload.data import shipped
    from workload.load import load, own_element_bytes

    paths = [Path(path) for path in call.dumps] or [shipped()]
    groups: dict[int, dict[str, np.ndarray]] = {}
    for path in paths:
        for name, array in load(path, call.array, element_bytes=call.element and call.element // 8).items():
            element_bytes = call.element // 8 if call.element else own_element_bytes(array)
            title = name if len(paths) == 1 else f"{path.stem}:{name}"
            if any(title in group for group in groups.values()):
                raise ValueError(f"two arrays would be called {title}: simulate {path} alone")
            groups.setdefault(element_bytes, {})[title] = _elements(title, array, element_bytes, call.narrow)
    return groups


def _elements(title: str, array: np.ndarray, element_bytes: int, form: str | None) -> np.ndarray:
    from workload.narrow import narrow

    if array.size == 0:
        raise ValueError(f"{title} is empty: there is nothing to simulate")
    if array.dtype.kind == "f" and array.dtype.itemsize > element_bytes and element_bytes < 4 and form != "none":
        return narrow(array, element_bytes, form)
    if form not in (None, "none"):
        raise ValueError(f"{title} holds {array.dtype}, which {8 * element_bytes}-bit elements do not narrow: leave "
                         f"--narrow out, or give --element")
    if array.nbytes % element_bytes:
        raise ValueError(f"{title} has {array.nbytes} bytes, no multiple of the {element_bytes} bytes of an element")
    return array


def _print(rows: list[dict[str, Any]]) -> None:
    head = ["array", "bits", "raw bytes", "density", "ratio", "comp in", "out", "decomp in", "out", "limit", "result"]
    print("beats per cycle of compressor and decompressor, and the limit of their raw sides:\n")
    print(table(head, [[
        row["name"], str(row["element_bits"]), count(row["raw_bytes"]), fixed(row["density"], 3),
        fixed(row["ratio"], 3), fixed(row["compress_in_beats_per_cycle"], 3),
        fixed(row["compress_out_beats_per_cycle"], 3), fixed(row["decompress_in_beats_per_cycle"], 3),
        fixed(row["decompress_out_beats_per_cycle"], 3), fixed(row["limit"], 3),
        "pass" if row["passed"] else f"FAIL: {row['difference']}"] for row in rows], left=(0, 10)))
