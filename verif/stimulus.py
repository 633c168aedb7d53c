"""Packets to send: directed corners, constrained random, and streams with faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from golden import zvc
from hdl.config import LINE_BYTES
from verif.lines import walk
from verif.stream import Bytes, Packet

__all__ = ["corners", "damaged", "fractions", "packed", "partial_lines", "random_packets", "random_raw"]

# Bit patterns that are easily taken for zero, or for what they are not: -0.0, the smallest denormal, a quiet and two
# signalling NaNs with payloads, infinity.
_SPECIAL = {
    1: [0x80, 0x01, 0x7F, 0xFF, 0x79],
    2: [0x8000, 0x0001, 0x7E01, 0x7C01, 0xFDFF, 0x7C00],
    4: [0x8000_0000, 0x0000_0001, 0x7FC0_0001, 0x7F80_0001, 0xFFBF_FFFF, 0x7F80_0000],
}


def random_raw(rng: np.random.Generator, elements: int, element_bytes: int, density: float) -> Bytes:
    """Random elements, of which about ``density`` are non-zero.

    Non-zero elements often have zero bytes in them: a core that looks at bytes instead of elements is found out.
    """
    values = rng.integers(1, 256, (elements, element_bytes), dtype=np.uint8)
    holes = rng.random((elements, element_bytes)) < 0.3
    holes[np.arange(elements), rng.integers(0, element_bytes, elements)] = False
    values[holes] = 0
    values[rng.random(elements) >= density] = 0
    return values.ravel()


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


def partial_lines(element_bytes: int, seed: int, longest: int = LINE_BYTES) -> Iterator[Packet]:
    """Raw packets whose last line has every length from one element to a whole line, dense, sparse or empty.

    Parameters
    ----------
    longest
        Number of elements of the longest.
    """
    rng = np.random.default_rng(seed)
    per_line = LINE_BYTES // element_bytes
    for elements in range(1, min(longest, per_line) + 1):
        before = per_line * int(rng.integers(0, 3))
        density = float(rng.choice([0, 0.1, 0.5, 0.9, 1]))
        raw = random_raw(rng, before + elements, element_bytes, density)
        yield Packet(raw, element_bytes, f"partial line of {elements}", noise=int(rng.integers(1 << 30)))


def _length(rng: np.random.Generator, element_bytes: int, most_lines: int) -> int:
    """A number of elements: any, or close to where beats and lines end."""
    per_line = LINE_BYTES // element_bytes
    if rng.random() < 0.5:
        return int(rng.integers(0, most_lines * per_line + 1))
    edge = int(rng.integers(0, most_lines * 8 + 1)) * per_line // 8
    return max(0, edge + int(rng.integers(-2, 3)))


def random_packets(rng: np.random.Generator, element_bytes: Sequence[int], count: int,
                   most_lines: int = 12) -> list[Packet]:
    """Raw packets of random element size, length and density; density may change from line to line."""
    made = []
    for _ in range(count):
        size = int(rng.choice(list(element_bytes)))
        elements = _length(rng, size, 2 if rng.random() < 0.4 else most_lines)
        raw = random_raw(rng, elements, size, float(rng.choice([0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1])))
        if rng.random() < 0.3:
            blank = np.repeat(rng.random(elements * size // LINE_BYTES + 1) < 0.5, LINE_BYTES)[:raw.size]
            raw[blank] = 0
        made.append(Packet(raw, size, "random", noise=int(rng.integers(1 << 30))))
    return made


def packed(packet: Packet) -> Packet:
    """The packed stream of a raw packet, to send to a decompressor."""
    data = zvc.compress(packet.data, packet.element_bytes)
    return Packet(data, packet.element_bytes, packet.about, noise=packet.noise)


def fractions(element_bytes: int, seed: int) -> Iterator[Packet]:
    """Raw packets whose length is no multiple of the element size, each followed by a right one."""
    rng = np.random.default_rng(seed)
    per_line = LINE_BYTES // element_bytes
    for elements in (0, 1, 2, 7, per_line // 2, per_line - 1, per_line, per_line + 1, 3 * per_line - 1, 3 * per_line):
        for over in range(1, element_bytes):
            raw = random_raw(rng, elements + 1, element_bytes, float(rng.choice([0, 0.5, 1])))
            yield Packet(raw[:elements * element_bytes + over], element_bytes,
                         f"{elements} elements and {over} bytes", noise=int(rng.integers(1 << 30)))
            yield Packet(random_raw(rng, 3, element_bytes, 0.5), element_bytes, "after a fraction")


def damaged(rng: np.random.Generator, element_bytes: int, count: int) -> list[Packet]:
    """Packed streams with a fault each, and right ones in between; some faults leave another stream that is right.

    Cut anywhere, cut inside a tag, cut at an element or inside one, bits flipped, bytes put in or taken out, and plain
    random bytes.
    """
    made = []
    for number in range(count):
        elements = _length(rng, element_bytes, 6)
        raw = random_raw(rng, elements, element_bytes, float(rng.choice([0, 0.05, 0.3, 0.6, 0.9, 1])))
        whole = zvc.compress(raw, element_bytes)
        kind = ("cut", "cut in tag", "cut in data", "flip", "insert", "remove", "random")[number % 7]
        made.append(Packet(_damage(rng, whole, element_bytes, kind), element_bytes, kind,
                           noise=int(rng.integers(1 << 30))))
        if number % 3 == 0:
            made.append(Packet(whole, element_bytes, "right", noise=int(rng.integers(1 << 30))))
    return made


def _damage(rng: np.random.Generator, whole: Bytes, element_bytes: int, kind: str) -> Bytes:
    tag_bytes = LINE_BYTES // element_bytes // 8
    lines = walk(whole, element_bytes)
    if kind == "random" or not lines:
        return rng.integers(0, 256, int(rng.integers(0, 600)), dtype=np.uint8)
    line = lines[int(rng.integers(len(lines)))]
    if kind == "cut in tag":
        return whole[:line.offset + int(rng.integers(1, tag_bytes))]
    if kind == "cut in data":
        elements = line.held // element_bytes
        fraction = int(rng.integers(0, element_bytes))
        return whole[:line.offset + tag_bytes + int(rng.integers(0, elements + 1)) * element_bytes + fraction]
    if kind == "flip":
        flipped = whole.copy()
        # Flips of tags move everything behind them; flips of data do no more than change a value.
        base, span = (line.offset, tag_bytes) if rng.random() < 0.7 else (0, whole.size)
        flipped[base + int(rng.integers(span))] ^= 1 << int(rng.integers(8))
        return flipped
    at = int(rng.integers(whole.size + 1))
    if kind == "insert":
        return np.insert(whole, at, rng.integers(0, 256, int(rng.integers(1, 2 * tag_bytes)), dtype=np.uint8))
    if kind == "remove":
        return np.delete(whole, slice(at, at + int(rng.integers(1, 2 * tag_bytes))))
    return whole[:at]
