"""Both streams in plain Python from the text of docs/formats.md, in stream order; shares no code with the codec."""

from __future__ import annotations

from dataclasses import dataclass

LINE = 128


class MalformedError(Exception):
    """What is wrong: the name of the reason, the byte, the line and the block."""

    def __init__(self, reason: str, offset: int, line: int | None, block: int | None = None) -> None:
        super().__init__(reason, offset, line, block)
        self.fault = (reason, offset, line, block)


def elements_of(raw: bytes, size: int) -> list[bytes]:
    return [raw[at:at + size] for at in range(0, len(raw), size)]


def compress_lines(raw: bytes, size: int) -> bytes:
    out = b""
    for at in range(0, len(raw), LINE):
        elements = elements_of(raw[at:at + LINE], size)
        tag = 0
        for place in range(LINE // size):
            if place >= len(elements) or any(elements[place]):
                tag |= 1 << place
        out += tag.to_bytes(LINE // size // 8, "little") + b"".join(e for e in elements if any(e))
    return out


def decompress_lines(packed: bytes, size: int, raw_bytes: int | None = None, most: int | None = None) -> bytes:
    """The raw bytes of a line stream; ``most`` limits the raw length where it is not known."""
    places, tag_bytes = LINE // size, LINE // size // 8
    raw = b""
    at = number = 0
    while len(raw) < raw_bytes if raw_bytes is not None else at < len(packed):
        if most is not None and len(raw) >= most:
            raise MalformedError("TRAILING_BYTES", at, number - 1)
        wanted = places if raw_bytes is None else min(places, (raw_bytes - len(raw)) // size)
        if len(packed) - at < tag_bytes:
            raise MalformedError("TRUNCATED_TAG", at, number)
        tag = [packed[at + place // 8] >> place % 8 & 1 for place in range(places)]
        if 0 in tag[wanted:]:
            raise MalformedError("BAD_TAG", at, number)
        held = packed[at + tag_bytes:]
        ones = sum(tag[:wanted])
        if len(held) < ones * size:
            if raw_bytes is not None:
                raise MalformedError("TRUNCATED_DATA", at, number)
            # The tensor may end at the first element that is missing.
            whole = len(held) // size
            wanted = [place for place in range(places) if tag[place]][whole]
            if wanted == 0 or 0 in tag[wanted:]:
                raise MalformedError("TRUNCATED_DATA", at, number)
            if len(held) % size:
                raise MalformedError("TRAILING_BYTES", len(packed) - len(held) % size, number)
            ones = whole
        used = iter(elements_of(held[:ones * size], size))
        raw += b"".join(next(used) if tag[place] else bytes(size) for place in range(wanted))
        at += tag_bytes + ones * size
        number += 1
    if at < len(packed):
        raise MalformedError("TRAILING_BYTES", at, max(number - 1, 0))
    return raw


def compress_blocks(raw: bytes, size: int, block: int, fallback: bool, leave_raw: bool = False) -> bytes:
    out = b""
    for number, at in enumerate(range(0, len(raw), block)):
        part = raw[at:at + block]
        payload, coding = compress_lines(part, size), size
        if leave_raw or (fallback and len(payload) >= len(part)):
            payload, coding = part, 0
        out += len(payload).to_bytes(2, "little") + bytes([coding, number % 256]) + payload
        out += bytes(-len(payload) % 4)
    return out


@dataclass
class Reader:
    """Reads a block stream from front to back."""

    stream: bytes
    block: int
    raw_bytes: int | None = None
    size: int | None = None

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
        if coding not in (0, 1, 2, 4) or (self.size is not None and coding not in (0, self.size)):
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
        self.check_length(at, number, length, coding, least, most)
        if len(self.stream) < after:
            raise MalformedError("TRUNCATED_DATA", at + 4, None, number)
        for place in range(end, after):
            if self.stream[place]:
                raise MalformedError("BAD_PADDING", place, None, number)
        payload = self.stream[at + 4:end]
        if coding == 0:
            return payload, after
        try:
            if least == most:
                return decompress_lines(payload, coding, most), after
            return decompress_lines(payload, coding, most=most), after
        except MalformedError as error:
            reason, offset, line, _ = error.fault
            raise MalformedError(reason, at + 4 + offset, line, number) from None

    def check_length(self, at: int, number: int, length: int, coding: int, least: int, most: int) -> None:
        if coding == 0:
            if not least <= length <= most or length % (self.size or 1):
                raise MalformedError("BAD_LENGTH", at, None, number)
            return
        if least == most and most % coding:
            raise MalformedError("BAD_CODING", at + 2, None, number)
        tag = LINE // coding // 8
        if not -(-least // LINE) * tag <= length <= -(-most // LINE) * tag + most:
            raise MalformedError("BAD_LENGTH", at, None, number)


def crc(content: bytes, value: int = 0) -> int:
    register = value ^ 0xFFFF_FFFF
    for byte in content:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFF_FFFF
