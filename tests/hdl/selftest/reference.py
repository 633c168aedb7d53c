"""The self-test's data and lines as they should be, from what its docstrings say."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

LINE = re.compile(r"(?P<bits>8|16|32) bit (?:density (?P<density>\d)/8|dump) raw (?P<raw>\d+) packed (?P<packed>\d+) "
                  r"ratio (?P<ratio>\d+\.\d{3}) raw beats/cycle (?P<rate>\d+\.\d{3}) (?P<verdict>PASS|FAIL)\Z")
"""A line of a test."""


def generated(beat_bytes: int, element_bytes: int, eighths: int, raw_bytes: int, *, floats: bool = False) -> bytes:
    """The packet of generated data with a density."""
    words = [(0x9E3779B9 * (2 * k + 1)) % 2**32 for k in range((11 * beat_bytes + 31) // 32)]
    packet = bytearray()
    while len(packet) < raw_bytes:
        noise = sum(word << (32 * k) for k, word in enumerate(words))
        values = bytearray(noise.to_bytes(len(words) * 4, "little")[:beat_bytes])
        for element in range(0, beat_bytes, element_bytes):
            if (noise >> (8 * beat_bytes + 3 * element)) % 8 < eighths:
                values[element] |= 1
                if floats and element_bytes > 1:
                    last = element + element_bytes - 1
                    values[last] = values[last] & 0b1000_0011 | 0b0011_1100
            else:
                values[element:element + element_bytes] = bytes(element_bytes)
        packet += values
        for k, word in enumerate(words):
            word ^= word << 13 & 0xFFFFFFFF
            word ^= word >> 17
            words[k] = word ^ (word << 5 & 0xFFFFFFFF)
    return bytes(packet)


@dataclass(frozen=True)
class Line:
    """A line of a test, taken apart."""

    bits: int
    density: int | None
    raw: int
    packed: int
    ratio: int
    rate: int
    passed: bool

    @classmethod
    def of(cls, text: str) -> Line:
        """From its text; ratio and rate in thousandths."""
        found = LINE.match(text)
        assert found, text
        return cls(int(found["bits"]), None if found["density"] is None else int(found["density"]), int(found["raw"]),
                   int(found["packed"]), int(found["ratio"].replace(".", "")), int(found["rate"].replace(".", "")),
                   found["verdict"] == "PASS")


ENGINE_LINE = re.compile(
    r"(?P<coding>zvc8|zvc16|zvc32|bfloat16|float32) (?:(?:density (?P<density>\d)/8|dump) raw (?P<raw>\d+) packed "
    r"(?P<packed>\d+) ratio (?P<ratio>\d+\.\d{3}) offload (?P<offload>\d+) prefetch (?P<prefetch>\d+) cycles"
    r"|flipped byte (?P<place>\d+) status (?P<status>\d+)) "
    r"(?P<verdict>PASS|FAIL in step (?P<step>\d+): \d+ instead of \d+)\Z")
"""A line of a test of an engine."""


@dataclass(frozen=True)
class EngineLine:
    """A line of a test of an engine, taken apart; the ratio in thousandths, None for what is not in it."""

    coding: str
    density: int | None
    raw: int | None
    packed: int | None
    ratio: int | None
    offload: int | None
    prefetch: int | None
    place: int | None
    status: int | None
    step: int | None

    @classmethod
    def of(cls, text: str) -> EngineLine:
        """From its text."""
        found = ENGINE_LINE.match(text)
        assert found, text
        numbers = (None if found[name] is None else int(found[name].replace(".", "")) for name in (
            "density", "raw", "packed", "ratio", "offload", "prefetch", "place", "status", "step"))
        return cls(found["coding"], *numbers)


def sparse(rng: np.random.Generator, size: int) -> bytes:
    """Lines that stand for a dump's: float32 of which half are zero."""
    values = rng.standard_normal(size // 4).astype(np.float32)
    return (values * (rng.random(size // 4) < 0.5)).astype(np.float32).tobytes()
