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

    from golden.codec import blocks, crc32c
    from golden.codec import lines as zvc
    from workload.dumps import own_element_bytes

    array = one_array(call.input, call.array, call.element, call.dtype)
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    element_bytes = call.element // 8 if call.element else own_element_bytes(array)
    facts: dict[str, Any] = {"input": call.input, "output": call.output, "raw_bytes": raw.size,
                             "element_bits": 8 * element_bytes}
    if call.lines:
        stream = zvc.compress(raw, element_bytes)
    else:
        stream = blocks.compress(raw, element_bytes, call.block_bytes, fallback=not call.no_fallback)
        headers = list(blocks.headers(stream))
        facts |= {"block_bytes": call.block_bytes, "blocks": len(headers),
                  "raw_blocks": sum(block.coding == 0 for block in headers),
                  "crc32c": f"{crc32c.crc32c(stream):08x}"}
    facts |= {"packed_bytes": stream.size, "ratio": raw.size / stream.size if stream.size else None}
    write_bytes(call.output, stream.tobytes(), call.input)
    if call.output == "-":
        return 0
    if call.json:
        print_json(facts)
        return 0
    ratio = f"ratio {facts['ratio']:.3f}" if stream.size else "empty"
    sizes = f"{count(raw.size)} -> {count(stream.size)} bytes"
    print(f"{call.output}: {sizes}, {ratio}, elements of {8 * element_bytes} bits")
    if not call.lines:
        print(f"{count(facts['blocks'])} blocks of {call.block_bytes} raw bytes, "
              f"{count(facts['raw_blocks'])} of them raw, CRC-32C {facts['crc32c']}")
    return 0
