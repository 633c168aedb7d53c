"""Data for the tests: raw bytes that look like activations, and what to do to a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from cdma.golden.codec.errors import StreamError
from cdma.golden.reference.lines import MalformedError

ELEMENT_BYTES = (1, 2, 4)
CODINGS = (0x01, 0x02, 0x04, 0x11, 0x12, 0x14, 0x22, 0x24)
"""Of block streams, but raw."""
KINDS = ("normal", "sparse", "positive", "negative zeros", "any bits", "one", "subnormal", "two exponents", "alike")
"""Of floating-point values; see :func:`floats`."""


def raw_bytes(elements: int, size: int, density: float, seed: int) -> bytes:
    """Elements of which about ``density`` are not zero; many of those have zero bytes."""
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 256, (elements, size), dtype=np.uint8)
    holes = rng.random((elements, size)) < 0.4
    holes[np.arange(elements), rng.integers(0, size, elements)] = False
    values[holes] = 0
    values[rng.random(elements) >= density] = 0
    return values.tobytes()


def floats(elements: int, size: int, kind: str, seed: int) -> bytes:
    """Values of bfloat16 or float32 with exponents of a kind."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=elements).astype(np.float32)
    if kind in ("sparse", "positive"):
        values[rng.random(elements) < 0.6] = 0
    if kind == "positive":
        values = np.abs(values)
    if kind == "negative zeros":
        values *= rng.random(elements) < 0.5
    bits = values.view(np.uint32).copy()
    if kind == "any bits":
        bits = rng.integers(0, 1 << 32, elements, dtype=np.uint32)
    elif kind == "one":
        bits[:] = 0
        bits[elements // 2:elements // 2 + 1] = 1 << 31
    elif kind == "subnormal":
        bits = np.where(rng.random(elements) < 0.3, rng.integers(0, 1 << 23, elements), bits).astype(np.uint32)
    elif kind == "two exponents":
        bits = rng.choice(np.array([0, 0x3F80_0000, 0x4280_1234, 0x8000_0000], np.uint32), elements)
    elif kind == "alike":
        bits = np.uint32(0x3F80_0000) | rng.integers(0, 1 << 23, elements, dtype=np.uint32)
    return bits.astype("<u4").tobytes() if size == 4 else (bits >> np.uint32(16)).astype("<u2").tobytes()


@st.composite
def raws_for(draw: st.DrawFn, coding: int, most: int = 3000) -> bytes:
    """Raw bytes for a coding: stretches of any density, and for exponents of all kinds of values."""
    size = coding & 15
    if coding < 0x20 or draw(st.booleans()):
        return draw(raws(size, most))
    return b"".join(floats(draw(st.integers(0, most // size // 3)), size, draw(st.sampled_from(KINDS)),
                           draw(st.integers(0, 1 << 30))) for _ in range(draw(st.integers(0, 3))))


@st.composite
def raws(draw: st.DrawFn, size: int, most: int = 3000) -> bytes:
    """Raw bytes of any number of elements and any density; stretches may be all zero or dense."""
    parts = []
    for _ in range(draw(st.integers(0, 3))):
        density = draw(st.sampled_from([0.0, 0.03, 0.3, 0.6, 0.9, 1.0]))
        parts.append(raw_bytes(draw(st.integers(0, most // size // 3)), size, density, draw(st.integers(0, 1 << 30))))
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
