"""The block stream in plain Python from the text of docs/formats.md, in stream order; shares no code with the codec."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.golden.reference.exponents import compress_exponents, decompress_exponents
from cdma.golden.reference.lines import LINE, MalformedError, compress_lines, decompress_lines
from cdma.golden.reference.tags_first import compress_tags_first, decompress_tags_first

__all__ = ["Reader", "compress_blocks", "crc"]

RAW, LINES, TAGS_FIRST, EXPONENTS = (0,), (1, 2, 4), (0x11, 0x12, 0x14), (0x22, 0x24)
SHORT = 0x80


def compress_blocks(raw: bytes, coding: int, block: int, fallback: bool, leave_raw: bool = False) -> bytes:
    size = coding & 15
    out = b""
    for number, at in enumerate(range(0, len(raw), block)):
        part = raw[at:at + block]
        short = len(part) < block
        value = coding
        if coding in LINES:
            payload = compress_lines(part, size)
        else:
            payload = (compress_tags_first if coding in TAGS_FIRST else compress_exponents)(part, size, short)
            value |= SHORT * short
        if leave_raw or (fallback and len(payload) >= len(part)):
            payload, value = part, 0
        out += len(payload).to_bytes(2, "little") + bytes([value, number % 256]) + payload
        out += bytes(-len(payload) % 4)
    return out


@dataclass
class Reader:
    """Reads a block stream from front to back.

    ``coding`` is the one that all blocks must have which are not raw.
    """

    stream: bytes
    block: int
    raw_bytes: int | None = None
    coding: int | None = None

    def read(self) -> bytes:
        raw = b""
        at = number = 0
        while len(raw) < self.raw_bytes if self.raw_bytes is not None else at < len(self.stream):
            part, at = self.read_one(at, number, len(raw))
            raw += part
            number += 1
        if at < len(self.stream):
            raise MalformedError("TRAILING_BYTES", at, None, max(number - 1, 0))
        return raw

    def read_one(self, at: int, number: int, before: int) -> tuple[bytes, int]:
        header = self.stream[at:at + 4]
        if len(header) < 4:
            raise MalformedError("TRUNCATED_HEADER", at, None, number)
        length, coding = header[0] + 256 * header[1], header[2]
        if not self.allowed(coding):
            raise MalformedError("BAD_CODING", at + 2, None, number)
        if header[3] != number % 256:
            raise MalformedError("WRONG_SEQUENCE", at + 3, None, number)
        end = at + 4 + length
        after = end + -length % 4
        if self.raw_bytes is not None:
            least = most = min(self.block, self.raw_bytes - before)
        elif after < len(self.stream):
            least = most = self.block
        else:
            least, most = 1, self.block
        if coding & 0x7F not in RAW + LINES:
            # The coding says whether the block is short.
            if coding & SHORT:
                most = min(most, self.block - (coding & 15))
            else:
                least = self.block
            if least > most:
                raise MalformedError("BAD_CODING", at + 2, None, number)
        self.check_length(at, number, length, coding, least, most)
        if len(self.stream) < after:
            raise MalformedError("TRUNCATED_DATA", at + 4, None, number)
        for place in range(end, after):
            if self.stream[place]:
                raise MalformedError("BAD_PADDING", place, None, number)
        payload = self.stream[at + 4:end]
        try:
            return self.expand(payload, coding, least, most), after
        except MalformedError as error:
            reason, offset, line, _ = error.fault
            raise MalformedError(reason, at + 4 + offset, line, number) from None

    def allowed(self, coding: int) -> bool:
        if self.coding is not None and coding & 0x7F not in (0, self.coding):
            return False
        return coding in RAW + LINES or coding & 0x7F in TAGS_FIRST + EXPONENTS

    def check_length(self, at: int, number: int, length: int, coding: int, least: int, most: int) -> None:
        size = coding & 15
        if size == 0:
            if not least <= length <= most or length % ((self.coding or 1) & 15):
                raise MalformedError("BAD_LENGTH", at, None, number)
            return
        if least == most and most % size:
            raise MalformedError("BAD_CODING", at + 2, None, number)
        fewest, greatest = -(-least // LINE), -(-most // LINE)
        tag = LINE // size // 8
        word = 4 if coding & SHORT else 0
        if coding & 0x7F in EXPONENTS:
            low, high = fewest + -fewest % 4, greatest + -greatest % 4 + greatest * tag + most
        else:
            low, high = fewest * tag, greatest * tag + most
        if not low + word <= length <= high + word:
            raise MalformedError("BAD_LENGTH", at, None, number)

    def expand(self, payload: bytes, coding: int, least: int, most: int) -> bytes:
        size = coding & 15
        if coding in RAW:
            return payload
        if coding in LINES:
            if least == most:
                return decompress_lines(payload, size, most)
            return decompress_lines(payload, size, most=most)
        at, raw_bytes = 0, most
        if coding & SHORT:
            at, raw_bytes = 4, int.from_bytes(payload[:4], "little")
            if not max(least, 1) <= raw_bytes <= most or raw_bytes % size:
                raise MalformedError("BAD_LENGTH", 0, None)
        return (decompress_tags_first if coding & 0x7F in TAGS_FIRST else decompress_exponents)(
            payload, size, raw_bytes, at)


def crc(content: bytes, value: int = 0) -> int:
    register = value ^ 0xFFFF_FFFF
    for byte in content:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFF_FFFF
