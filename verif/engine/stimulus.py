"""Tensors and damaged streams: lengths around every boundary, mixed densities, and faults of every kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from golden.codec import blocks
from golden.codec.headers import HEADER_BYTES, Block
from golden.codec.narrowing import NARROWED_BYTES, WIDE_BYTES, Narrowing, narrow
from hdl.codec.coding import LINE_BYTES
from hdl.config.engine import EngineConfig
from verif.common.stream import Bytes
from verif.common.tensors import random_raw
from verif.engine.memory import Behaviour

__all__ = ["BEHAVIOURS", "DAMAGES", "RawTensor", "damage", "edges", "random_behaviour", "random_tensor"]

BEHAVIOURS = (
    Behaviour(), Behaviour(latency=350), Behaviour(stalls=0.3), Behaviour(latency=50, stalls=0.5, longest=16),
    Behaviour(bandwidth=0.25), Behaviour(latency=7, address_after_data=True), Behaviour(stalls=0.8, longest=2),
)
"""How memories may answer."""

_DENSITIES = (0.0, 0.02, 0.2, 0.4, 0.5, 0.7, 0.9, 1.0)


@dataclass(frozen=True)
class RawTensor:
    """A tensor to move.

    Parameters
    ----------
    raw
        A multiple of ``element_bytes`` bytes, or of float32 where it is narrowed.
    element_bytes
        Of the stream.
    narrow
        What its values are rounded to, one of :class:`golden.codec.narrowing.Narrowing`.
    """

    raw: Bytes
    element_bytes: int
    narrow: int = Narrowing.NONE

    def __str__(self) -> str:
        if self.narrow:
            return f"{self.raw.size} bytes of float32, narrowed to {Narrowing(self.narrow).name.lower()}"
        return f"{self.raw.size} bytes of {8 * self.element_bytes}-bit elements"

    def stream(self, block_bytes: int, fallback: bool, leave_raw: bool = False) -> Bytes:
        """Its block stream, for an engine with such blocks."""
        if not self.narrow:
            return blocks.compress(self.raw, self.element_bytes, block_bytes, fallback, leave_raw)
        return blocks.compress(narrow(self.raw, self.narrow), self.element_bytes,
                               block_bytes * NARROWED_BYTES // WIDE_BYTES, fallback, leave_raw)


def random_behaviour(rng: np.random.Generator) -> Behaviour:
    """One of the ways that memories may answer."""
    return BEHAVIOURS[int(rng.integers(len(BEHAVIOURS)))]


def edges(config: EngineConfig, element_bytes: int) -> list[int]:
    """Lengths around all boundaries inside an engine: elements, beats, lines, pages of 4 KiB, blocks, rounds of lanes.

    All are multiples of the element size; the shortest is one element.
    """
    block = config.block_bytes
    ends = {0, config.beat_bytes, config.link_beat_bytes, LINE_BYTES, 4096, block, 2 * block, config.lanes * block,
            (config.lanes + 1) * block, (2 * config.lanes + 1) * block}
    steps = (-config.beat_bytes, -element_bytes, 0, element_bytes, config.beat_bytes)
    return sorted({end + step for end in ends for step in steps if end + step > 0})


def random_tensor(rng: np.random.Generator, config: EngineConfig, raw_bytes: int | None = None,
                  element_bytes: int | None = None, most_blocks: int = 0) -> RawTensor:
    """A tensor of random length, density and element size; its density may change from block to block. Where the
    engine can, some are float32 to be narrowed, of any bits.

    Parameters
    ----------
    raw_bytes, element_bytes
        Chosen at random when not given.
    most_blocks
        Blocks at most, where the length is chosen; two rounds of the lanes when not given.
    """
    coded = element_bytes or int(rng.choice(config.element_bytes))
    form = Narrowing.NONE
    if config.narrowing and rng.random() < 0.5 and (raw_bytes is None or raw_bytes % WIDE_BYTES == 0):
        coded, form = NARROWED_BYTES, Narrowing(int(rng.integers(1, 3)))
    size = WIDE_BYTES if form else coded
    if raw_bytes is None:
        longest = (most_blocks or 2 * config.lanes + 1) * config.block_bytes
        near = [length for length in edges(config, size) if length <= longest]
        raw_bytes = int(rng.choice(near)) if rng.random() < 0.5 else int(rng.integers(1, longest // size + 1)) * size
    raw = random_raw(rng, raw_bytes // size, size, float(rng.choice(_DENSITIES)))
    for start in range(0, raw_bytes, config.block_bytes):
        if rng.random() < 0.3:
            part = raw[start:start + config.block_bytes]
            part[:] = random_raw(rng, part.size // size, size, float(rng.choice(_DENSITIES)))
    return RawTensor(raw, coded, form)


def _places(stream: Bytes) -> list[Block]:
    return list(blocks.headers(stream))


def _flip(rng: np.random.Generator, stream: Bytes, first: int, size: int) -> Bytes:
    spoiled = stream.copy()
    spoiled[first + int(rng.integers(size))] ^= 1 << int(rng.integers(8))
    return spoiled


def _flip_header(rng: np.random.Generator, stream: Bytes, block: Block, element_bytes: int) -> Bytes:
    return _flip(rng, stream, block.offset, HEADER_BYTES)


def _flip_coding(rng: np.random.Generator, stream: Bytes, block: Block, element_bytes: int) -> Bytes:
    spoiled = stream.copy()
    spoiled[block.offset + 2] = int(rng.choice([0, 1, 2, 4, 3, 8, 255]))
    return spoiled


def _flip_tag(rng: np.random.Generator, stream: Bytes, block: Block, element_bytes: int) -> Bytes:
    return _flip(rng, stream, block.payload_offset, min(block.payload_bytes, LINE_BYTES // element_bytes // 8))


def _flip_payload(rng: np.random.Generator, stream: Bytes, block: Block, element_bytes: int) -> Bytes:
    return _flip(rng, stream, block.payload_offset, block.payload_bytes)


def _flip_padding(rng: np.random.Generator, stream: Bytes, block: Block, element_bytes: int) -> Bytes:
    at = block.payload_offset + block.payload_bytes
    return _flip(rng, stream, at, block.end - at) if at < block.end else stream


def _cut(rng: np.random.Generator, stream: Bytes, block: Block, element_bytes: int) -> Bytes:
    return stream[:4 * int(rng.integers(1, stream.size // 4 + 1))]


def _cut_at_block(rng: np.random.Generator, stream: Bytes, block: Block, element_bytes: int) -> Bytes:
    return stream[:block.offset] if block.offset else stream[:block.payload_offset]


def _extend(rng: np.random.Generator, stream: Bytes, block: Block, element_bytes: int) -> Bytes:
    return np.concatenate([stream, rng.integers(0, 256, 4 * int(rng.integers(1, 40)), dtype=np.uint8)])


def _drop(rng: np.random.Generator, stream: Bytes, block: Block, element_bytes: int) -> Bytes:
    rest = np.concatenate([stream[:block.offset], stream[block.end:]])
    return rest if rest.size else stream[:HEADER_BYTES]


def _repeat(rng: np.random.Generator, stream: Bytes, block: Block, element_bytes: int) -> Bytes:
    return np.concatenate([stream[:block.end], stream[block.offset:]])


def _noise(rng: np.random.Generator, stream: Bytes, block: Block, element_bytes: int) -> Bytes:
    spoiled = stream.copy()
    spoiled[block.offset:] = rng.integers(0, 256, stream.size - block.offset, dtype=np.uint8)
    return spoiled


def _several(rng: np.random.Generator, stream: Bytes, block: Block, element_bytes: int) -> Bytes:
    for _ in range(int(rng.integers(2, 6))):
        stream = _flip(rng, stream, 0, stream.size)
    return stream


DAMAGES = {
    "flip in a header": _flip_header, "another coding": _flip_coding, "flip in a tag": _flip_tag,
    "flip in a payload": _flip_payload, "flip in padding": _flip_padding, "cut": _cut, "cut at a block": _cut_at_block,
    "words behind": _extend, "block lost": _drop, "block twice": _repeat, "noise": _noise, "several flips": _several,
}
"""What can happen to a stream, by name: functions of a generator, the stream, one of its blocks and the element size.
"""


def damage(rng: np.random.Generator, streams: Sequence[tuple[Bytes, int]]) -> Iterator[tuple[str, int, Bytes]]:
    """For each stream with its element size: name of the fault, number of the stream, and the stream with the fault.

    A damaged stream may still be right: a flip inside an element only changes its value.
    """
    kinds = list(DAMAGES)
    for number, (stream, element_bytes) in enumerate(streams):
        kind = kinds[number % len(kinds)]
        places = _places(stream)
        yield kind, number, DAMAGES[kind](rng, stream, places[int(rng.integers(len(places)))], element_bytes)
