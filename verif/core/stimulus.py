"""Packets to send: directed corners, constrained random, and streams with faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cdma.golden.codec import lines as zvc
from cdma.hdl.codec.coding import LINE_BYTES
from cdma.verif.common.stream import Bytes, Packet
from cdma.verif.common.tensors import random_raw
from cdma.verif.core.packets import walk

__all__ = ["damaged", "fractions", "packed", "partial_lines", "random_packets"]

def partial_lines(element_bytes: int, seed: int) -> Iterator[Packet]:
    """Raw packets whose last line has every length from one element to a whole line, dense, sparse or empty."""
    rng = np.random.default_rng(seed)
    per_line = LINE_BYTES // element_bytes
    for elements in range(1, per_line + 1):
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
    """Raw packets whose length is not a multiple of the element size, each followed by a right one."""
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
        # A flip in a tag moves everything after it; a flip in data only changes a value.
        base, span = (line.offset, tag_bytes) if rng.random() < 0.7 else (0, whole.size)
        flipped[base + int(rng.integers(span))] ^= 1 << int(rng.integers(8))
        return flipped
    at = int(rng.integers(whole.size + 1))
    if kind == "insert":
        return np.insert(whole, at, rng.integers(0, 256, int(rng.integers(1, 2 * tag_bytes)), dtype=np.uint8))
    if kind == "remove":
        return np.delete(whole, slice(at, at + int(rng.integers(1, 2 * tag_bytes))))
    return whole[:at]
