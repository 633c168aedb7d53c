"""``cdma info``: the content of a block stream, header by header."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from cdma.console.errors import block_size_hint
from cdma.console.options import DEFAULT_BLOCK_BYTES, add_command, block_size, json_option, read_stream, stream_option
from cdma.console.output import show
from cdma.report.table import Column, Table

_DESCRIPTION = """\
Read a file of 'cdma compress', or a bare block stream, from header to header and expand it, and print its content: each
block with its place in the stream, coding, sequence and ratio, then the whole stream, and what the head says. Of blocks
with exponents it also prints how many lines are all zero, have no zero, store signs, have an escape and a base of their
own, and the average bits of a distance. For a malformed stream the error names the place of the first fault, and the
exit code is 1."""

_EXAMPLES = """\
  cdma info layer.zvc
  cdma info layer.zvc --all                               every block, not only the first 20
  cdma info offloaded.bin --stream --block-bytes 2048     what the hardware wrote
  cdma info layer.zvc --json | jq .ratio"""

_FIRST = 20

_BLOCKS = [Column("block", "block"), Column("offset", "offset"), Column("coding", "coding", left=True),
           Column("sequence", "sequence"), Column("payload bytes", "payload_bytes"), Column("raw bytes", "raw_bytes"),
           Column("ratio", "ratio", ".3f"),
           *(Column(name, f"exponents.{name}", optional=True) for name in (
               "lines", "zero", "dense", "signs", "escapes", "bases")),
           Column("width", "exponents.width", ".1f", optional=True)]


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "info", "print the content of a compressed file", _DESCRIPTION, _EXAMPLES, run)
    parser.add_argument("file", metavar="FILE", help="file of cdma compress, or a bare block stream; - is standard "
                        "input")
    stream_option(parser, "the file is a bare block stream, without a head")
    parser.add_argument("--block-bytes", type=block_size, metavar="N",
                        help="raw bytes of a block of a bare stream, as when compressed (default: 4096)")
    parser.add_argument("--all", action="store_true", help=f"list every block, not only the first {_FIRST}")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Print the content."""
    from cdma.measure.streams import file_content, stream_content

    content = read_stream(call, call.file, "--block-bytes")
    if call.stream:
        block_bytes = call.block_bytes or DEFAULT_BLOCK_BYTES
        with block_size_hint(block_bytes, given=call.block_bytes is not None):
            found = stream_content(call.file, content, block_bytes)
    else:
        found = file_content(call.file, content)
    show(call, found, lambda found: _text(found, call.all))
    return 0


def _text(found: Mapping[str, Any], every: bool) -> str:
    ratio = "empty" if found["ratio"] is None else f"ratio {found['ratio']:.3f}"
    sizes = f"{found['raw_bytes']:,} -> {found['packed_bytes']:,} bytes, {ratio}, CRC-32C {found['crc32c']}"
    if found["dtype"] is not None:
        sizes += f"\nhead: values of {found['dtype'] or 'no known type'}; lengths and CRC are right"
    if found["element_bits"] is not None:
        return f"{found['file']}: line stream, elements of {found['element_bits']} bits; {sizes}"
    rows = found["blocks"]
    shown = rows if every else rows[:_FIRST]
    more = f"\n... and {len(rows) - len(shown)} more (--all lists them)" if len(shown) < len(rows) else ""
    return (f"{Table(_BLOCKS, shown).text()}{more}\n\n{found['file']}: {len(rows):,} blocks of "
            f"{found['block_bytes']} raw bytes, {found['raw_blocks']:,} of them raw; {sizes}")
