"""Groups of elements with what is known of their exponents, and their data from the golden reference."""

from __future__ import annotations

import random
from dataclasses import dataclass

from cdma.golden.reference.exponents import MANTISSA, group_data

__all__ = ["Group", "random_facts", "random_group"]


@dataclass(frozen=True)
class Group:
    """The 32 raw bytes of a group, the bytes of its elements, and its facts."""

    raw: bytes
    size: int
    facts: dict[str, int]

    def coded(self) -> bytes:
        """Its data, from the reference."""
        values = [int.from_bytes(self.raw[k:k + self.size], "little") for k in range(0, 32, self.size)]
        return group_data([value for value in values if value], self.size, self.facts["base"], self.facts["width"],
                          bool(self.facts["signs"]), bool(self.facts["escape"]))


def random_facts(rng: random.Random, width: int, signs: int, escape: int) -> dict[str, int]:
    """Facts of a group as a compressor may find them; whole exponents have no escape."""
    base = 255 if width == 8 else rng.choice([0, 1, 127, 128, 254, 255, rng.randrange(256)])
    return {"width": width, "signs": signs, "escape": escape if width < 8 else 0, "base": base}


def random_group(rng: random.Random, size: int, facts: dict[str, int], density: float) -> Group:
    """A group with these facts; so many of its elements are not zero."""
    return Group(b"".join(_element(rng, size, facts) if rng.random() < density else bytes(size)
                          for _ in range(32 // size)), size, facts)


def _element(rng: random.Random, size: int, facts: dict[str, int]) -> bytes:
    """An element that is not zero and whose distance fits the facts."""
    width, base, escape = facts["width"], facts["base"], facts["escape"]
    while True:
        exponent = base - min(base, rng.choice([0, (1 << width) - 1, rng.randrange(1 << width)]))
        if escape and (base - exponent == (1 << width) - 1 or rng.random() < 0.3):
            # The distance of all ones is the escape's.
            exponent = 0
        sign = facts["signs"] and rng.getrandbits(1)
        mantissa = rng.choice([0, rng.getrandbits(MANTISSA[size]), (1 << MANTISSA[size]) - 1])
        value = sign << 8 * size - 1 | exponent << MANTISSA[size] | mantissa
        if value:
            return value.to_bytes(size, "little")
