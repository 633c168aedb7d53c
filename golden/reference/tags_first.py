"""Payloads with the tags first, in plain Python from the text of docs/formats.md; shares no code with the codec."""

from __future__ import annotations

from cdma.golden.reference.lines import LINE, MalformedError, elements_of

__all__ = [
    "check_data", "check_missing", "compress_tags_first", "decompress_tags_first", "lines_of", "places_of", "tag_of"]


def lines_of(raw: bytes, size: int) -> list[list[int]]:
    """The elements of each line as numbers; those that the last line lacks are zeros."""
    padded = raw + bytes(-len(raw) % LINE)
    values = [int.from_bytes(element, "little") for element in elements_of(padded, size)]
    places = LINE // size
    return [values[at:at + places] for at in range(0, len(values), places)]


def tag_of(values: list[int]) -> bytes:
    """One bit per element, 1 where it is not zero."""
    return sum(1 << place for place, value in enumerate(values) if value).to_bytes(len(values) // 8, "little")


def places_of(tag: bytes) -> list[int]:
    """The places of a tag's ones."""
    return [place for place in range(8 * len(tag)) if tag[place // 8] >> place % 8 & 1]


def compress_tags_first(raw: bytes, size: int, short: bool) -> bytes:
    lines = lines_of(raw, size)
    data = b"".join(value.to_bytes(size, "little") for values in lines for value in values if value)
    return (len(raw).to_bytes(4, "little") if short else b"") + b"".join(map(tag_of, lines)) + data


def decompress_tags_first(payload: bytes, size: int, raw_bytes: int, at: int) -> bytes:
    """The raw bytes of a payload whose tags begin at byte ``at``."""
    lines, places = -(-raw_bytes // LINE), LINE // size
    data = at + lines * places // 8
    if len(payload) < data:
        raise MalformedError("TRUNCATED_TAG", len(payload), None)
    out = b""
    for line in range(lines):
        tag_at = at + line * places // 8
        ones = places_of(payload[tag_at:tag_at + places // 8])
        out += one_line(payload, size, raw_bytes, line, ones, tag_at, data)
        data += len(ones) * size
    if data < len(payload):
        raise MalformedError("TRAILING_BYTES", data, lines - 1)
    return out[:raw_bytes]


def one_line(payload: bytes, size: int, raw_bytes: int, line: int, ones: list[int], tag_at: int, data: int) -> bytes:
    check_missing(size, raw_bytes, line, ones, tag_at)
    check_data(payload, line, data, len(ones) * size)
    values = [bytes(size)] * (LINE // size)
    for rank, place in enumerate(ones):
        values[place] = payload[data + rank * size:data + (rank + 1) * size]
    return b"".join(values)


def check_missing(size: int, raw_bytes: int, line: int, ones: list[int], tag_at: int) -> None:
    """The elements that the last line of a short block lacks have no ones."""
    if ones and line * LINE + ones[-1] * size >= raw_bytes:
        raise MalformedError("BAD_TAG", tag_at, line)


def check_data(payload: bytes, line: int, at: int, length: int) -> None:
    if len(payload) - at < length:
        raise MalformedError("TRUNCATED_DATA", at, line)
