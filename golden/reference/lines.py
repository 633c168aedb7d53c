"""The line stream in plain Python from the text of docs/formats.md, in stream order; shares no code with the codec."""

from __future__ import annotations

__all__ = ["LINE", "MalformedError", "compress_lines", "decompress_lines", "elements_of"]

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
