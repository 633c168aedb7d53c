"""Data for the tests: raw bytes that look like activations, corners of every coding, and what to do to a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from cdma.golden.codec.errors import StreamError
from cdma.golden.reference.lines import MalformedError

ELEMENT_BYTES = (1, 2, 4)
CODINGS = {"raw": 0, "lines8": 0x01, "lines16": 0x02, "lines32": 0x04, "zvc8": 0x11, "zvc16": 0x12, "zvc32": 0x14,
           "bfloat16": 0x22, "float32": 0x24}
CODED = {name: coding for name, coding in CODINGS.items() if coding}
EXPONENTS = {2: 0x22, 4: 0x24}
"""The codings with exponents, by the bytes of an element."""

_MANTISSA = {2: 7, 4: 23}


def raw_bytes(elements: int, size: int, density: float, seed: int) -> bytes:
    """Elements of which about ``density`` are not zero; many of those have zero bytes."""
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 256, (elements, size), dtype=np.uint8)
    holes = rng.random((elements, size)) < 0.4
    holes[np.arange(elements), rng.integers(0, size, elements)] = False
    values[holes] = 0
    values[rng.random(elements) >= density] = 0
    return values.tobytes()


def packed(values: list[int] | np.ndarray, size: int) -> bytes:
    """Numbers as elements."""
    return np.asarray(values).astype(f"<u{size}").tobytes()


def value(size: int, exponent: int, mantissa: int = 0, sign: int = 0) -> int:
    """A bfloat16 or float32 by its fields."""
    return sign << 8 * size - 1 | exponent << _MANTISSA[size] | mantissa


def corners(size: int) -> Iterator[bytes]:
    """Tensors of several lines and blocks of 512, each for a reason; elements of 1 byte have no fields of floats."""
    places = 128 // size
    full = (1 << 8 * size) - 1
    yield b""
    yield bytes(size)
    yield bytes(1100 // size * size)
    yield bytes([255]) * 1024
    yield packed([full], size)
    yield packed([0] * (2 * places - 1) + [1], size) + bytes(1024)
    yield packed([1] + [0] * (places - 1), size) * 9
    yield packed([0, full] * 300, size)
    if size == 1:
        return
    one, minus_zero = value(size, 127), value(size, 0, 0, 1)
    least, most = value(size, 0, 1), value(size, 0, (1 << _MANTISSA[size]) - 1)
    infinity, nan = value(size, 255), value(size, 255, 5)
    yield packed([minus_zero] * 300, size)
    yield packed([one, minus_zero, 0, one] * 100, size)
    yield packed([nan, infinity, infinity | minus_zero, nan | minus_zero, one, 0], size) * 60
    yield packed([least, most, 0, most | minus_zero] * 80, size)
    yield packed([least, value(size, 1), value(size, 2)] * 99, size)
    yield packed([value(size, number % 256, number) for number in range(600)], size)
    # Lines whose distances take 0 to 8 bits, with signs and without, alone and with the escape.
    for sign in (0, 1):
        for extra in ([], [minus_zero]):
            yield b"".join(packed(([value(size, 200 - number % (1 << width), number, sign & number)
                                    for number in range(places)] + extra)[-places:], size) for width in range(9))
    # Groups of different widths, empty groups, and lines that have the base of the line before, or do not.
    quarter = places // 4
    for widths in ((0, 1, 2, 3), (6, 5, 0, 0), (3, 7, 3, 3), (4, 4, 4, 4)):
        yield b"".join(packed([value(size, 130 - shift - place % (1 << widths[place // quarter]), place)
                               if place // quarter != gone else 0 for place in range(places)], size)
                       for shift in (0, 0, 1) for gone in (0, 1, 4))
    yield packed(([one] * places + [0] * places + [nan] + [least] * (places - 1)) * 3, size)


def floats(elements: int, size: int, seed: int) -> bytes:
    """Elements whose density, exponents, signs and zeros of exponent follow from the seed; any bytes for size 1."""
    if size == 1:
        return raw_bytes(elements, 1, 0.5, seed)
    rng = np.random.default_rng(seed)
    base, spread = rng.choice([2, 40, 127, 255]), rng.choice([1, 2, 5, 17, 70, 255])
    exponent = np.maximum(base - rng.integers(0, spread, elements) ** rng.choice([1, 2]), 0)
    exponent[rng.random(elements) < rng.choice([0, 0, 0.1])] = 0
    sign = rng.integers(0, 2, elements) * rng.choice([0, 1])
    mantissa = rng.integers(0, 1 << _MANTISSA[size], elements)
    values = sign << 8 * size - 1 | exponent << _MANTISSA[size] | mantissa
    values[rng.random(elements) >= rng.choice([0.0, 0.05, 0.4, 0.9, 1.0])] = 0
    if elements:
        first = rng.integers(0, elements)
        values[first:first + rng.integers(0, 100)] = 0
    return packed(values, size)


def free_payload(size: int, lines: int, seed: int) -> bytes:
    """A payload with exponents of whole lines as no writer of this project makes it, and as readers must take it."""
    rng = np.random.default_rng(seed)
    headers, widths, tags = [], [], []
    data = 0
    for _ in range(lines):
        width = int(rng.integers(0, 8))
        header = width | int(rng.integers(0, 4 if width == 7 else 32)) << 3
        if rng.random() < 0.1:
            header = 255
        headers.append(header)
        if header == 255:
            continue
        tag = np.ones(128 // size, bool) if header & 16 else rng.random(128 // size) < rng.choice([0, 0.2, 0.8])
        less = rng.integers(0, min(width, 3) + 1, 4) if header & 64 else np.zeros(4, int)
        if header & 64:
            widths.append(sum(int(number) << 2 * group for group, number in enumerate(less)))
        if not header & 16:
            tags.append(np.packbits(tag, bitorder="little").tobytes())
        for group, count in zip(less, tag.reshape(4, -1).sum(axis=1), strict=True):
            rest = max((8 if width == 7 else width - int(group)) + (header >> 3 & 1) - 1, 0)
            data += (int(count) * rest + 7) // 8 + int(count) * (size - 1)
    bases = rng.bytes(sum(header != 255 and header >> 7 for header in headers))
    facts = bytes(headers) + bases + bytes(widths)
    return facts + rng.bytes(-len(facts) % 4) + b"".join(tags) + rng.bytes(data)


@st.composite
def raws(draw: st.DrawFn, size: int, most: int = 3000) -> bytes:
    """Raw bytes of any number of elements, in stretches of any density, all zero or dense, or of floats."""
    parts = []
    for _ in range(draw(st.integers(0, 3))):
        elements, seed = draw(st.integers(0, most // size // 3)), draw(st.integers(0, 1 << 30))
        density = draw(st.sampled_from([0.0, 0.03, 0.3, 0.6, 0.9, 1.0, None, None, None]))
        parts.append(floats(elements, size, seed) if density is None else raw_bytes(elements, size, density, seed))
    return b"".join(parts)


@st.composite
def damaged(draw: st.DrawFn, stream: bytes) -> bytes:
    """A stream with bytes flipped, cut out, put in, or cut off."""
    content = bytearray(stream)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, max(len(content) - 1, 0)))
        kind = draw(st.sampled_from(["flip", "set", "cut", "drop", "insert", "repeat"]))
        if kind == "flip" and content:
            content[place] ^= 1 << draw(st.integers(0, 7))
        elif kind == "set" and content:
            content[place] = draw(st.sampled_from([0, 1, 2, 4, 0xFF]))
        elif kind == "cut":
            del content[place:]
        elif kind == "drop":
            del content[place:place + draw(st.integers(1, 200))]
        elif kind == "insert":
            content[place:place] = draw(st.binary(max_size=40))
        elif kind == "repeat":
            content[place:place] = content[place:place + draw(st.integers(1, 200))]
    return bytes(content)


def outcome(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What a decoder gives: the bytes, or what is wrong and where."""
    try:
        result = function(*arguments, **options)
    except StreamError as error:
        return error.reason.name, error.offset, error.line, error.block
    except MalformedError as error:
        return error.fault
    return bytes(result)
