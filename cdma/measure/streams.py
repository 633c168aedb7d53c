"""Streams of the golden model, compressed and looked into: what is printed of them, as JSON has it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.golden.codec import blocks, crc32c, files, lines
from cdma.golden.codec.coding import WORD_BYTES, Coding, coding_name
from cdma.golden.codec.layout import LINE_BYTES
from cdma.golden.kernels.exponents_numpy import WHOLE, ZEROS

__all__ = ["compress_blocks", "compress_lines", "file_content", "stream_content"]


def compress_lines(raw: NDArray[np.uint8], element_bytes: int, source: str,
                   target: str) -> tuple[NDArray[np.uint8], dict[str, Any]]:
    """Line stream of raw bytes, and what it is; ``source`` and ``target`` are the names of the files."""
    stream = lines.compress(raw, element_bytes)
    return stream, _sizes(source, target, raw, 8 * element_bytes, stream)


def compress_blocks(raw: NDArray[np.uint8], coding: Coding, source: str, target: str, *, block_bytes: int,
                    fallback: bool) -> tuple[NDArray[np.uint8], dict[str, Any]]:
    """Block stream of raw bytes, and what it is.

    Parameters
    ----------
    raw, coding
        The bytes, and how they are coded.
    source, target
        Names of the files.
    block_bytes
        Raw bytes of a block.
    fallback
        Whether blocks that coding would not shrink stay raw.
    """
    stream = blocks.compress(raw, coding, block_bytes, fallback=fallback)
    headers = list(blocks.headers(stream))
    return stream, _sizes(source, target, raw, 8 * coding.element_bytes, stream) | {
        "coding": coding_name(coding), "block_bytes": block_bytes, "blocks": len(headers),
        "raw_blocks": sum(block.coding is Coding.RAW for block in headers), "crc32c": _crc(stream)}


def stream_content(file: str, stream: bytes, block_bytes: int) -> dict[str, Any]:
    """The content of a block stream, block by block; it is expanded to check it.

    Raises
    ------
    cdma.golden.codec.errors.StreamError
        If it is malformed.
    """
    raw_bytes = blocks.decompress(stream, block_bytes).size
    data = np.frombuffer(stream, np.uint8)
    rows = []
    for block in blocks.headers(stream):
        size = min(block_bytes, raw_bytes - block.number * block_bytes)
        rows.append({
            "block": block.number, "offset": block.offset, "coding": coding_name(block.coding),
            "sequence": block.sequence, "payload_bytes": block.payload_bytes, "raw_bytes": size,
            "exponents": _line_headers(data, block, size) if block.coding.exponents else None,
            # Raw bytes per byte of header and padded payload.
            "ratio": size / (4 + -(-block.payload_bytes // 4) * 4)})
    return _content(file, raw_bytes, len(stream), block_bytes, _crc(stream)) | {
        "blocks": rows, "raw_blocks": sum(row["coding"] == coding_name(Coding.RAW) for row in rows)}


def file_content(file: str, content: bytes) -> dict[str, Any]:
    """The content of a file with a head; its stream is expanded to check it. A line stream has no blocks.

    Raises
    ------
    ValueError
        If it begins with no head.
    cdma.golden.codec.errors.StreamError
        If head or stream are malformed.
    """
    head, _ = files.expand(content)
    if head.element_bytes:
        return _content(file, head.raw_bytes, head.packed_bytes, 0, f"{head.crc32c:08x}") | {
            "dtype": head.dtype, "element_bits": 8 * head.element_bytes}
    return stream_content(file, content[files.HEAD_BYTES:], head.block_bytes) | {"dtype": head.dtype}


def _sizes(source: str, target: str, raw: NDArray[np.uint8], element_bits: int,
           stream: NDArray[np.uint8]) -> dict[str, Any]:
    return {"input": source, "output": target, "raw_bytes": raw.size, "element_bits": element_bits,
            "packed_bytes": stream.size, "ratio": raw.size / stream.size if stream.size else None}


def _content(file: str, raw_bytes: int, packed_bytes: int, block_bytes: int, crc: str) -> dict[str, Any]:
    return {"file": file, "raw_bytes": raw_bytes, "packed_bytes": packed_bytes, "block_bytes": block_bytes,
            "crc32c": crc, "blocks": [], "dtype": None, "element_bits": None,
            "ratio": raw_bytes / packed_bytes if packed_bytes else None, "raw_blocks": 0}


def _line_headers(stream: NDArray[np.uint8], block: blocks.Block, raw_bytes: int) -> dict[str, Any]:
    """Lines of a block with exponents: how many are all zero, have no zero, store signs, have an escape, have a base
    of their own; and the bits of a distance, on average over the lines that are not all zero."""
    first = block.payload_offset + WORD_BYTES * block.short
    headers = stream[first:first + -(-raw_bytes // LINE_BYTES)]
    coded = headers[headers != ZEROS]
    widths = np.where(coded & 7 == WHOLE, 8, coded & 7)
    return {"lines": headers.size, "zero": headers.size - coded.size,
            **{name: int(np.count_nonzero(coded & 1 << bit)) for name, bit in (
                ("dense", 4), ("signs", 3), ("escapes", 5), ("bases", 7))},
            "width": float(widths.mean()) if coded.size else None}


def _crc(stream: bytes | NDArray[np.uint8]) -> str:
    return f"{crc32c.crc32c(stream):08x}"
