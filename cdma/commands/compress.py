"""``cdma compress``: the golden model on a file."""

from __future__ import annotations

import argparse
from typing import Any

from cdma.console.options import (
    add_command,
    block_bytes,
    dtype_option,
    element_option,
    json_option,
    one_array,
    write_bytes,
)
from cdma.console.output import count, print_json

_DESCRIPTION = """\
Compress one array with the golden model, bit for bit as the hardware does, and write it as a block stream (or, with
--lines, as the bare line stream). The coding is lossless: nothing is rounded."""

_EXAMPLES = """\
  cdma compress layer.npy layer.zvc
  cdma compress dump.npz layer.zvc --array conv1
  cdma compress weights.bin weights.zvc --element 16      any file, as raw elements
  cdma compress layer.npy layer.lines --lines             the output of the compressor core
  cat raw | cdma compress - - --element 32 > packed"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "compress", "compress a file with the golden model", _DESCRIPTION, _EXAMPLES, run)
    parser.add_argument("input", metavar="IN", help=".npy, .npz, .safetensors, .pt, a folder that cdma capture wrote, "
                        "or raw elements; - is standard input")
    parser.add_argument("output", metavar="OUT", help="file to write; - is standard output")
    parser.add_argument("--array", metavar="NAME", help="array of a file that has several")
    element_option(parser, "bits of an element (default: those of the array's values, 32 at most)")
    dtype_option(parser)
    parser.add_argument("--lines", action="store_true", help="write the line stream: no blocks, no headers")
    parser.add_argument("--block-bytes", type=block_bytes, default=4096, metavar="N",
                        help="raw bytes of a block, 512 to 32768 (default: 4096)")
    parser.add_argument("--no-fallback", action="store_true", help="code blocks even if that makes them longer")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Compress, write, and print sizes; if the stream goes to standard output, nothing else is printed there."""
    import numpy as np

    from cdma.measure.streams import CompressedBlocks, compress_blocks, compress_lines
    from workload.dumps import own_element_bytes

    array = one_array(call.input, call.array, call.element, call.dtype)
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    element_bytes = call.element // 8 if call.element else own_element_bytes(array)
    if call.lines:
        stream, facts = compress_lines(raw, element_bytes, call.input, call.output)
    else:
        stream, facts = compress_blocks(raw, element_bytes, call.input, call.output, block_bytes=call.block_bytes,
                                        fallback=not call.no_fallback)
    write_bytes(call.output, stream.tobytes(), call.input)
    if call.output == "-":
        return 0
    if call.json:
        print_json(facts)
        return 0
    ratio = "empty" if facts.ratio is None else f"ratio {facts.ratio:.3f}"
    print(f"{call.output}: {count(facts.raw_bytes)} -> {count(facts.packed_bytes)} bytes, {ratio}, elements of "
          f"{facts.element_bits} bits")
    if isinstance(facts, CompressedBlocks):
        print(f"{count(facts.blocks)} blocks of {facts.block_bytes} raw bytes, {count(facts.raw_blocks)} of them raw, "
              f"CRC-32C {facts.crc32c}")
    return 0
