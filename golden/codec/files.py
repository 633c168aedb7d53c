"""A stream as a file: a head of 64 bytes, then the stream. See docs/formats.md, "File".

The head has the lengths and the CRC of the stream, so that a cut is seen wherever it is.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from cdma.golden.codec import blocks, lines
from cdma.golden.codec.buffers import Bytes, as_bytes
from cdma.golden.codec.crc32c import crc32c
from cdma.golden.codec.errors import Reason, StreamError

__all__ = ["HEAD_BYTES", "MAGIC", "Head", "expand", "head_of", "read_head"]

MAGIC = b"cDMA"
"""What a head begins with. No block stream does: "M" is no coding."""

HEAD_BYTES = 64
"""Bytes of a head; so a stream behind it has the alignment of any beat if the file has it in memory."""

_VERSION = 1
_FIELDS = struct.Struct("<4sBBHQQ32sI")
_TYPE_BYTES = 32


@dataclass(frozen=True)
class Head:
    """What a head says of the stream behind it.

    Parameters
    ----------
    raw_bytes, packed_bytes, crc32c
        Bytes of the tensor, bytes of the stream, and CRC-32C of the stream.
    dtype
        Type of the tensor's values, for the reader: ``float32``. At most 32 printable ASCII characters, or none.
    block_bytes
        Raw bytes of a block; 0 in front of a line stream.
    element_bytes
        Bytes of an element of a line stream, 1, 2 or 4; 0 in front of a block stream.

    Raises
    ------
    ValueError
        If one of them is not allowed.
    """

    raw_bytes: int
    packed_bytes: int
    crc32c: int
    dtype: str = ""
    block_bytes: int = 0
    element_bytes: int = 0

    def __post_init__(self) -> None:
        if self.element_bytes not in (0, 1, 2, 4):
            raise ValueError(f"element_bytes of a head must be 0, 1, 2 or 4, not {self.element_bytes}")
        if not self.element_bytes:
            blocks.check_block_bytes(self.block_bytes)
        elif self.block_bytes:
            raise ValueError(f"block_bytes of a line stream must be 0, not {self.block_bytes}")
        if len(self.dtype) > _TYPE_BYTES or not (self.dtype.isascii() and self.dtype.isprintable()):
            raise ValueError(f"dtype of a head must be at most {_TYPE_BYTES} ASCII characters, not {self.dtype!r}")

    def pack(self) -> bytes:
        """The bytes of the head."""
        fields = _FIELDS.pack(MAGIC, _VERSION, self.element_bytes, self.block_bytes, self.raw_bytes, self.packed_bytes,
                              self.dtype.encode(), self.crc32c)
        return fields + crc32c(fields).to_bytes(4, "little")


def head_of(stream: Any, raw_bytes: int, dtype: str = "", *, block_bytes: int = 0, element_bytes: int = 0) -> Head:
    """The head of a stream; parameters as those of :class:`Head`."""
    data = as_bytes(stream)
    return Head(raw_bytes, data.size, crc32c(data), dtype, block_bytes, element_bytes)


def read_head(file: Any) -> Head:
    """The head of a file.

    Parameters
    ----------
    file
        Its content, or at least the first 64 bytes of it.

    Raises
    ------
    ValueError
        If it begins with no head, or with one of another version.
    StreamError
        If the head is cut or damaged.
    """
    content = as_bytes(file)[:HEAD_BYTES].tobytes()
    if not content.startswith(MAGIC):
        raise ValueError("the file does not begin with the head of a stream")
    if len(content) < HEAD_BYTES:
        raise StreamError(Reason.TRUNCATED_HEADER, 0, f"{HEAD_BYTES} bytes of a file's head, found {len(content)}")
    if content[4] != _VERSION:
        raise ValueError(f"the head of the file has version {content[4]}; this one reads version {_VERSION}")
    fields, own = content[:_FIELDS.size], int.from_bytes(content[_FIELDS.size:], "little")
    if crc32c(fields) != own:
        raise StreamError(Reason.CRC_MISMATCH, _FIELDS.size,
                          f"CRC-32C {own:08x} of the file's head, found {crc32c(fields):08x}")
    _, _, element_bytes, block_bytes, raw_bytes, packed_bytes, dtype, crc = _FIELDS.unpack(fields)
    return Head(raw_bytes, packed_bytes, crc, dtype.rstrip(b"\0").decode("latin-1"), block_bytes, element_bytes)


def expand(file: Any) -> tuple[Head, Bytes]:
    """The head of a whole file, and the raw bytes of its stream.

    Raises
    ------
    ValueError
        As :func:`read_head`.
    StreamError
        If the head or the stream is cut or damaged. Bytes of the error are those of the stream.
    """
    head = read_head(file)
    stream = as_bytes(file)[HEAD_BYTES:]
    if stream.size != head.packed_bytes:
        reason = Reason.TRUNCATED_DATA if stream.size < head.packed_bytes else Reason.TRAILING_BYTES
        raise StreamError(reason, min(stream.size, head.packed_bytes),
                          f"{head.packed_bytes} bytes of stream, as the file's head says, found {stream.size}")
    if head.block_bytes:
        return head, blocks.decompress(stream, head.block_bytes, raw_bytes=head.raw_bytes, crc=head.crc32c)
    raw = lines.decompress(stream, head.element_bytes, raw_bytes=head.raw_bytes)
    if crc32c(stream) != head.crc32c:
        raise StreamError(Reason.CRC_MISMATCH, stream.size, f"CRC-32C {head.crc32c:08x}, found {crc32c(stream):08x}")
    return head, raw
