"""``cdma info``: the content of a block stream, header by header."""

from __future__ import annotations

import argparse
from typing import Any

from cdma.console.options import add_command, block_bytes, json_option, read_stream
from cdma.console.output import count, print_json
from cdma.report.tables import table

_DESCRIPTION = """\
Read a block stream from header to header and expand it, and print its content: each block with its place, coding,
sequence and ratio, then the whole stream. For a malformed stream the error names the place of the first fault, and
the exit code is 1."""

_EXAMPLES = """\
  cdma info layer.zvc
  cdma info layer.zvc --all                               every block, not only the first 20
  cdma info layer.zvc --json | jq .ratio"""

_FIRST = 20
_CODINGS = {0: "raw", 1: "ZVC 8", 2: "ZVC 16", 4: "ZVC 32"}


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "info", "print the content of a block stream", _DESCRIPTION, _EXAMPLES, run)
    parser.add_argument("file", metavar="FILE", help="block stream; - is standard input")
    parser.add_argument("--block-bytes", type=block_bytes, default=4096, metavar="N",
                        help="raw bytes of a block, as when compressed (default: 4096)")
    parser.add_argument("--all", action="store_true", help=f"list every block, not only the first {_FIRST}")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Print the facts."""
    from golden.codec import blocks, crc32c

    stream = read_stream(call.file)
    raw_bytes = blocks.decompress(stream, call.block_bytes).size
    rows: list[dict[str, Any]] = []
    for block in blocks.headers(stream):
        raw = min(call.block_bytes, raw_bytes - block.number * call.block_bytes)
        rows.append({"block": block.number, "offset": block.offset, "coding": _CODINGS[block.coding],
                     "sequence": block.sequence, "payload_bytes": block.payload_bytes, "raw_bytes": raw,
                     "ratio": raw / (4 + -(-block.payload_bytes // 4) * 4)})
    facts = {"file": call.file, "raw_bytes": raw_bytes, "packed_bytes": len(stream),
             "ratio": raw_bytes / len(stream) if stream else None, "block_bytes": call.block_bytes,
             "raw_blocks": sum(row["coding"] == "raw" for row in rows),
             "crc32c": f"{crc32c.crc32c(stream):08x}", "blocks": rows}
    if call.json:
        print_json(facts)
        return 0
    shown = rows if call.all else rows[:_FIRST]
    print(table(["block", "offset", "coding", "sequence", "payload bytes", "raw bytes", "ratio"],
                [[str(row["block"]), str(row["offset"]), row["coding"], str(row["sequence"]),
                  str(row["payload_bytes"]), str(row["raw_bytes"]), f"{row['ratio']:.3f}"] for row in shown],
                left=(2,)))
    if len(shown) < len(rows):
        print(f"... and {len(rows) - len(shown)} more (--all lists them)")
    ratio = f"ratio {facts['ratio']:.3f}" if stream else "empty"
    print(f"\n{call.file}: {count(len(rows))} blocks of {call.block_bytes} raw bytes, {count(facts['raw_blocks'])} of "
          f"them raw; {count(raw_bytes)} -> {count(len(stream))} bytes, {ratio}, CRC-32C {facts['crc32c']}")
    return 0
