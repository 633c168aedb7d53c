"""Packets to send to block cores: directed corners, constrained random, and payloads with faults."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cdma.golden.codec.coding import SHORT, Coding
from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.verif.common.payloads import DAMAGES, damaged_payload
from cdma.verif.common.stream import Bytes, Packet
from cdma.verif.common.tensors import corners, random_raw, random_values
from cdma.verif.core.packets import Payload, RawPacket, payloads

__all__ = ["corner_packets", "damaged", "fractions", "random_packets", "refused"]


def _lines(packet: Packet, coding: int, fallback: bool) -> RawPacket:
    return RawPacket(packet.data, packet.element_bytes, packet.about, packet.empty_tail, coding=coding,
                     fallback=fallback)


def corner_packets(config: BlockCoreConfig, seed: int) -> Iterator[RawPacket]:
    """Raw packets that are special in one way each, of every coding, with and without the raw fallback.

    The corners of lines, and packets that end with a block, a beat before and a beat after it.
    """
    rng = np.random.default_rng(seed)
    for coding in config.numbers:
        size = coding & 0x0F
        for number, packet in enumerate(corners(size, config.beat_bytes, seed)):
            yield _lines(packet, coding, bool(number % 2))
        for beats in (-1, 0, 1):
            length = config.block_bytes + beats * config.beat_bytes
            for density in (0.0, 0.5, 1.0):
                raw = random_values(rng, coding, length // size, density)
                yield RawPacket.of(raw, coding, density < 1, f"a block and {beats} beats")
        dense = random_raw(rng, config.block_bytes // size, size, 1.0)
        yield RawPacket.of(dense, coding, True, "a block that stays raw")


def _length(rng: np.random.Generator, config: BlockCoreConfig, size: int, most_blocks: int) -> int:
    """A number of elements: few, any, or close to where beats and blocks end."""
    kind = rng.random()
    if kind < 0.3:
        return int(rng.integers(1, 3 * LINE_BYTES // size))
    most = most_blocks * config.block_bytes // size
    if kind < 0.7:
        return int(rng.integers(1, most + 1))
    edge = int(rng.integers(0, most_blocks + 1)) * config.block_bytes // size
    return max(1, edge + int(rng.integers(-2, 3)) * int(rng.choice([1, config.beat_bytes // size])))


def random_packets(rng: np.random.Generator, config: BlockCoreConfig, count: int,
                   most_blocks: int = 2) -> list[RawPacket]:
    """Raw packets of random coding, length and density; density may change from line to line."""
    made = []
    for _ in range(count):
        coding = int(rng.choice(config.numbers))
        size = coding & 0x0F
        elements = _length(rng, config, size, most_blocks)
        raw = random_values(rng, coding, elements, float(rng.choice([0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1])))
        if rng.random() < 0.3:
            blank = np.repeat(rng.random(raw.size // LINE_BYTES + 1) < 0.5, LINE_BYTES)[:raw.size]
            raw[blank] = 0
        made.append(RawPacket.of(raw, coding, bool(rng.random() < 0.5), "random", int(rng.integers(1 << 30))))
    return made


def fractions(config: BlockCoreConfig, seed: int) -> Iterator[RawPacket]:
    """Raw packets that end within an element, each followed by a whole one."""
    rng = np.random.default_rng(seed)
    for coding in config.numbers:
        size = coding & 0x0F
        per_line = LINE_BYTES // size
        for elements in (0, 1, per_line - 1, per_line, 3 * per_line + 1, config.block_bytes // size):
            for over in range(1, size):
                raw = random_raw(rng, elements + 1, size, 0.5)[:elements * size + over]
                yield RawPacket.of(raw, coding, about=f"{elements} elements and {over} bytes",
                                   noise=int(rng.integers(1 << 30)))
                yield RawPacket.of(random_raw(rng, 3, size, 0.5), coding, about="after a fraction")


def _payload(rng: np.random.Generator, config: BlockCoreConfig, data: Bytes, like: Payload, about: str) -> Payload:
    return Payload(data, like.element_bytes, about, noise=int(rng.integers(1 << 30)), coding=like.coding,
                   raw_bytes=like.raw_bytes)


def damaged(rng: np.random.Generator, config: BlockCoreConfig, count: int) -> list[Payload]:
    """Payloads with a fault each of :data:`cdma.verif.common.payloads.DAMAGES`, and right ones in between; some faults
    leave another payload that is right."""
    made: list[Payload] = []
    for number in range(count):
        (raw,) = random_packets(rng, config, 1, 1)
        whole = payloads(RawPacket.of(raw.data[:config.block_bytes], raw.coding, False), config.block_bytes)[0]
        kind = DAMAGES[number % len(DAMAGES)]
        spoiled = damaged_payload(rng, whole.data, Coding(whole.coding & ~SHORT), whole.raw_bytes, kind)
        made.append(_payload(rng, config, spoiled, whole, kind))
        if number % 3 == 0:
            made.append(_payload(rng, config, whole.data, whole, "right"))
    return made


def refused(rng: np.random.Generator, config: BlockCoreConfig, count: int) -> list[Payload]:
    """Payloads whose coding is not built, or whose raw length is not possible; of any length."""
    others = [number for number in range(SHORT) if number not in config.numbers]
    made = []
    for number in range(count):
        data = rng.integers(0, 256, int(rng.choice([1, 40, 500, 3000])), dtype=np.uint8)
        noise = int(rng.integers(1 << 30))
        if number % 2:
            coding = int(rng.choice([*others, *filter(others.__contains__, (0, 1, 2, 4, 0x22, 0x24))]))
            made.append(Payload(data, 1, "coding not built", noise=noise, coding=coding | int(rng.choice([0, SHORT])),
                                raw_bytes=int(rng.integers(1 << 16))))
        else:
            coding = int(rng.choice(config.numbers))
            lengths = [0, config.block_bytes + (coding & 0x0F), 0xFFFF, *[config.block_bytes - 1] * (coding & 0x0F > 1)]
            made.append(Payload(data, coding & 0x0F, "bad length", noise=noise, coding=coding,
                                raw_bytes=int(rng.choice(lengths))))
    return made
