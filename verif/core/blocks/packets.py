"""Packets of the block cores: raw ones, payloads, and what the golden model says must come out of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from cdma.golden.codec import blocks, exponents, tags_first
from cdma.golden.codec.coding import SHORT, WORD_BYTES, Coding
from cdma.golden.codec.errors import StreamError
from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.verif.common.stream import Bytes, Packet, Received

__all__ = ["Expected", "Payload", "RawPacket", "difference", "expected_raw", "payloads", "payloads_of_stream"]

_USER_BITS = {"raw": 9, "payload": 41}


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
        return _USER_BITS["raw"]


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
        return _USER_BITS["payload"]


@dataclass(frozen=True)
class Expected:
    """A packet that must come out.

    Parameters
    ----------
    data
        Its bytes; None where any will do.
    user
        Its ``tuser``; 0 for a decompressor.
    error, line
        The result beside its last beat.
    about
        What it is for, for messages.
    """

    data: Bytes | None
    user: int = 0
    error: PayloadError = PayloadError.OK
    line: int = 0
    about: str = ""

    def __str__(self) -> str:
        return self.about


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
        return Expected(None, 0, error, line, str(payload))

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
    return Expected(raw, about=str(payload))


def difference(expected: Expected, seen: Received) -> str | None:
    """What is wrong with a packet that came out: its facts, its result, its bytes."""
    faults = []
    if seen.user != expected.user:
        faults.append(f"tuser is {seen.user:#x}, not {expected.user:#x}")
    if seen.error != expected.error.value:
        faults.append(f"error code is {seen.error}, not {expected.error.value} ({expected.error.name.lower()})")
    elif expected.error is not PayloadError.OK and seen.line != expected.line:
        faults.append(f"error line is {seen.line}, not {expected.line}")
    if expected.data is not None and not np.array_equal(expected.data, seen.data):
        faults.append(_first_difference(expected.data, seen.data))
    return "; ".join(faults) or None


def _first_difference(expected: Bytes, seen: Bytes) -> str:
    """The first byte that differs, with its line if these are raw bytes."""
    common = min(expected.size, seen.size)
    differs = np.flatnonzero(expected[:common] != seen[:common])
    if not differs.size:
        return f"{seen.size} bytes came out, not {expected.size}"
    at = int(differs[0])
    return f"byte {at} is 0x{seen[at]:02x}, not 0x{expected[at]:02x} (line {at // LINE_BYTES} of raw bytes)"
