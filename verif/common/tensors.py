"""Raw values to send: random ones of a density, and packets that are special in one way each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cdma.golden.codec.coding import SHORT, Coding
from cdma.golden.codec.layout import LINE_BYTES
from cdma.verif.common.stream import Bytes, Packet

__all__ = ["corners", "network_values", "random_raw", "random_values"]

# Bit patterns that are easily mistaken for zero or for other values: -0.0, the smallest denormal, a quiet and two
# signalling NaNs with payloads, infinity.
_SPECIAL = {
    1: [0x80, 0x01, 0x7F, 0xFF, 0x79],
    2: [0x8000, 0x0001, 0x7E01, 0x7C01, 0xFDFF, 0x7C00],
    4: [0x8000_0000, 0x0000_0001, 0x7FC0_0001, 0x7F80_0001, 0xFFBF_FFFF, 0x7F80_0000],
}


def random_raw(rng: np.random.Generator, elements: int, element_bytes: int, density: float) -> Bytes:
    """Random elements, of which about ``density`` are non-zero.

    Non-zero elements often have zero bytes in them: a core that compares bytes instead of elements fails.
    """
    values = rng.integers(1, 256, (elements, element_bytes), dtype=np.uint8)
    holes = rng.random((elements, element_bytes)) < 0.3
    holes[np.arange(elements), rng.integers(0, element_bytes, elements)] = False
    values[holes] = 0
    values[rng.random(elements) >= density] = 0
    return values.ravel()


def random_values(rng: np.random.Generator, coding: int, elements: int, density: float) -> Bytes:
    """Random elements, of which about ``density`` are non-zero.

    Of exponents half are bits of any kind, and the others numbers as tensors hold them, line by line: of one sign or
    both, close to each other or over many powers of two, with subnormal numbers, -0.0, infinities and NaNs now and
    then.
    """
    size = coding & 0x0F
    if not Coding(coding & ~SHORT).exponents or rng.random() < 0.5:
        return random_raw(rng, elements, size, density)
    per_line = LINE_BYTES // size
    lines = -(-elements // per_line)
    spread = np.repeat(rng.choice([0.0, 0.3, 1.0, 4.0, 30.0], lines), per_line)[:elements]
    numbers = np.exp2(rng.standard_normal(elements) * spread + np.repeat(rng.normal(0, 20, lines), per_line)[:elements])
    signs = np.where(rng.random(elements) < np.repeat(rng.choice([0.0, 0.5], lines), per_line)[:elements], -1, 1)
    with np.errstate(over="ignore"):
        bits = (numbers * signs).astype(np.float32).view(np.uint32)
    special = np.array([0x8000_0000, 1, 0x807F_FFFF, 0x7F80_0000, 0xFF80_0001, 0x7FC0_0001], np.uint32)
    chosen = rng.random(elements) < np.repeat(rng.choice([0.0, 0.1], lines), per_line)[:elements]
    bits = np.where(chosen, rng.choice(special, elements), bits)
    bits[rng.random(elements) >= density] = 0
    return (bits if size == 4 else (bits >> 16).astype(np.uint16)).view(np.uint8)


def network_values(rng: np.random.Generator, coding: Coding, elements: int, density: float) -> Bytes:
    """Random elements; of exponents, numbers of both signs as a network has them."""
    if not coding.exponents:
        return random_raw(rng, elements, coding.element_bytes, density)
    bits = np.where(rng.random(elements) < density, rng.standard_normal(elements), 0).astype(np.float32).view(np.uint32)
    return (bits if coding is Coding.FLOAT32 else (bits >> 16).astype(np.uint16)).view(np.uint8)


def corners(element_bytes: int, beat_bytes: int, seed: int) -> Iterator[Packet]:
    """Raw packets that are special in one way each."""
    rng = np.random.default_rng(seed)
    per_line = LINE_BYTES // element_bytes
    dtype = f"<u{element_bytes}"

    def packet(data: Bytes, about: str, empty_tail: bool = False) -> Packet:
        return Packet(data.view(np.uint8).ravel(), element_bytes, about, empty_tail)

    for lines in (1, 2, 5):
        yield packet(np.zeros(lines * LINE_BYTES, np.uint8), f"{lines} lines of zeros")
        yield packet(random_raw(rng, lines * per_line, element_bytes, 1.0), f"{lines} dense lines")
        yield packet(random_raw(rng, lines * per_line, element_bytes, 0.5), f"{lines} half lines, empty tail", True)
    for value in _SPECIAL[element_bytes]:
        yield packet(np.full(per_line, value, dtype), f"a line of {value:#x}")
        single = np.zeros(per_line, dtype)
        single[rng.integers(per_line)] = value
        yield packet(single, f"one {value:#x} in a line")
    last_zero = random_raw(rng, 2 * per_line, element_bytes, 1.0)
    last_zero[-4:] = 0
    yield packet(last_zero, "last word zero")
    for place in (0, 1, per_line // 2 - 1, per_line // 2, per_line - 1):
        one_zero = random_raw(rng, per_line, element_bytes, 1.0)
        one_zero.reshape(-1, element_bytes)[place] = 0
        yield packet(one_zero, f"only element {place} zero")
        one = np.zeros(per_line, dtype)
        one[place] = 1
        yield packet(one, f"only element {place} non-zero")
    mixed = [random_raw(rng, per_line, element_bytes, density) for density in (0, 1, 0, 0.5, 1, 1, 0, 0, 0.1)]
    yield packet(np.concatenate(mixed), "empty and dense lines in turn")
    yield packet(np.zeros(0, np.uint8), "no bytes")
    for _ in range(12):
        yield packet(random_raw(rng, 1, element_bytes, 0.5), "one element")
    yield packet(np.zeros(0, np.uint8), "no bytes after one element")
    yield packet(np.zeros(0, np.uint8), "no bytes after no bytes")
    yield packet(random_raw(rng, beat_bytes // element_bytes, element_bytes, 0.7), "one beat")
    yield packet(random_raw(rng, beat_bytes // element_bytes, element_bytes, 0.7), "one beat and an empty tail", True)
