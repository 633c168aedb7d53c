"""``cdma decompress``: expands a stream to a file with the golden model."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.console.errors import CheckError, block_size_hint
from cdma.console.files import check_folder_of, check_no_input
from cdma.console.options import (
    DEFAULT_BLOCK_BYTES,
    add_command,
    block_size,
    element_option,
    read_stream,
    refuse,
    stream_option,
    whole_number,
    write_bytes,
)
from cdma.console.output import count

if TYPE_CHECKING:
    from cdma.golden.codec.files import Head

_DESCRIPTION = """\
Expand a file of 'cdma compress'; its head says what is in it, and a cut is seen. With --stream, expand a bare block
stream (or, with --lines, a bare line stream), as the hardware writes it; there only --raw-bytes shows a cut between
blocks. The output is an array if its name ends with .npy, raw bytes otherwise. For a malformed stream the error names
the place of the first fault, the exit code is 1, and nothing is written."""

_EXAMPLES = """\
  cdma decompress layer.zvc layer.npy --shape 1,96,32,32
  cdma decompress layer.zvc layer.raw
  cdma decompress offloaded.bin layer.raw --stream --raw-bytes 393216 --crc 1a2b3c4d
  cdma decompress core.bin layer.raw --stream --lines --element 32"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "decompress", "expand a stream with the golden model", _DESCRIPTION, _EXAMPLES, run)
    parser.add_argument("input", metavar="IN", help="file of cdma compress, or a bare stream; - is standard input")
    parser.add_argument("output", metavar="OUT", help=".npy for an array, any other name for raw bytes; - is "
                        "standard output")
    stream_option(parser, "the input is a bare stream, without the head of a file")
    parser.add_argument("--lines", action="store_true", help="it is a line stream; needs --element")
    element_option(parser, "bits of an element of a bare line stream (block streams have it in their headers)")
    parser.add_argument("--block-bytes", type=block_size, metavar="N",
                        help="raw bytes of a block of a bare stream, as when compressed (default: 4096)")
    parser.add_argument("--raw-bytes", type=whole_number, metavar="N", help="length that the output must have")
    parser.add_argument("--crc", type=_crc, metavar="HEX",
                        help="CRC-32C that the block stream must have, checked after its structure")
    parser.add_argument("--dtype", metavar="TYPE", help="NumPy type of a .npy output (default: the head's; uint8)")
    parser.add_argument("--shape", metavar="N,N,...", help="shape of a .npy output (default: one dimension)")


def run(call: argparse.Namespace) -> int:
    """Expand and write, then print sizes unless standard output is the target."""
    from cdma.golden.codec import blocks, files
    from cdma.golden.codec import lines as zvc
    from cdma.workload.dumps.types import element_type

    if call.stream and call.lines and call.element is None:
        raise ValueError("a line stream does not have the element size in it: give --element 8, 16 or 32")
    if call.lines:
        refuse(call, "a line stream (--lines) has no blocks and no CRC", "--block-bytes", "--crc")
    if call.stream and not call.lines and call.element is not None:
        raise ValueError("a block stream has the element size in its headers: leave --element out, or add --lines for "
                         "a line stream")
    as_array = call.output.endswith(".npy")
    if call.output.endswith((".npz", ".safetensors", ".pt")):
        raise ValueError(f"the output is an array (.npy) or raw bytes: name it "
                         f"{Path(call.output).with_suffix('.npy')}, not {call.output}")
    if not as_array and (call.dtype or call.shape):
        raise ValueError(f"--dtype and --shape are for arrays: name the output .npy, not {call.output}")
    if call.dtype and (kind := element_type(call.dtype)).isbuiltin == 2:
        raise ValueError(f".npy files have no {call.dtype}: give --dtype uint{8 * kind.itemsize} for its bits, or name "
                         f"the output {Path(call.output).with_suffix('.bin')}, which other commands read with --dtype "
                         f"{call.dtype}")
    if call.output != "-":
        check_folder_of(call.output)
        check_no_input(call.output, call.input)
    element_bytes = (call.element or 0) // 8
    stream = read_stream(call, call.input, "--lines", "--element", "--block-bytes")
    head = None
    if not call.stream:
        head, raw = files.expand(stream)
        _check(head, call)
    elif call.lines:
        raw = zvc.decompress(stream, element_bytes, raw_bytes=call.raw_bytes)
    else:
        block_bytes = call.block_bytes or DEFAULT_BLOCK_BYTES
        with block_size_hint(block_bytes, given=call.block_bytes is not None):
            raw = blocks.decompress(stream, block_bytes, raw_bytes=call.raw_bytes, crc=call.crc)
    content = _npy(raw, call.dtype or _own_type(head), call.shape) if as_array else raw.tobytes()
    write_bytes(call.output, content)
    if call.output != "-":
        print(f"{call.output}: {count(len(stream))} -> {count(raw.size)} bytes")
    return 0


def _check(head: Head, call: argparse.Namespace) -> None:
    """Check that a file has the length and the CRC that are asked for."""
    for what, asked, found in (("raw bytes", call.raw_bytes, head.raw_bytes), ("CRC", call.crc, head.crc32c)):
        if asked is not None and asked != found:
            text = "{:08x}" if what == "CRC" else "{:,}"
            raise CheckError(f"{call.input} has {what} {text.format(found)}, not {text.format(asked)}")


def _own_type(head: Head | None) -> str:
    """The type of an array of what a head says: the bits of the values where NumPy does not have their type."""
    from cdma.workload.dumps.types import element_type

    if head is None:
        return "uint8"
    try:
        dtype = element_type(head.dtype)
    except ValueError:
        return "uint8"
    return dtype.name if dtype.isbuiltin == 1 else f"uint{8 * dtype.itemsize}"


def _crc(text: str) -> int:
    try:
        value = int(text, 16)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 32:
        raise argparse.ArgumentTypeError(f"must be at most eight hexadecimal digits, not {text!r}")
    return value


def _npy(raw: Any, dtype: str, shape: str | None) -> bytes:
    import numpy as np

    kind = np.dtype(dtype)
    if raw.size % kind.itemsize:
        raise ValueError(f"the stream holds {raw.size} bytes, not a multiple of the {kind.itemsize} bytes of {dtype}")
    array = raw.view(kind)
    if shape is not None:
        try:
            array = array.reshape([int(part) for part in shape.split(",")])
        except ValueError as error:
            raise ValueError(f"{array.size} values of {dtype} do not fit the shape {shape}") from error
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()
