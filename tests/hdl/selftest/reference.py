"""The self-test's data and lines as they should be, from what its docstrings say."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

LINE = re.compile(r"(?P<bits>8|16|32) bit (?:density (?P<density>\d)/8|dump) raw (?P<raw>\d+) packed (?P<packed>\d+) "
                  r"ratio (?P<ratio>\d+\.\d{3}) raw beats/cycle (?P<rate>\d+\.\d{3}) (?P<verdict>PASS|FAIL)\Z")
"""A line of a test."""


def generated(beat_bytes: int, element_bytes: int, eighths: int, raw_bytes: int) -> bytes:
    """The packet of generated data with a density."""
    words = [(0x9E3779B9 * (2 * k + 1)) % 2**32 for k in range((11 * beat_bytes + 31) // 32)]
    packet = bytearray()
    while len(packet) < raw_bytes:
        noise = sum(word << (32 * k) for k, word in enumerate(words))
        values = bytearray(noise.to_bytes(len(words) * 4, "little")[:beat_bytes])
        for element in range(0, beat_bytes, element_bytes):
            if (noise >> (8 * beat_bytes + 3 * element)) % 8 < eighths:
                values[element] |= 1
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


def sparse(rng: np.random.Generator, size: int) -> bytes:
    """Lines that stand for a dump's: float32 of which half are zero."""
    values = rng.standard_normal(size // 4).astype(np.float32)
    return (values * (rng.random(size // 4) < 0.5)).astype(np.float32).tobytes()
