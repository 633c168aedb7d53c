"""Blocks of values whose lines take every width, base and flag, and their facts from the golden reference."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from golden.reference.exponents import MANTISSA, WHOLE, ZEROS, compress_exponents

__all__ = ["CodedBlock", "random_values"]

LINE, GROUP = 128, 32

Record = dict[str, Any]


@dataclass(frozen=True)
class CodedBlock:
    """A block of whole elements, coded with exponents."""

    raw: bytes
    size: int

    @property
    def lines(self) -> int:
        """Its lines."""
        return -(-len(self.raw) // LINE)

    @property
    def parts(self) -> tuple[bytes, bytes, bytes]:
        """Facts, tags and data of the payload."""
        payload, count = compress_exponents(self.raw, self.size, False), self.lines
        coded = [header for header in payload[:count] if header != ZEROS]
        facts = count + sum((header >> 7) + (header >> 6 & 1) for header in coded)
        facts += -facts % 4
        data = facts + LINE // self.size // 8 * sum(not header >> 4 & 1 for header in coded)
        return payload[:facts], payload[facts:data], payload[data:]

    @property
    def rests(self) -> int:
        """Bytes of the data that are rests."""
        values = [self.raw[k:k + self.size] for k in range(0, len(self.raw), self.size)]
        return len(self.parts[2]) - sum(any(value) for value in values) * (self.size - 1)

    def records(self) -> list[Record]:
        """The record of each line."""
        facts = self.parts[0]
        headers, at = facts[:self.lines], self.lines
        coded = [header != ZEROS for header in headers]
        widths_at = at + sum(header >> 7 for header, counts in zip(headers, coded, strict=True) if counts)
        base, found = 0, []
        for header, counts in zip(headers, coded, strict=True):
            if not counts:
                found.append({"zero": 1})
                continue
            whole, less = header & 7 == WHOLE, 0
            if header >> 7:
                base, at = facts[at], at + 1
            if header >> 6 & 1:
                less, widths_at = facts[widths_at], widths_at + 1
            found.append({"zero": 0, "dense": header >> 4 & 1, "signs": header >> 3 & 1, "escape": header >> 5 & 1,
                          "base": 255 if whole else base, "width": 8 if whole else header & 7,
                          "less": [less >> 2 * group & 3 for group in range(4)]})
        return found


def random_values(rng: random.Random, length: int, size: int) -> bytes:
    """Elements, each line of its own kind: how many are not zero, how far exponents are apart, which signs."""
    out = bytearray()
    base = rng.randrange(256)
    while len(out) < length:
        spread = rng.choice([0, 1, 2, 3, 4, 7, 8, 14, 15, 20, 31, 40, 62, 63, 64, 255])
        if rng.random() < 0.5:
            base = rng.choice([0, 1, 2, 3, spread, 127, 254, 255, rng.randrange(spread, 256)])
        density, signs = rng.choice([0.0, 0.05, 0.5, 0.95, 1.0, 1.0]), rng.choice([0, 0.5])
        tiny = rng.choice([0, 0, 0.1, 1.0])
        for _ in range(LINE // GROUP):
            near, full = rng.choice([0, spread // 4, spread, spread]), rng.choice([0.0, density, density, density])
            for _ in range(GROUP // size):
                exponent = max(0, base - rng.randint(0, near)) if rng.random() >= tiny else 0
                value = (exponent << MANTISSA[size] | rng.choice([0, rng.getrandbits(MANTISSA[size])])
                         | (rng.random() < signs) << 8 * size - 1)
                # A value of all zeros is no value: the smallest one instead.
                out += ((value or 1) if rng.random() < full else 0).to_bytes(size, "little")
    return bytes(out[:length])
