"""Packets of the cores, and what the golden model says must come out of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from cdma.golden.codec import blocks, exponents, tags_first
from cdma.golden.codec import lines as zvc
from cdma.golden.codec.coding import SHORT, WORD_BYTES, Coding, coding_name
from cdma.golden.codec.errors import StreamError
from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.hdl.config.core import CoreConfig
from cdma.verif.common.cover import cover
from cdma.verif.common.stream import Bytes, Packet, Received

__all__ = ["Expected", "Line", "Payload", "RawPacket", "by_golden", "difference", "expected_raw", "line_starts",
           "payloads", "payloads_of_stream", "raw_starts", "walk"]

_LINES = 1 << 24
"""The error line is counted modulo this."""


@dataclass
class RawPacket(Packet):
    """Raw bytes to compress.

    Parameters
    ----------
    coding
        The coding number of its blocks; the bytes of an element are those of the coding.
    fallback
        Whether blocks stay raw that would not get shorter.
    """

    coding: int = 0
    fallback: bool = True

    @classmethod
    def of(cls, data: Bytes, coding: int, fallback: bool = True, about: str = "",
           noise: int | None = None) -> RawPacket:
        """The packet of these bytes."""
        return cls(data, coding & 0x0F, about, noise=noise, coding=coding, fallback=fallback)

    @property
    def user(self) -> int:
        """Coding and fallback."""
        return self.coding | self.fallback << 8

    @property
    def user_bits(self) -> int:
        """Bits of ``tuser``."""
        return 9


@dataclass
class Payload(Packet):
    """The payload of a block, without the word of a short one.

    Parameters
    ----------
    coding
        As in its header.
    raw_bytes
        That the block is said to have.
    cut
        Whether its packet ended within an element.
    """

    coding: int = 0
    raw_bytes: int = 0
    cut: bool = False

    def __str__(self) -> str:
        about = f"{self.about}, " if self.about else ""
        return f"{about}{self.data.size} bytes of coding {self.coding:#04x}, raw {self.raw_bytes}"

    @property
    def user(self) -> int:
        """The facts of the block; see :func:`cdma.hdl.generate.axis_blocks.block_user_layout`."""
        return self.coding | self.raw_bytes << 8 | self.data.size << 24 | self.cut << 40

    @property
    def user_bits(self) -> int:
        """Bits of ``tuser``."""
        return 41


@dataclass(frozen=True)
class Expected:
    """A packet that must come out.

    Parameters
    ----------
    data
        Its bytes; None where any will do. Of a packet of lines that fails, as far as they are known.
    user
        Its ``tuser``; 0 for a core that gives none.
    error, line
        The result beside its last beat.
    about
        What it is for, for messages.
    starts
        Offset in ``data`` of every line; None where nobody asks for lines.
    least
        How many of the bytes must come out; all when None.
    """

    data: Bytes | None
    user: int = 0
    error: ErrorCode | PayloadError = PayloadError.OK
    line: int = 0
    about: str = ""
    starts: np.ndarray | None = None
    least: int | None = None

    def __str__(self) -> str:
        return self.about


def raw_starts(size: int) -> np.ndarray:
    """Where the lines of so many raw bytes start."""
    return np.arange(0, max(size, 1), LINE_BYTES)


def line_starts(raw: Bytes, element_bytes: int) -> np.ndarray:
    """Where the lines of the stream of raw bytes start."""
    sizes = zvc.line_packed_bytes(raw, element_bytes)
    return np.cumsum(sizes) - sizes


@dataclass(frozen=True)
class Line:
    """A line of a stream: offset of its tag, tag, and bytes that the stream holds between it and the next line.

    Bit *i* of the tag says that element *i* is non-zero.
    """

    offset: int
    tag: int
    held: int


def walk(packed: Bytes, element_bytes: int) -> list[Line]:
    """The lines of a stream whose tags are whole, from tag to tag; the last may hold fewer bytes than its tag
    claims."""
    tag_bytes = LINE_BYTES // element_bytes // 8
    found: list[Line] = []
    offset = 0
    while packed.size - offset >= tag_bytes:
        tag = int.from_bytes(packed[offset:offset + tag_bytes].tobytes(), "little")
        held = min(tag.bit_count() * element_bytes, packed.size - offset - tag_bytes)
        found.append(Line(offset, tag, held))
        offset += tag_bytes + held
    return found


def by_golden(packet: Packet, config: CoreConfig | BlockCoreConfig) -> list[Expected]:
    """What must come out of a core for a packet: the blocks of a raw packet, or one packet."""
    if isinstance(config, CoreConfig):
        expected = _compressed(packet) if config.core == "compressor" else _decompressed(packet)
        cover("line_core", config.core, packet.element_bytes, expected.error.name)
        return [replace(expected, about=str(packet))]
    if isinstance(packet, RawPacket):
        found = payloads(packet, config.block_bytes)
        for payload in found:
            raw = Coding(payload.coding & ~SHORT) is Coding.RAW
            cover("block_core_block", coding_name(Coding(packet.coding)),
                  *["cut"] if payload.cut else ["short" if payload.raw_bytes < config.block_bytes else "whole",
                                                "raw" if raw else "coded"])
        return [Expected(payload.data, payload.user, about=f"block {number} of {packet}")
                for number, payload in enumerate(found)]
    assert isinstance(packet, Payload)
    expected = expected_raw(packet, config)
    number = packet.coding & ~SHORT
    cover("block_core", coding_name(Coding(number)) if number in config.numbers else "other", expected.error.name)
    return [expected]


def _compressed(packet: Packet) -> Expected:
    """Packed bytes; a fraction of an element is dropped and reported."""
    fraction = packet.data.size % packet.element_bytes
    raw = packet.data[:packet.data.size - fraction]
    return Expected(zvc.compress(raw, packet.element_bytes), starts=line_starts(raw, packet.element_bytes),
                    error=ErrorCode.TRAILING_BYTES if fraction else ErrorCode.OK)


def _decompressed(packet: Packet) -> Expected:
    """Raw bytes; of a stream that fails, the code, the line, and the bytes that are known."""
    size = packet.element_bytes
    try:
        raw = zvc.decompress(packet.data, size)
        return Expected(raw, error=ErrorCode.OK, starts=raw_starts(raw.size))
    except StreamError as error:
        reason, number = error.reason, error.line or 0
    lines = walk(packet.data, size)
    least = known = number * LINE_BYTES
    data = packet.data
    if number < len(lines):
        # The elements that are present fill the line up to the first missing one.
        line = lines[number]
        claimed = line.tag.bit_count()
        bits = [bit for bit in range(LINE_BYTES // size) if line.tag >> bit & 1]
        there = line.held // size
        known += bits[there] * size if there < claimed else LINE_BYTES
        data = np.concatenate([data, np.zeros(claimed * size - line.held, np.uint8)])
    elif lines:
        data = data[:lines[-1].offset + LINE_BYTES // size // 8 + lines[-1].held]
    else:
        data = data[:0]
    raw = zvc.decompress(data, size)[:known]
    return Expected(raw, error=ErrorCode[reason.name], line=number % _LINES, starts=raw_starts(known), least=least)


def payloads(packet: RawPacket, block_bytes: int) -> list[Payload]:
    """The payloads of a packet, by the golden model."""
    coding = Coding(packet.coding)
    whole = packet.data[:packet.data.size // coding.element_bytes * coding.element_bytes]
    cut = packet.data.size > whole.size
    stream = blocks.compress(whole, coding, block_bytes, packet.fallback)
    found = list(payloads_of_stream(stream, whole.size, block_bytes, packet.about))
    if not whole.size or (cut and whole.size % block_bytes == 0):
        # A block begins, and has no whole element.
        found.append(Payload(whole[:0], coding.element_bytes, packet.about, coding=coding | SHORT))
    found[-1] = replace(found[-1], cut=cut)
    return found


def payloads_of_stream(stream: Bytes, raw_bytes: int, block_bytes: int, about: str = "") -> Iterator[Payload]:
    """The payloads in a block stream of so many raw bytes."""
    for block in blocks.headers(stream, block_bytes):
        start = block.payload_offset + WORD_BYTES * block.short
        data = stream[start:block.payload_offset + block.payload_bytes]
        yield Payload(data, block.coding.element_bytes, about, coding=block.field,
                      raw_bytes=min(block_bytes, raw_bytes - block.number * block_bytes))


def expected_raw(payload: Payload, config: BlockCoreConfig) -> Expected:
    """What must come out of a decompressor for a payload, by the golden model.

    Of a block with a fault, the code and the line are known, and its bytes do not count.
    """
    def fault(error: PayloadError, line: int = 0) -> Expected:
        return Expected(None, error=error, line=line, about=str(payload))

    number = payload.coding & ~SHORT
    if number not in config.numbers:
        return fault(PayloadError.BAD_CODING)
    coding = Coding(number)
    if not 0 < payload.raw_bytes <= config.block_bytes or payload.raw_bytes % coding.element_bytes:
        return fault(PayloadError.BAD_LENGTH)
    family = exponents if coding.exponents else tags_first
    try:
        raw = family.decompress(payload.data, coding.element_bytes, payload.raw_bytes)
    except StreamError as error:
        return fault(PayloadError[error.reason.name], error.line or 0)
    return Expected(raw, about=str(payload), starts=raw_starts(raw.size))


def difference(expected: Expected, seen: Received) -> str | None:
    """What is wrong with a packet that came out, in a sentence: its ``tuser``, its result, its bytes."""
    faults = []
    if seen.user != expected.user:
        faults.append(f"tuser is {seen.user:#x}, not {expected.user:#x}")
    if seen.error != expected.error.value:
        faults.append(f"error code is {seen.error}, not {expected.error.value} ({expected.error.name.lower()})")
    elif seen.error and seen.line != expected.line:
        faults.append(f"error line is {seen.line}, not {expected.line}")
    if expected.data is not None and (fault := _first_difference(expected, expected.data, seen.data)):
        faults.append(fault)
    return "; ".join(faults) or None


def _first_difference(expected: Expected, right: Bytes, seen: Bytes) -> str | None:
    """The first differing byte with its line, if lines are known, in a sentence; None when there is none."""
    common = min(right.size, seen.size)
    differs = np.flatnonzero(right[:common] != seen[:common])
    at = int(differs[0]) if differs.size else common
    line = "" if expected.starts is None else (
        f" (line {max(0, int(np.searchsorted(expected.starts, at, side='right')) - 1)})")
    if differs.size:
        return f"byte {at}{line} is 0x{seen[at]:02x}, not 0x{right[at]:02x}"
    least = right.size if expected.least is None else expected.least
    if not least <= seen.size <= right.size:
        wanted = f"{right.size}" if least == right.size else f"{least} to {right.size}"
        return f"{seen.size} bytes came out, not {wanted}{line}"
    return None
