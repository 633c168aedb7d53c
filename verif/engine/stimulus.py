"""Tensors and damaged streams: lengths around every boundary, mixed densities, every coding, and faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import SHORT, WORD_BYTES, Coding, coding_name
from cdma.golden.codec.headers import HEADER_BYTES, Block, pack_headers
from cdma.golden.codec.narrowing import NARROWED_BYTES, NARROWED_CODINGS, WIDE_BYTES, Narrowing, narrow
from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.common import payloads
from cdma.verif.common.stream import Bytes
from cdma.verif.common.tensors import random_values
from cdma.verif.engine.memory import Behaviour

__all__ = ["BEHAVIOURS", "DAMAGES", "NARROWINGS", "RawTensor", "codings", "damage", "edges", "random_behaviour",
           "random_tensor"]

BEHAVIOURS = (
    Behaviour(), Behaviour(latency=350, shuffle=0.01), Behaviour(stalls=0.3),
    Behaviour(latency=50, stalls=0.5, longest=16, shuffle=0.1), Behaviour(bandwidth=0.25),
    Behaviour(latency=7, address_after_data=True, shuffle=1.0), Behaviour(stalls=0.8, longest=2, shuffle=0.5),
)
"""How memories may answer."""

NARROWINGS = {coding: tuple(form for form, allowed in NARROWED_CODINGS.items() if coding in allowed)
              for coding in (Coding.ZVC16, Coding.BFLOAT16)}
"""The formats that float32 values may be rounded to, by the coding of the rounded values."""

_DENSITIES = (0.0, 0.02, 0.2, 0.4, 0.5, 0.7, 0.9, 1.0)


@dataclass(frozen=True)
class RawTensor:
    """A tensor to move.

    Parameters
    ----------
    raw
        A multiple of the coding's element, or of float32 where it is narrowed.
    coding
        Of the blocks of its stream.
    narrow
        What its values are rounded to, one of :class:`cdma.golden.codec.narrowing.Narrowing`.
    """

    raw: Bytes
    coding: Coding
    narrow: int = Narrowing.NONE

    def __str__(self) -> str:
        if self.narrow:
            return (f"{self.raw.size} bytes of float32, narrowed to {Narrowing(self.narrow).name.lower()} and coded as "
                    f"{coding_name(self.coding)}")
        return f"{self.raw.size} bytes coded as {coding_name(self.coding)}"

    @property
    def element_bytes(self) -> int:
        """Bytes that its length is a multiple of."""
        return WIDE_BYTES if self.narrow else self.coding.element_bytes

    def coded_bytes(self, raw_bytes: int) -> int:
        """Bytes that are coded of so many raw ones."""
        return raw_bytes * NARROWED_BYTES // WIDE_BYTES if self.narrow else raw_bytes

    def stream(self, block_bytes: int, fallback: bool, leave_raw: bool = False) -> Bytes:
        """Its block stream, for an engine with such blocks."""
        coded = narrow(self.raw, self.narrow) if self.narrow else self.raw
        return blocks.compress(coded, self.coding, self.coded_bytes(block_bytes), fallback, leave_raw)


def random_behaviour(rng: np.random.Generator) -> Behaviour:
    """One of the ways that memories may answer."""
    return BEHAVIOURS[int(rng.integers(len(BEHAVIOURS)))]


def codings(config: EngineConfig) -> tuple[Coding, ...]:
    """The codings that an engine builds."""
    return tuple(map(Coding, config.numbers))


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
                  coding: Coding | None = None, most_blocks: int = 0, narrows: bool = True) -> RawTensor:
    """A tensor of random length, density and coding; its density may change from block to block. Where the engine can,
    some are float32 to be narrowed. Values that suit a coding of exponents are numbers or any bits.

    Parameters
    ----------
    raw_bytes, coding
        Chosen at random when not given.
    most_blocks
        Blocks at most, where the length is chosen; two rounds of the lanes when not given.
    narrows
        Whether it may be narrowed.
    """
    form: int = Narrowing.NONE
    if coding is None:
        coding = Coding(int(rng.choice(config.numbers)))
        if narrows and _narrowable(config, raw_bytes) and rng.random() < 0.4:
            built = [each for each in NARROWINGS if each in config.numbers]
            coding = built[int(rng.integers(len(built)))]
    if narrows and coding in NARROWINGS and _narrowable(config, raw_bytes) and rng.random() < 0.7:
        form = NARROWINGS[coding][int(rng.integers(len(NARROWINGS[coding])))]
    kind = Coding.FLOAT32 if form else coding
    size = kind.element_bytes
    if raw_bytes is None:
        longest = (most_blocks or 2 * config.lanes + 1) * config.block_bytes
        near = [length for length in edges(config, size) if length <= longest]
        raw_bytes = int(rng.choice(near)) if rng.random() < 0.5 else int(rng.integers(1, longest // size + 1)) * size
    raw = random_values(rng, kind, raw_bytes // size, float(rng.choice(_DENSITIES)))
    for start in range(0, raw_bytes, config.block_bytes):
        if rng.random() < 0.3:
            part = raw[start:start + config.block_bytes]
            part[:] = random_values(rng, kind, part.size // size, float(rng.choice(_DENSITIES)))
    return RawTensor(raw, coding, form)


def _narrowable(config: EngineConfig, raw_bytes: int | None) -> bool:
    return config.narrowing and (raw_bytes is None or raw_bytes % WIDE_BYTES == 0)


@dataclass(frozen=True)
class _Target:
    """A stream, and the block of it that is damaged.

    Parameters
    ----------
    block
        By its header.
    raw_bytes
        That are coded in it; of a short block that is raw or has a length field, those it says itself.
    """

    stream: Bytes
    block: Block
    raw_bytes: int

    @classmethod
    def of(cls, stream: Bytes, block: Block, block_bytes: int) -> _Target:
        if block.short:
            first = stream[block.payload_offset:block.payload_offset + WORD_BYTES]
            return cls(stream, block, int.from_bytes(first.tobytes(), "little"))
        return cls(stream, block, block.payload_bytes if block.coding is Coding.RAW else block_bytes)

    @property
    def payload(self) -> Bytes:
        """The payload without the length field."""
        block = self.block
        return self.stream[block.payload_offset + WORD_BYTES * block.short:block.payload_offset + block.payload_bytes]

    def flip(self, rng: np.random.Generator, first: int, size: int) -> Bytes:
        """The stream with a bit flipped in these bytes."""
        spoiled = self.stream.copy()
        spoiled[first + int(rng.integers(size))] ^= 1 << int(rng.integers(8))
        return spoiled

    def with_coding(self, field: int) -> Bytes:
        """The stream with another coding field in the block's header."""
        spoiled = self.stream.copy()
        spoiled[self.block.offset + 2] = field
        return spoiled

    def with_payload(self, data: Bytes) -> Bytes:
        """The stream with another payload in the block, behind the same length field, and its number of bytes in the
        header."""
        block = self.block
        word = self.stream[block.payload_offset:block.payload_offset + WORD_BYTES * block.short]
        data = np.concatenate([word, data])[:0xFFFF]
        header = pack_headers(np.array([data.size]), np.array([block.field]), block.number).view(np.uint8)
        return np.concatenate([self.stream[:block.offset], header, data, np.zeros(-data.size % HEADER_BYTES, np.uint8),
                               self.stream[block.end:]])


def _flip_header(rng: np.random.Generator, target: _Target) -> Bytes:
    return target.flip(rng, target.block.offset, HEADER_BYTES)


def _other_coding(rng: np.random.Generator, target: _Target) -> Bytes:
    known = [*Coding, *(coding | SHORT for coding in Coding), 3, 8, 0x7F]
    return target.with_coding(int(known[int(rng.integers(len(known)))]))


def _flip_short(rng: np.random.Generator, target: _Target) -> Bytes:
    return target.with_coding(target.block.field ^ SHORT)


def _other_length(rng: np.random.Generator, target: _Target) -> Bytes:
    """Another number in the length field of a short block; elsewhere the same, for the payload has no such field."""
    if not target.block.short:
        return target.stream
    raw, size = target.raw_bytes, target.block.coding.element_bytes
    others = [0, raw + size, raw - size, raw + 1, raw ^ 1 << int(rng.integers(32)), int(rng.integers(1 << 32))]
    spoiled = target.stream.copy()
    at = target.block.payload_offset
    spoiled[at:at + WORD_BYTES].view("<u4")[0] = others[int(rng.integers(len(others)))] % (1 << 32)
    return spoiled


def _damage_payload(kind: str) -> Callable[[np.random.Generator, _Target], Bytes]:
    """A fault of the payload alone; the header says how many bytes there are."""
    def made(rng: np.random.Generator, target: _Target) -> Bytes:
        if not target.payload.size:
            return target.stream
        return target.with_payload(payloads.damaged_payload(rng, target.payload, target.block.coding, target.raw_bytes,
                                                            kind))

    return made


def _flip_padding(rng: np.random.Generator, target: _Target) -> Bytes:
    at = target.block.payload_offset + target.block.payload_bytes
    return target.flip(rng, at, target.block.end - at) if at < target.block.end else target.stream


def _cut(rng: np.random.Generator, target: _Target) -> Bytes:
    return target.stream[:4 * int(rng.integers(1, target.stream.size // 4 + 1))]


def _cut_at_block(rng: np.random.Generator, target: _Target) -> Bytes:
    block = target.block
    return target.stream[:block.offset] if block.offset else target.stream[:block.payload_offset]


def _extend(rng: np.random.Generator, target: _Target) -> Bytes:
    return np.concatenate([target.stream, rng.integers(0, 256, 4 * int(rng.integers(1, 40)), dtype=np.uint8)])


def _drop(rng: np.random.Generator, target: _Target) -> Bytes:
    rest = np.concatenate([target.stream[:target.block.offset], target.stream[target.block.end:]])
    return rest if rest.size else target.stream[:HEADER_BYTES]


def _repeat(rng: np.random.Generator, target: _Target) -> Bytes:
    return np.concatenate([target.stream[:target.block.end], target.stream[target.block.offset:]])


def _noise(rng: np.random.Generator, target: _Target) -> Bytes:
    spoiled = target.stream.copy()
    first = target.block.offset
    spoiled[first:] = rng.integers(0, 256, spoiled.size - first, dtype=np.uint8)
    return spoiled


def _several(rng: np.random.Generator, target: _Target) -> Bytes:
    spoiled = target.stream.copy()
    for _ in range(int(rng.integers(2, 6))):
        spoiled[int(rng.integers(spoiled.size))] ^= 1 << int(rng.integers(8))
    return spoiled


DAMAGES: dict[str, Callable[[np.random.Generator, _Target], Bytes]] = {
    "flip in a header": _flip_header, "another coding": _other_coding, "short flag wrong": _flip_short,
    "another length field": _other_length,
    **{f"payload: {kind}": _damage_payload(kind) for kind in payloads.DAMAGES},
    "flip in padding": _flip_padding, "cut": _cut, "cut at a block": _cut_at_block, "words behind": _extend,
    "block lost": _drop, "block twice": _repeat, "noise": _noise, "several flips": _several,
}
"""What can happen to a stream, by name: functions of a generator, and of a stream with one of its blocks."""

_IN_LAST = {"another length field", "short flag wrong"}


def damage(rng: np.random.Generator, streams: Sequence[tuple[Bytes, int]]) -> Iterator[tuple[str, int, Bytes]]:
    """For each stream with the bytes that are coded in a whole block of it: name of the fault, number of the stream,
    and the stream with the fault.

    A damaged stream may still be right: a flip inside an element only changes its value.
    """
    kinds = list(DAMAGES)
    for number, (stream, block_bytes) in enumerate(streams):
        kind = kinds[number % len(kinds)]
        places = list(blocks.headers(stream))
        # Only the last block can be short.
        last = kind in _IN_LAST and rng.random() < 0.7
        block = places[-1 if last else int(rng.integers(len(places)))]
        yield kind, number, DAMAGES[kind](rng, _Target.of(stream, block, block_bytes))
