"""Payloads with exponents, in plain Python from the text of docs/formats.md; shares no code with the codec."""

from __future__ import annotations

from cdma.golden.reference.lines import LINE, MalformedError
from cdma.golden.reference.tags_first import check_data, check_missing, lines_of, places_of, tag_of

__all__ = ["compress_exponents", "decompress_exponents"]

# A value has a sign, 8 bits of exponent, and these many bits of mantissa, by its bytes.
MANTISSA = {2: 7, 4: 23}
ZEROS = 0xFF
WHOLE = 7


def exponent_of(value: int, size: int) -> int:
    return value >> MANTISSA[size] & 0xFF


def sign_of(value: int, size: int) -> int:
    return value >> 8 * size - 1


def bits_for(number: int) -> int:
    return number.bit_length()


def compress_exponents(raw: bytes, size: int, short: bool) -> bytes:
    headers = bases = widths = tags = data = b""
    previous = 0
    for values in lines_of(raw, size):
        present = [value for value in values if value]
        if not present:
            headers += bytes([ZEROS])
            continue
        exponents = [exponent_of(value, size) for value in present]
        base, signs = max(exponents), any(sign_of(value, size) for value in present)
        escape = base > 0 and 0 in exponents
        quarter = len(values) // 4
        groups = [[value for value in values[at:at + quarter] if value] for at in range(0, len(values), quarter)]
        wanted = [width_of(group, size, base, escape) for group in groups]
        width = max(wanted)
        whole = width > 6
        less = [0 if whole else min(3, width - one) for one in wanted]
        narrower = any(number for number, group in zip(less, groups, strict=True) if group)
        header = (WHOLE if whole else width) | signs << 3 | all(values) << 4
        if whole:
            base, width, escape = 255, 8, False
        else:
            header |= escape << 5 | narrower << 6 | (base != previous) << 7
            if base != previous:
                bases += bytes([base])
            previous = base
        headers += bytes([header])
        if narrower:
            widths += bytes([sum(number << 2 * group for group, number in enumerate(less))])
        if not all(values):
            tags += tag_of(values)
        for group, number in zip(groups, less, strict=True):
            data += group_data(group, size, base, width - number * narrower, signs, escape)
    facts = headers + bases + widths
    return (len(raw).to_bytes(4, "little") if short else b"") + facts + bytes(-len(facts) % 4) + tags + data


def width_of(group: list[int], size: int, base: int, escape: bool) -> int:
    """The bits that the distances of a group need; with an escape, the largest distance that fits is not theirs."""
    distances = [base - exponent_of(value, size) for value in group if not (escape and exponent_of(value, size) == 0)]
    if not distances:
        return 0
    return bits_for(max(distances) + escape)


def group_data(group: list[int], size: int, base: int, width: int, signs: bool, escape: bool) -> bytes:
    rests = rest_bits = 0
    parts = b""
    rest = max(width + signs - 1, 0)
    for value in group:
        exponent = exponent_of(value, size)
        distance = (1 << width) - 1 if escape and exponent == 0 else base - exponent
        tail = distance << 1 | sign_of(value, size) if signs else distance
        mantissa = value & (1 << MANTISSA[size]) - 1
        parts += (mantissa | (tail & 1) << MANTISSA[size]).to_bytes(size - 1, "little")
        rests |= tail >> 1 << rest_bits
        rest_bits += rest
    return rests.to_bytes((rest_bits + 7) // 8, "little") + parts


def decompress_exponents(payload: bytes, size: int, raw_bytes: int, at: int) -> bytes:
    """The raw bytes of a payload whose line headers begin at byte ``at``."""
    count, places = -(-raw_bytes // LINE), LINE // size
    headers = payload[at:at + count]
    if len(headers) < count:
        raise MalformedError("TRUNCATED_FACTS", len(payload), None)
    for line, header in enumerate(headers):
        if header & 7 == WHOLE and header >> 5 and header != ZEROS:
            raise MalformedError("BAD_FACTS", at + line, line)
    coded = [header for header in headers if header != ZEROS]
    base_at = at + count
    widths_at = base_at + sum(header >> 7 for header in coded)
    facts_end = widths_at + sum(header >> 6 & 1 for header in coded)
    tag_at = facts_end + (at - facts_end) % 4
    if len(payload) < tag_at:
        raise MalformedError("TRUNCATED_FACTS", len(payload), None)
    data = tag_at + places // 8 * sum(not header & 16 for header in coded)
    if len(payload) < data:
        raise MalformedError("TRUNCATED_TAG", len(payload), None)
    out = b""
    previous = 0
    for line, header in enumerate(headers):
        if header == ZEROS:
            out += bytes(LINE)
            continue
        less = [0] * 4
        if header >> 6 & 1:
            less = [payload[widths_at] >> 2 * group & 3 for group in range(4)]
            if max(less) > header & 7:
                raise MalformedError("BAD_FACTS", widths_at, line)
            widths_at += 1
        if header >> 7:
            previous = payload[base_at]
            base_at += 1
        if header & 16:
            ones = list(range(places))
            check_missing(size, raw_bytes, line, ones, at + line)
        else:
            ones = places_of(payload[tag_at:tag_at + places // 8])
            check_missing(size, raw_bytes, line, ones, tag_at)
            tag_at += places // 8
        part, data = exponent_line(payload, data, size, header, previous, less, ones, line)
        out += part
    if data < len(payload):
        raise MalformedError("TRAILING_BYTES", data, count - 1)
    return out[:raw_bytes]


def exponent_line(payload: bytes, at: int, size: int, header: int, base: int, less: list[int], ones: list[int],
                  line: int) -> tuple[bytes, int]:
    """The raw bytes of a line, and the byte after its data."""
    places, start = LINE // size, at
    signs, escape = header >> 3 & 1, header >> 5 & 1
    width = header & 7
    if width == WHOLE:
        width, base = 8, 255
    groups = [[place for place in ones if place // (places // 4) == group] for group in range(4)]
    widths = [width - number for number in less]
    rests = [max(one + signs - 1, 0) for one in widths]
    rest_bytes = [(len(group) * rest + 7) // 8 for group, rest in zip(groups, rests, strict=True)]
    check_data(payload, line, start, sum(rest_bytes) + len(ones) * (size - 1))
    values = [0] * places
    for group, group_width, rest, filled in zip(groups, widths, rests, rest_bytes, strict=True):
        bits = int.from_bytes(payload[at:at + filled], "little")
        at += filled
        for place in group:
            part = int.from_bytes(payload[at:at + size - 1], "little")
            at += size - 1
            tail = ((bits & (1 << rest) - 1) << 1 | part >> MANTISSA[size]) & (1 << group_width + signs) - 1
            bits >>= rest
            distance = tail >> signs
            exponent = 0 if escape and distance == (1 << group_width) - 1 else (base - distance) % 256
            values[place] = ((tail & signs) << 8 * size - 1 | exponent << MANTISSA[size]
                             | part & (1 << MANTISSA[size]) - 1)
    return b"".join(value.to_bytes(size, "little") for value in values), at
