"""Streams of the golden model, compressed and looked into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from golden.codec import blocks, crc32c, lines
from golden.results import derived

__all__ = ["BlockFacts", "CompressedBlocks", "CompressedLines", "StreamFacts", "compress_blocks", "compress_lines",
           "stream_facts"]

_CODINGS = {0: "raw", 1: "ZVC 8", 2: "ZVC 16", 4: "ZVC 32"}
"""What the codings in the headers of blocks are called."""


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
    """An array that was compressed to blocks: their raw size, how many there are and are raw, and the stream's
    CRC-32C."""

    block_bytes: int
    blocks: int
    raw_blocks: int
    crc32c: str


@dataclass(frozen=True)
class BlockFacts:
    """A block of a stream: number, place, what its header says, and its raw bytes."""

    block: int
    offset: int
    coding: str
    sequence: int
    payload_bytes: int
    raw_bytes: int

    @derived
    def ratio(self) -> float:
        """Raw bytes per byte of header and padded payload."""
        return self.raw_bytes / (4 + -(-self.payload_bytes // 4) * 4)


@dataclass(frozen=True)
class StreamFacts:
    """A block stream, block by block."""

    file: str
    raw_bytes: int
    packed_bytes: int
    block_bytes: int
    crc32c: str
    blocks: tuple[BlockFacts, ...]

    @derived
    def ratio(self) -> float | None:
        """Raw bytes per packed byte; None for an empty stream."""
        return self.raw_bytes / self.packed_bytes if self.packed_bytes else None

    @derived
    def raw_blocks(self) -> int:
        """Blocks that are raw."""
        return sum(block.coding == _CODINGS[0] for block in self.blocks)


def compress_lines(raw: NDArray[np.uint8], element_bytes: int, source: str,
                   target: str) -> tuple[NDArray[np.uint8], CompressedLines]:
    """Line stream of raw bytes, with the facts about it; ``source`` and ``target`` are the names of the files."""
    stream = lines.compress(raw, element_bytes)
    return stream, CompressedLines(source, target, raw.size, 8 * element_bytes, stream.size)


def compress_blocks(raw: NDArray[np.uint8], element_bytes: int, source: str, target: str, *, block_bytes: int,
                    fallback: bool) -> tuple[NDArray[np.uint8], CompressedBlocks]:
    """Block stream of raw bytes, with the facts about it.

    Parameters
    ----------
    raw, element_bytes
        The bytes, and those of an element.
    source, target
        Names of the files.
    block_bytes
        Raw bytes of a block.
    fallback
        Whether blocks that coding would not shrink stay raw.
    """
    stream = blocks.compress(raw, element_bytes, block_bytes, fallback=fallback)
    headers = list(blocks.headers(stream))
    return stream, CompressedBlocks(source, target, raw.size, 8 * element_bytes, stream.size, block_bytes,
                                    len(headers), sum(block.coding == 0 for block in headers), _crc(stream))


def stream_facts(file: str, stream: bytes, block_bytes: int) -> StreamFacts:
    """The content of a block stream, which is expanded to check it.

    Raises
    ------
    golden.codec.errors.StreamError
        If it is malformed.
    """
    raw_bytes = blocks.decompress(stream, block_bytes).size
    found = tuple(BlockFacts(block.number, block.offset, _CODINGS[block.coding], block.sequence, block.payload_bytes,
                             min(block_bytes, raw_bytes - block.number * block_bytes))
                  for block in blocks.headers(stream))
    return StreamFacts(file, raw_bytes, len(stream), block_bytes, _crc(stream), found)


def _crc(stream: bytes | NDArray[np.uint8]) -> str:
    return f"{crc32c.crc32c(stream):08x}"
