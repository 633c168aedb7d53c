"""``cdma gpu bench``: the codec on a GPU beside copies and other codecs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from cdma.console.errors import CheckError
from cdma.console.numbers import byte_size, one_or_more
from cdma.console.options import add_command, json_option
from cdma.console.output import print_json
from cdma.report.table import Column, Table

_DESCRIPTION = """\
Measure the block streams of cdma.gpu on a GPU: the shipped values of bfloat16, tiled, are compressed and decompressed,
every byte compared with the golden model, and timed by the events of the device, with all launches, the median of 20
runs. Beside them are values of several densities, the copies over the link, and the codecs of nvCOMP where it is
installed. --device cpu rehearses all that without a GPU, with the golden model in the place of the kernels.

PyTorch and Triton come with the extra: pip install 'cdma-rtl[gpu]'. docs/gpu.md has the kernels, and what was measured;
cdma train --gpu measures training steps."""

_EXAMPLES = """\
  cdma gpu bench
  cdma gpu bench --json > gpu.json                        with card, driver, versions and date
  cdma gpu bench --device cpu --bytes 1M --runs 2         a rehearsal, whose speeds mean nothing"""

_STEPS = {
    "bytes": [Column("backend", "backend"), Column("coding", "coding"), Column("raw bytes", "raw_bytes", ","),
              Column("packed", "packed_bytes", ","), Column("ratio", "ratio", ".3f"),
              Column("stream", lambda row: "equal" if row["stream_equal"] else "differs"),
              Column("back", lambda row: "equal" if row["back_equal"] else "differs")],
    "speeds": [Column("values", "values"), Column("backend", "backend"), Column("coding", "coding"),
               Column("chosen", lambda row: "by content" if row.get("chosen") else ""), Column("ratio", "ratio", ".3f"),
               Column("encode GB/s", "encode_gbps", ".1f"), Column("decode GB/s", "decode_gbps", ".1f")],
    "copies": [Column("copy", "copy"), Column("GB/s", "gbps", ".1f")],
}
"""What is measured, and how it is printed."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "gpu", "the codec on a GPU: bytes, speed, copies", _DESCRIPTION, _EXAMPLES, run)
    parser.add_argument("what", choices=["bench"], metavar="bench", help="what to do: bench measures")
    parser.add_argument("--device", default="cuda", metavar="NAME", help="GPU as PyTorch names it, or cpu (default: "
                        "cuda)")
    parser.add_argument("--bytes", type=byte_size, default=1 << 30, metavar="SIZE", help="raw bytes, whole blocks of "
                        "4K (default: 1G)")
    parser.add_argument("--runs", type=one_or_more, default=20, metavar="N", help="runs, of which the median counts "
                        "(default: 20)")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Measure and print."""
    from cdma.gpu.bench import Setup, checked_device, measure

    device = checked_device(call.device)
    backends = ("golden",) if device == "cpu" else ("cuda", "triton")
    if call.bytes % 4096:
        raise ValueError(f"--bytes must be whole blocks of 4096 bytes, not {call.bytes}")
    found = measure(Setup(device, call.bytes, backends, call.runs), 3600, only=tuple(_STEPS))
    print_json(found) if call.json else print(bench_text(found))
    if not all(row.get("stream_equal", True) and row.get("back_equal", True) for row in found["bytes"]):
        raise CheckError(f"streams of {found['card']} differ from the golden model's")
    return 0


def bench_text(found: Mapping[str, Any]) -> str:
    """The card, and a table for each step; what was not run says why."""
    parts = ["{card} ({device}), driver {}, PyTorch {torch}, Triton {}, {date}".format(
        found["driver"] or "unknown", found["triton"] or "not installed",
        **{name: found[name] for name in ("card", "device", "torch", "date")})]
    for step, columns in _STEPS.items():
        rows = [row for row in found[step] if "not_run" not in row]
        parts += [Table(columns, rows).text()] if rows else []
        parts += [f"{step}: not run: {row['not_run']}" for row in found[step] if "not_run" in row]
    return "\n\n".join(parts)
