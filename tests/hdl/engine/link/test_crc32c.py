"""The CRC against the golden one: every length of the last beat, pauses, one after another."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.golden.codec.crc32c import crc32c
from cdma.hdl.engine.link.crc32c import Crc32c
from cdma.hdl.engine.link.parity import LinearMap
from tests.hdl.bench import clocked, pulse, settled


def _beats(content: bytes, beat_bytes: int) -> list[dict[str, int]]:
    """A message; the number of words counts on its last beat only."""
    return [{"data": int.from_bytes(content[at:at + beat_bytes], "little"), "last": at + beat_bytes >= len(content),
             "words": len(content[at:at + beat_bytes]) // 4 if at + beat_bytes >= len(content) else at % 3}
            for at in range(0, len(content), beat_bytes)]


@pytest.mark.parametrize("beat_bytes", [16, 32, 64])
@pytest.mark.parametrize("pauses", [0.0, 0.4])
def test_is_the_golden_crc(beat_bytes: int, pauses: float) -> None:
    rng = random.Random(f"{beat_bytes} {pauses}")
    words = beat_bytes // 4
    lengths = [*range(1, words + 1), 2 * words, 3 * words - 1, 5 * words + 1]
    rng.shuffle(lengths)
    dut = Crc32c(beat_bytes)

    async def process(ctx: Any) -> None:
        assert not ctx.get(dut.done)
        for length in lengths:
            content = rng.randbytes(4 * length)
            for beat in _beats(content, beat_bytes):
                while rng.random() < pauses:
                    ctx.set(dut.i.payload, {"data": rng.getrandbits(8 * beat_bytes), "words": 1, "last": 1})
                    await ctx.tick()
                ctx.set(dut.i.payload, beat)
                await pulse(ctx, dut.i.valid)
                assert not ctx.get(dut.done)
                assert ctx.get(dut.busy) == beat["last"]
            waited = 1
            while not ctx.get(dut.done) and waited < 100:
                await ctx.tick()
                waited += 1
            assert waited == ((length - 1) % words + 1) + 2
            assert ctx.get(dut.value) == crc32c(content)
            assert not ctx.get(dut.busy)
            for _ in range(rng.randrange(4)):
                await ctx.tick()
                assert not ctx.get(dut.done)

    clocked(dut, process)


@pytest.mark.parametrize("beat_bytes", [16, 64])
def test_messages_without_a_pause(beat_bytes: int) -> None:
    """The next message begins in the cycle after the last beat, and ends as soon as it may."""
    rng = random.Random(beat_bytes)
    words = beat_bytes // 4
    dut = Crc32c(beat_bytes)
    messages = [rng.randbytes(4 * rng.choice([words + rng.randint(1, words), (words + 3) * words, 1]))
                for _ in range(12)]
    found = []

    async def process(ctx: Any) -> None:
        for content in messages:
            for beat in _beats(content, beat_bytes):
                while beat["last"] and ctx.get(dut.busy):
                    await ctx.tick()
                ctx.set(dut.i.payload, beat)
                await pulse(ctx, dut.i.valid)
        await ctx.tick().repeat(words + 4)

    async def watch(ctx: Any) -> None:
        while True:
            _, _, done, value = await ctx.tick().sample(dut.done, dut.value)
            if done:
                found.append(value)

    clocked(dut, process, watch)
    assert found == [crc32c(content) for content in messages]


@pytest.mark.parametrize("seed", range(6))
def test_linear_maps_add_up_their_columns(seed: int) -> None:
    """Any matrix: wide and narrow, with columns and rows that are empty, and columns that are the same."""
    rng = random.Random(seed)
    outputs = rng.choice([1, 3, 8, 20])
    columns = [rng.choice([0, rng.getrandbits(outputs), 1 << rng.randrange(outputs)]) for _ in range(1 + 5 * seed)]
    columns += columns[:3]
    dut = LinearMap(tuple(columns), outputs)

    async def process(ctx: Any) -> None:
        for _ in range(50):
            bits = rng.getrandbits(len(columns))
            ctx.set(dut.i, bits)
            await ctx.delay(1e-6)
            expected = 0
            for bit, column in enumerate(columns):
                expected ^= column if bits >> bit & 1 else 0
            assert ctx.get(dut.o) == expected

    settled(dut, process)
