"""``cdma compress``: the golden model on a file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from cdma.console.files import check_folder_of, check_no_input
from cdma.console.options import (
    CODINGS,
    DEFAULT_BLOCK_BYTES,
    add_command,
    block_size,
    dtype_option,
    element_option,
    json_option,
    one_array,
    refuse,
    stream_option,
    write_bytes,
)
from cdma.console.output import show

_DESCRIPTION = """\
Compress one array with the golden model, bit for bit as the hardware does, and write it as a block stream (or, with
--lines, as a line stream) behind a head that says its lengths, the type of the values and the CRC, so that a cut is
seen; --stream leaves the head out. Every coding is lossless: nothing is rounded. Of the codings that engines
build, the one is taken that makes the array smallest, by its values and not by their type: float32 that holds bfloat16
values is coded as bfloat16. --coding names another one, --element those of one size."""

_EXAMPLES = """\
  cdma compress layer.npy layer.zvc
  cdma compress dump.npz layer.zvc --array conv1
  cdma compress weights.bin weights.zvc --element 16      any file, as raw elements
  cdma compress layer.npy layer.zvc --coding zvc32        for an engine without exponents
  cdma compress layer.npy layer.lines --lines --stream    the output of the compressor core, and nothing else
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
    parser.add_argument("--coding", choices=("auto", *CODINGS), default="auto", metavar="NAME",
                        help=f"coding of the blocks: auto, {', '.join(CODINGS)} (default: auto, the smallest)")
    parser.add_argument("--lines", action="store_true", help="write the line stream: no blocks, no headers")
    stream_option(parser, "write the bare stream, as the hardware does, without the head of a file")
    parser.add_argument("--block-bytes", type=block_size, metavar="N",
                        help="raw bytes of a block, a multiple of 128 from 512 to 32768 (default: 4096)")
    parser.add_argument("--no-fallback", action="store_true", help="code blocks even if that makes them longer")
    json_option(parser)


def run(call: argparse.Namespace) -> int:
    """Compress, write, and print sizes; if the stream goes to standard output, nothing else is printed there."""
    import numpy as np

    from cdma.golden.codec.files import head_of
    from cdma.measure.streams import compress_blocks, compress_lines
    from cdma.workload.dumps import own_element_bytes, type_name

    if call.lines:
        refuse(call, "a line stream (--lines) has no blocks", "--coding", "--block-bytes", "--no-fallback")
    if call.output != "-":
        check_folder_of(call.output)
        check_no_input(call.output, call.input)
    array = one_array(call.input, call.array, call.element, call.dtype)
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    element_bytes = call.element // 8 if call.element else own_element_bytes(array)
    if call.lines:
        stream, found = compress_lines(raw, element_bytes, call.input, call.output)
        form = {"element_bytes": element_bytes}
    else:
        coding = _coding(call, array, element_bytes)
        block_bytes = call.block_bytes or DEFAULT_BLOCK_BYTES
        stream, found = compress_blocks(raw, coding, call.input, call.output, block_bytes=block_bytes,
                                        fallback=not call.no_fallback)
        form = {"block_bytes": block_bytes}
    head = b"" if call.stream else head_of(stream, raw.size, type_name(array.dtype), **form).pack()
    write_bytes(call.output, head + stream.tobytes())
    if call.output == "-":
        return 0
    show(call, found, _text)
    return 0


def _text(found: Mapping[str, Any]) -> str:
    ratio = "empty" if found["ratio"] is None else f"ratio {found['ratio']:.3f}"
    text = (f"{found['output']}: {found['raw_bytes']:,} -> {found['packed_bytes']:,} bytes, {ratio}, elements of "
            f"{found['element_bits']} bits")
    if "blocks" in found:
        text += (f"\n{found['blocks']:,} blocks of {found['block_bytes']} raw bytes, coding {found['coding']}, "
                 f"{found['raw_blocks']:,} of them raw, CRC-32C {found['crc32c']}")
    return text


def _coding(call: argparse.Namespace, array: Any, element_bytes: int) -> Any:
    """The coding that was asked for, or the one that makes the array smallest."""
    from cdma.golden.codec.coding import Coding
    from cdma.golden.codec.smallest import of_elements, smallest

    if call.coding == "auto":
        return smallest(array, of_elements(element_bytes if call.element else None),
                        call.block_bytes or DEFAULT_BLOCK_BYTES)
    coding = Coding[call.coding.upper()]
    if call.element and coding.element_bytes != element_bytes:
        raise ValueError(f"--coding {call.coding} has elements of {8 * coding.element_bytes} bits, not {call.element}: "
                         "leave --element out")
    if array.nbytes % coding.element_bytes:
        raise ValueError(f"{call.input} has {array.nbytes} bytes, not a multiple of the {coding.element_bytes} of an "
                         f"element of --coding {call.coding}: choose a coding of smaller elements")
    return coding
