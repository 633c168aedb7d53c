"""Streams of the golden model, compressed and looked into."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cdma.golden.codec import blocks, crc32c, exponents, files, lines
from cdma.golden.codec.coding import WORD_BYTES, Coding, coding_name
from cdma.golden.results import derived

__all__ = ["BlockFacts", "CompressedBlocks", "CompressedLines", "ExponentFacts", "StreamFacts", "compress_blocks",
           "compress_lines", "file_facts", "stream_facts"]

@dataclass(frozen=True)
class CompressedLines:
    """An array that was compressed: where from and where to, its sizes, and the bits of its elements."""

    input: str
    output: str
    raw_bytes: int
    element_bits: int
    packed_bytes: int

    @derived
    def ratio(self) -> float | None:
        """Raw bytes per packed byte; None for an empty stream."""
        return self.raw_bytes / self.packed_bytes if self.packed_bytes else None


@dataclass(frozen=True)
class CompressedBlocks(CompressedLines):
    """An array that was compressed to blocks: their coding and raw size, how many there are and are raw, and the
    stream's CRC-32C."""

    coding: str
    block_bytes: int
    blocks: int
    raw_blocks: int
    crc32c: str


@dataclass(frozen=True)
class ExponentFacts:
    """What the lines of a block with exponents have: how many are all zero, have no zero, store signs, have an escape,
    have a base of their own; and the bits of a distance, on average over the lines that are not all zero."""

    lines: int
    zero: int
    dense: int
    signs: int
    escapes: int
    bases: int
    width: float | None


@dataclass(frozen=True)
class BlockFacts:
    """A block of a stream: number, place, what its header and its line headers say, and its raw bytes."""

    block: int
    offset: int
    coding: str
    sequence: int
    payload_bytes: int
    raw_bytes: int
    exponents: ExponentFacts | None = None

    @derived
    def ratio(self) -> float:
        """Raw bytes per byte of header and padded payload."""
        return self.raw_bytes / (4 + -(-self.payload_bytes // 4) * 4)


@dataclass(frozen=True)
class StreamFacts:
    """A block stream, block by block, and the type of its values where a head says it.

    A line stream has no blocks, but elements of so many bits.
    """

    file: str
    raw_bytes: int
    packed_bytes: int
    block_bytes: int
    crc32c: str
    blocks: tuple[BlockFacts, ...]
    dtype: str | None = None
    element_bits: int | None = None

    @derived
    def ratio(self) -> float | None:
        """Raw bytes per packed byte; None for an empty stream."""
        return self.raw_bytes / self.packed_bytes if self.packed_bytes else None

    @derived
    def raw_blocks(self) -> int:
        """Blocks that are raw."""
        return sum(block.coding == coding_name(Coding.RAW) for block in self.blocks)


def compress_lines(raw: NDArray[np.uint8], element_bytes: int, source: str,
                   target: str) -> tuple[NDArray[np.uint8], CompressedLines]:
    """Line stream of raw bytes, with the facts about it; ``source`` and ``target`` are the names of the files."""
    stream = lines.compress(raw, element_bytes)
    return stream, CompressedLines(source, target, raw.size, 8 * element_bytes, stream.size)


def compress_blocks(raw: NDArray[np.uint8], coding: Coding, source: str, target: str, *, block_bytes: int,
                    fallback: bool) -> tuple[NDArray[np.uint8], CompressedBlocks]:
    """Block stream of raw bytes, with the facts about it.

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
    left_raw = sum(block.coding is Coding.RAW for block in headers)
    return stream, CompressedBlocks(source, target, raw.size, 8 * coding.element_bytes, stream.size,
                                    coding_name(coding), block_bytes, len(headers), left_raw, _crc(stream))


def stream_facts(file: str, stream: bytes, block_bytes: int) -> StreamFacts:
    """The content of a block stream, which is expanded to check it.

    Raises
    ------
    cdma.golden.codec.errors.StreamError
        If it is malformed.
    """
    raw_bytes = blocks.decompress(stream, block_bytes).size
    data = np.frombuffer(stream, np.uint8)
    found = []
    for block in blocks.headers(stream):
        size = min(block_bytes, raw_bytes - block.number * block_bytes)
        found.append(BlockFacts(
            block.number, block.offset, coding_name(block.coding), block.sequence, block.payload_bytes, size,
            _exponent_facts(data, block, size) if block.coding.exponents else None))
    return StreamFacts(file, raw_bytes, len(stream), block_bytes, _crc(stream), tuple(found))


def file_facts(file: str, content: bytes) -> StreamFacts:
    """The content of a file with a head; its stream is expanded to check it.

    Raises
    ------
    ValueError
        If it begins with no head.
    cdma.golden.codec.errors.StreamError
        If head or stream are malformed.
    """
    head, _ = files.expand(content)
    if head.element_bytes:
        return StreamFacts(file, head.raw_bytes, head.packed_bytes, 0, f"{head.crc32c:08x}", (), head.dtype,
                           8 * head.element_bytes)
    return replace(stream_facts(file, content[files.HEAD_BYTES:], head.block_bytes), dtype=head.dtype)


def _exponent_facts(stream: NDArray[np.uint8], block: blocks.Block, raw_bytes: int) -> ExponentFacts:
    payload = stream[block.payload_offset:block.payload_offset + block.payload_bytes]
    facts, _ = exponents.read_facts(payload, block.coding.element_bytes, raw_bytes, WORD_BYTES * block.short)
    coded = [line for line in facts if not line.zeros]
    return ExponentFacts(
        len(facts), len(facts) - len(coded), sum(line.dense for line in coded), sum(line.signs for line in coded),
        sum(line.escape for line in coded), sum(line.based for line in coded),
        sum(line.width for line in coded) / len(coded) if coded else None)


def _crc(stream: bytes | NDArray[np.uint8]) -> str:
    return f"{crc32c.crc32c(stream):08x}"
