"""The decompressor of blocks against the plain reference: payloads in, raw bytes, faults and cycles out."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from hdl.codec.payload.block_decompressor import BlockDecompressor
from hdl.codec.payload.unpacking import PayloadError
from tests.hdl.bench import Bench
from tests.hdl.codec.payload.payloads import Beat, Block, damaged, random_raw, sampled
from tests.hdl.codec.payload.unpacked import run_unpacking
from tests.hdl.ports import Source

_BLOCK = 512


@dataclass(frozen=True)
class _Payload:
    """A payload with what is said of it, and the beats that are to come."""

    payload: bytes
    coding: int
    raw_bytes: int
    beats: tuple[Beat, ...]

    @classmethod
    def of(cls, block: Block, size: int, rng: random.Random) -> _Payload:
        coding = 0x10 | block.element | rng.choice([0, 0x80])
        if len(block.payload) < block.tag_bytes:
            return cls(block.payload, coding, block.raw_bytes, (Beat(None, True, (PayloadError.TRUNCATED_TAG, 0)),))
        return cls(block.payload, coding, block.raw_bytes, tuple(block.beats(size)))

    @classmethod
    def refused(cls, rng: random.Random, sizes: tuple[int, ...], block_bytes: int) -> _Payload:
        """With a coding that is not built, or a raw length that is not possible; of any length."""
        payload = rng.randbytes(rng.choice([1, 40, 500, 3000]))
        built = [0x10 | size for size in sizes]
        bad = [coding for coding in range(128) if coding not in built]
        if rng.random() < 0.5:
            return cls(payload, rng.choice([0, 1, 4, 0x22, 0x24, *bad]) if rng.random() < 0.5 else rng.choice(bad),
                       rng.randrange(1 << 16), (Beat(None, True, (PayloadError.BAD_CODING, 0)),))._checked(built)
        size = rng.choice(sizes)
        lengths = [0, block_bytes + size, 0xFFFF, *([block_bytes - 1] if size > 1 else [])]
        return cls(payload, 0x10 | size, rng.choice(lengths), (Beat(None, True, (PayloadError.BAD_LENGTH, 0)),))

    def _checked(self, built: list[int]) -> _Payload:
        """The same, unless its coding is built after all."""
        return _Payload(self.payload, 0x7F, self.raw_bytes, self.beats) if self.coding in built else self

    def rows(self, size: int, rng: random.Random) -> list[dict[str, int]]:
        """Its beats; what does not count in them is noise."""
        rows = []
        for at in range(0, len(self.payload), size):
            part = self.payload[at:at + size]
            last = at + size >= len(self.payload)
            rows.append({
                "data": int.from_bytes(part + rng.randbytes(size - len(part)), "little"), "last": last,
                "keep": (1 << len(part)) - 1 if last else rng.getrandbits(size),
                "coding": rng.getrandbits(8) if at else self.coding,
                "raw_bytes": rng.getrandbits(16) if at else self.raw_bytes})
        return rows


class _Play:
    """A build that is prepared once, and plays lists of payloads."""

    def __init__(self, size: int, sizes: tuple[int, ...], block_bytes: int = _BLOCK, rows: int | None = None):
        self.size, self.sizes = size, sizes
        self.dut = BlockDecompressor(size, sizes, block_bytes, rows)
        self.bench = Bench(self.dut)

    def __call__(self, payloads: list[_Payload], rng: random.Random, busy: float = 1.0, ready: float = 1.0,
                 cycles: int = 20_000) -> int:
        """Plays them; returns the cycles from the first beat to the last one."""
        source = Source(self.dut.i, [row for payload in payloads for row in payload.rows(self.size, rng)], rng, busy)
        beats = [beat for payload in payloads for beat in payload.beats]
        return run_unpacking(self.bench, self.dut, self.size, [source], beats, rng, ready, cycles)


@pytest.fixture(scope="module", params=[(32, (1, 2, 4)), (16, (1, 2, 4)), (64, (1, 2, 4)), (16, (2, 4)), (32, (4,))],
                ids=lambda build: f"{build[0]}-{''.join(map(str, build[1]))}")
def play(request: pytest.FixtureRequest) -> _Play:
    return _Play(*request.param)


@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.5, 0.6)])
def test_blocks_back_to_back(play: _Play, busy: float, ready: float) -> None:
    rng = random.Random(f"{play.sizes} {busy} {ready}")
    play([_Payload.of(sampled(rng, play.sizes, _BLOCK), play.size, rng) for _ in range(384 // play.size)], rng, busy,
         ready)


@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.6, 0.6)])
def test_malformed_payloads(play: _Play, busy: float, ready: float) -> None:
    """Each fault is reported as the reference does; whole blocks between them come out right."""
    rng = random.Random(f"damage {play.sizes} {busy}")
    payloads = []
    for number in range(48 if play.size < 64 else 28):
        block = damaged(rng, sampled(rng, play.sizes, 300))
        if number % 4 == 1:
            block = Block(block.payload[:rng.randrange(1, block.tag_bytes)], block.element, block.raw_bytes)
        payloads.append(_Payload.refused(rng, play.sizes, _BLOCK) if number % 4 == 0
                        else _Payload.of(block, play.size, rng))
        payloads.append(_Payload.of(sampled(rng, play.sizes, 100), play.size, rng))
    found = Counter(beat.result[0] for payload in payloads for beat in payload.beats if beat.result)
    of_exponents = {PayloadError.BAD_FACTS, PayloadError.TRUNCATED_FACTS}
    assert all(found[code] for code in PayloadError if code not in of_exponents), f"the test lacks some: {found}"
    play(payloads, rng, busy, ready)


def test_short_blocks_of_every_length() -> None:
    """Every number of elements of 4 bytes; of smaller ones, some in the first line and in the last one."""
    rng = random.Random("short")
    play = _Play(32, (1, 2, 4))
    payloads = []
    for element in (1, 2, 4):
        places = 128 // element
        for count in range(1, 4 * places, {1: 7, 2: 5, 4: 1}[element]):
            if element == 4 or count <= places or count > 3 * places:
                raw = random_raw(rng, count * element, element, rng.choice([0.0, 0.5, 1.0]))
                payloads.append(_Payload.of(Block.of(raw, element), 32, rng))
    play(payloads, rng)


@pytest.mark.parametrize("busy", [1.0, 0.7])
def test_the_largest_block(busy: float) -> None:
    """32 KiB, dense and damaged and sparse, in the smallest memory that is allowed."""
    rng = random.Random(busy)
    play = _Play(32, (4,), 32768, 1024 + 32 + 1)
    dense = Block.of(random_raw(rng, 32768, 4, 1.0), 4)
    payloads = [dense, Block(dense.payload + rng.randbytes(3000), 4, 1280),
                Block.of(random_raw(rng, 32768, 4, 0.1), 4)]
    play([_Payload.of(block, 32, rng) for block in payloads], rng, busy)


@pytest.mark.parametrize(("size", "block_bytes", "density"), [
    (32, 4096, 0.0), (32, 4096, 0.4), (32, 4096, 0.8), (32, 4096, 1.0), (32, 512, 0.4), (32, 512, 0.8), (16, 4096, 0.7),
    (64, 2048, 0.7)])
def test_a_beat_per_cycle(size: int, block_bytes: int, density: float) -> None:
    """At least 99 % of what the raw side, or the one port of the memory, allows; blocks of all sizes of elements."""
    rng = random.Random(f"{size} {density}")
    play = _Play(size, (1, 2, 4), block_bytes)
    blocks = [Block.of(random_raw(rng, block_bytes, element, density), element)
              for element in (1, 2, 4, 4) * max(1, 256 * size // 4 // block_bytes)]
    feeds = [block.feed(size, play.sizes, rng) for block in blocks]
    limit = max(sum(len(feed.tags) + len(feed.data) for feed in feeds),
                sum(feed.order["beats"] + 1 for feed in feeds))
    assert play([_Payload.of(block, size, rng) for block in blocks], rng) <= limit / 0.99


def test_a_large_tensor() -> None:
    """64 KiB at the density of ReLU: not one cycle without a beat."""
    rng = random.Random("tensor")
    play = _Play(32, (4,), 4096)
    blocks = [Block.of(random_raw(rng, 4096, 4, 0.4), 4) for _ in range(16)]
    assert play([_Payload.of(block, 32, rng) for block in blocks], rng) == 2048


def test_latency_is_as_stated() -> None:
    rng = random.Random("latency")
    play = _Play(32, (4,), 512)
    dut, payload = play.dut, _Payload.of(Block.of(random_raw(rng, 512, 4, 0.4), 4), 32, rng)
    rows = payload.rows(32, rng)
    seen = []

    async def process(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        for cycle in range(40):
            ctx.set(dut.i.valid, cycle < len(rows))
            if cycle < len(rows):
                ctx.set(dut.i.payload, rows[cycle])
                assert ctx.get(dut.i.ready)
            if ctx.get(dut.o.valid):
                seen.append(cycle)
            await ctx.tick()

    play.bench.run(process)
    assert seen[0] == 11
    assert len(seen) == 16
