"""The self-test's data and lines as they should be, from what its docstrings say."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np


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


class Line(NamedTuple):
    """A line of the UART, taken apart; the group is empty for the last one of a run."""

    group: str
    numbers: dict[str, int]
    passed: bool

    @classmethod
    def of(cls, text: str) -> Line:
        """From its text."""
        found = re.fullmatch(r"(?:(\w+) )?((?:\w+=[0-9a-f]+ )+)(PASS|FAIL)((?: \w+=[0-9a-f]+)*)", text)
        assert found, text
        pairs = (part.split("=") for part in (found[2] + found[4]).split())
        return cls(found[1] or "", {name: int(digits, 16) for name, digits in pairs}, found[3] == "PASS")


def sparse(rng: np.random.Generator, size: int) -> bytes:
    """Lines that stand for a dump's: float32 of which half are zero."""
    values = rng.standard_normal(size // 4).astype(np.float32)
    return (values * (rng.random(size // 4) < 0.5)).astype(np.float32).tobytes()
