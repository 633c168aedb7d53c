"""``cdma info``: the content of a block stream, header by header."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from cdma.console.errors import block_size_hint
from cdma.console.options import DEFAULT_BLOCK_BYTES, add_command, block_size, json_option, read_stream, stream_option
from cdma.console.output import count, print_json
from cdma.report.table import Table

if TYPE_CHECKING:
    from cdma.measure.streams import BlockFacts

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
    """Print the facts."""
    from cdma.measure.streams import file_facts, stream_facts

    content = read_stream(call, call.file, "--block-bytes")
    if call.stream:
        block_bytes = call.block_bytes or DEFAULT_BLOCK_BYTES
        with block_size_hint(block_bytes, given=call.block_bytes is not None):
            facts = stream_facts(call.file, content, block_bytes)
    else:
        facts = file_facts(call.file, content)
    if call.json:
        print_json(facts)
        return 0
    shown = facts.blocks if call.all else facts.blocks[:_FIRST]
    head = ["block", "offset", "coding", "sequence", "payload bytes", "raw bytes", "ratio"]
    rows = [[str(row.block), str(row.offset), row.coding, str(row.sequence), str(row.payload_bytes),
             str(row.raw_bytes), f"{row.ratio:.3f}"] for row in shown]
    if any(row.exponents for row in shown):
        head += ["lines", "zero", "dense", "signs", "escapes", "bases", "width"]
        for cells, row in zip(rows, shown, strict=True):
            cells += _line_facts(row)
    ratio = "empty" if facts.ratio is None else f"ratio {facts.ratio:.3f}"
    sizes = f"{count(facts.raw_bytes)} -> {count(facts.packed_bytes)} bytes, {ratio}, CRC-32C {facts.crc32c}"
    if facts.dtype is not None:
        sizes += f"\nhead: values of {facts.dtype or 'no known type'}; lengths and CRC are right"
    if facts.element_bits is not None:
        print(f"{call.file}: line stream, elements of {facts.element_bits} bits; {sizes}")
        return 0
    print(Table(head, rows, left=(2,)).text())
    if len(shown) < len(facts.blocks):
        print(f"... and {len(facts.blocks) - len(shown)} more (--all lists them)")
    print(f"\n{call.file}: {count(len(facts.blocks))} blocks of {facts.block_bytes} raw bytes, "
          f"{count(facts.raw_blocks)} of them raw; {sizes}")
    return 0


def _line_facts(row: BlockFacts) -> list[str]:
    """What the lines of a block have; empty where it has no exponents."""
    facts = row.exponents
    if facts is None:
        return [""] * 7
    return [str(facts.lines), str(facts.zero), str(facts.dense), str(facts.signs), str(facts.escapes), str(facts.bases),
            "" if facts.width is None else f"{facts.width:.1f}"]
