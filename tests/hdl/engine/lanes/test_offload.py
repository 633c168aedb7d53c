"""The lane of offload: every block as golden has it, whatever its density, and a raw beat in every cycle."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.narrowing import narrow
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.lanes.offload import OffloadLane
from tests.hdl.bench import Bench
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import Pace, give
from tests.hdl.engine.link.streams import activations


def _framed(raw: bytes, coding: int, block_bytes: int, fallback: bool, sequence: int,
            leave_raw: bool = False) -> bytes:
    """A block as it stands in the stream, with a number of its own."""
    stream = bytearray(blocks.compress(raw, coding, block_bytes, fallback, leave_raw).tobytes())
    stream[3] = sequence
    return bytes(stream)


def _asked(coding: int, **more: int) -> dict[str, int]:
    """A request for a block: the fields of a coding, and others."""
    return {"element": coding & 7, "exponents": Coding(coding).exponents, "fallback": 1, "leave_raw": 0, **more}


@lru_cache(maxsize=2)
def _prepared(config: EngineConfig) -> tuple[OffloadLane, Bench]:
    dut = OffloadLane(config)
    return dut, Bench(dut)


async def _take(ctx: Any, dut: OffloadLane, config: EngineConfig, count: int, pace: Pace) -> list[tuple[bytes, Any]]:
    """Framed blocks, and the payload of each one's first beat."""
    found: list[tuple[bytes, Any]] = []
    content, head, patience = b"", None, 300 * count + 20000
    while len(found) < count:
        patience -= 1
        assert patience, f"nothing comes behind block {len(found) - 1}"
        ctx.set(dut.o.ready, pace.go())
        _, _, valid, ready, beat = await ctx.tick().sample(dut.o.valid, dut.o.ready, dut.o.payload)
        if not (valid and ready):
            continue
        data = beat.data.to_bytes(config.link_beat_bytes, "little")
        assert beat.first == (head is None)
        head = beat if head is None else head
        assert not any(data[4 * beat.words:]), "words behind the last one are not zero"
        assert beat.last or beat.words == config.link_words
        content += data[:4 * beat.words]
        if beat.last:
            found.append((content, head))
            content, head = b"", None
    return found


_ZVC = ("zvc8", "zvc16", "zvc32")
_ALL = (*_ZVC, "bfloat16", "float32")
_BUILDS = [
    EngineConfig(beat_bytes=16, link_beat_bytes=16, block_bytes=512, buffer_bytes=1024, codings=_ZVC),
    EngineConfig(beat_bytes=32, link_beat_bytes=32, block_bytes=1024, buffer_bytes=2048, pipeline="fast", codings=_ZVC),
    EngineConfig(beat_bytes=16, link_beat_bytes=64, block_bytes=512, buffer_bytes=1024, codings=("zvc32",)),
    EngineConfig(beat_bytes=32, link_beat_bytes=64, block_bytes=1024, buffer_bytes=1280, codings=_ALL),
    EngineConfig(beat_bytes=64, link_beat_bytes=64, block_bytes=1024, buffer_bytes=2048, codings=("zvc8", "zvc32")),
    EngineConfig(beat_bytes=16, link_beat_bytes=32, block_bytes=1024, buffer_bytes=2048, codings=("zvc16", "bfloat16")),
    EngineConfig(beat_bytes=32, link_beat_bytes=32, block_bytes=1024, buffer_bytes=2048, narrowing=True, codings=_ALL),
    EngineConfig(beat_bytes=64, link_beat_bytes=64, block_bytes=2048, buffer_bytes=4096, narrowing=True, codings=_ZVC),
]


@pytest.mark.parametrize("pauses", [0.0, 0.4])
@pytest.mark.parametrize("number", range(len(_BUILDS)))
def test_blocks(number: int, pauses: float) -> None:
    config = _BUILDS[number]
    rng = random.Random(number)
    dut, bench = _prepared(config)
    memory = Memory(dut.axi, config.beat_bytes, rng, latency=rng.choice([0, 20]), pauses=pauses, stretch=8)
    memory.content[:] = activations(rng, SIZE, 4)
    asked, expected = [], []
    for k in range(16):
        coding = rng.choice(config.numbers)
        form = rng.choice([0, 1, 2]) if config.narrowing and coding & 7 == 2 else 0
        element = coding & 7
        grain, size = (4, config.block_bytes) if form else (element, config.block_bytes)
        if rng.random() < 0.4:
            size = grain * rng.choice([1, 2, rng.randint(1, size // grain), size // grain - 1])
        address = config.block_bytes * rng.randrange(SIZE // config.block_bytes)
        fallback = rng.random() < 0.8
        leave_raw = fallback and rng.random() < 0.1
        raw = bytes(memory.content[address:address + size])
        raw = narrow(raw, form).tobytes() if form else raw
        asked.append(_asked(coding, address=address, bytes=size, fallback=fallback, leave_raw=leave_raw, sequence=k)
                     | ({"narrow": form} if config.narrowing else {}))
        framed = _framed(raw, coding, config.block_bytes // (2 if form else 1), fallback, k, leave_raw)
        nonzero = sum(any(raw[j:j + element]) for j in range(0, len(raw), element))
        expected.append((framed, nonzero))

    async def ask(ctx: Any) -> None:
        await give(ctx, dut.i, asked, Pace(rng, pauses))

    async def take(ctx: Any) -> None:
        found = await _take(ctx, dut, config, len(asked), Pace(rng, pauses, 20))
        for k, ((framed, nonzero), (content, head)) in enumerate(zip(expected, found, strict=True)):
            assert content[:4] == framed[:4], f"block {k}: header"
            assert content == framed, f"block {k}"
            facts = head.block_words, head.nonzero, head.raw
            assert facts == (len(framed) // 4, nonzero, framed[2] == 0), f"block {k}"
        assert ctx.get(dut.idle)

    bench.run(take, ask, memory.read)


@pytest.mark.parametrize("density", [0.0, 0.5, 0.8, 1.0])
@pytest.mark.parametrize(("beat_bytes", "link_beat_bytes", "coding"), [
    (32, 32, "zvc32"), (16, 64, "zvc32"), (32, 32, "float32")])
def test_a_raw_beat_in_every_cycle(beat_bytes: int, link_beat_bytes: int, coding: str, density: float) -> None:
    """Full blocks without a pause: from the first beat read to the last, a cycle each, if the rows they make fit."""
    config = EngineConfig(beat_bytes=beat_bytes, link_beat_bytes=link_beat_bytes, block_bytes=2048, buffer_bytes=8192,
                          codings=("zvc32", coding))
    rng = random.Random(7)
    dut, bench = _prepared(config)
    memory = Memory(dut.axi, beat_bytes, rng)
    memory.content[:] = b"".join(rng.randbytes(4) if rng.random() < density else bytes(4) for _ in range(SIZE // 4))
    count, number = 12, Coding[coding.upper()]
    rows = 0
    for k in range(count):
        framed = _framed(bytes(memory.content[2048 * k:2048 * (k + 1)]), number, 2048, True, k)
        rows += -(-len(framed) // link_beat_bytes)
    cycles = []

    async def ask(ctx: Any) -> None:
        await give(ctx, dut.i, [_asked(number, address=2048 * k, bytes=2048, sequence=k) for k in range(count)],
                   Pace(rng, 0))

    async def watch(ctx: Any) -> None:
        now, seen, first = 0, 0, 0
        while seen < count * 2048 // beat_bytes:
            _, _, valid, ready = await ctx.tick().sample(dut.axi.rvalid, dut.axi.rready)
            now += 1
            if valid and ready:
                first = first or now
                seen += 1
        cycles.append(now - first + 1)

    async def take(ctx: Any) -> None:
        await _take(ctx, dut, config, count, Pace(rng, 0))

    bench.run(watch, ask, take, memory.read)
    assert cycles[0] <= 1.01 * max(count * 2048 // beat_bytes, rows)


def test_an_error_is_told_and_a_stop_leaves_nothing_open() -> None:
    config = _BUILDS[1]
    rng = random.Random(3)
    for stopped in (False, True):
        dut, bench = _prepared(config)
        memory = Memory(dut.axi, config.beat_bytes, rng, latency=15, pauses=0.2)
        if not stopped:
            memory.faulty[3 * 1024 + 32] = 3

        async def ask(ctx: Any, dut=dut) -> None:
            await give(ctx, dut.i, [_asked(0x14, address=1024 * k, bytes=1024, sequence=k) for k in range(9)],
                       Pace(rng, 0))

        async def watch(ctx: Any, dut=dut, stopped=stopped, memory=memory) -> None:
            ctx.set(dut.o.ready, 1)
            for _ in range(rng.randint(30, 90)):
                await ctx.tick()
            ctx.set(dut.stop, stopped)
            for _ in range(600):
                await ctx.tick()
            assert ctx.get(dut.idle)
            assert memory.open == 0
            assert ctx.get(dut.fault.valid) == (not stopped)
            if not stopped:
                assert (ctx.get(dut.fault.resp), ctx.get(dut.fault.address)) == (3, 3 * 1024)

        bench.run(watch, ask, memory.read)
