"""The lane of offload: every block as golden has it, whatever its density, and a raw beat in every cycle."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any, NamedTuple

import pytest
from amaranth.hdl import Const

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.narrowing import narrow
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.lanes.offload import OffloadLane
from cdma.hdl.engine.transfer.buffers import OFFLOAD_MEMORIES, LaneMemory
from tests.hdl.bench import Bench, pulse
from tests.hdl.engine.axi.masters import rate
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import Pace, give
from tests.hdl.engine.link.streams import activations, sparse

PARTS = ["cdma.hdl.engine.lanes.framer.Framer"]
"""Components whose faults show here; mutants of them were tried."""

_SPOILED = 3    # cycles from the read of a wrong row to `spoiled`, at most


class _Block(NamedTuple):
    """What a lane is asked for, and the block as it stands in the stream, with a number of its own."""

    asked: dict[str, int]
    framed: bytes
    nonzero: int


def _block(memory: Memory, config: EngineConfig, number: int, coding: int, size: int, *, address: int | None = None,
           form: int = 0, fallback: bool = True, leave_raw: bool = False) -> _Block:
    """A block, by default in its place of a tensor at address 0."""
    element = coding & 7
    address = config.block_bytes * number if address is None else address
    raw = bytes(memory.content[address:address + size])
    raw = narrow(raw, form).tobytes() if form else raw
    asked = {"element": element, "exponents": Coding(coding).exponents, "fallback": fallback, "leave_raw": leave_raw,
             "address": address, "bytes": size, "sequence": number, **({"narrow": form} if config.narrowing else {})}
    framed = bytearray(blocks.compress(raw, coding, config.block_bytes // (2 if form else 1), fallback,
                                       leave_raw).tobytes())
    framed[3] = number
    return _Block(asked, bytes(framed), sum(any(raw[j:j + element]) for j in range(0, len(raw), element)))


@lru_cache(maxsize=2)
def _prepared(config: EngineConfig) -> tuple[OffloadLane, Bench]:
    dut = OffloadLane(config)
    return dut, Bench(dut)


async def _take(ctx: Any, dut: OffloadLane, config: EngineConfig, count: int, pace: Pace
                ) -> tuple[list[tuple[bytes, Any, int]], int | None]:
    """Framed blocks, each with the payload of its first beat and the cycle of its last one; and the cycle in which an
    error in a memory was found, which is the end."""
    found: list[tuple[bytes, Any, int]] = []
    content, head = b"", None
    spoiled = dut.spoiled if config.buffer_parity else Const(0)
    for cycle in range(300 * count + 20_000):
        ctx.set(dut.o.ready, pace.go())
        _, _, valid, ready, beat, bad = await ctx.tick().sample(dut.o.valid, dut.o.ready, dut.o.payload, spoiled)
        if valid and ready:
            data = beat.data.to_bytes(config.link_beat_bytes, "little")
            assert beat.first == (head is None)
            head = beat if head is None else head
            assert config.buffer_parity or not any(data[4 * beat.words:]), "words behind the last one are not zero"
            assert beat.last or beat.words == config.link_words
            content += data[:4 * beat.words]
            if beat.last:
                found.append((content, head, cycle))
                content, head = b"", None
        if bad:
            return found, cycle
        if len(found) == count and cycle > found[-1][-1] + _SPOILED:
            return found, None
    raise AssertionError(f"nothing comes behind block {len(found) - 1}")


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
    expected = []
    for number in range(16):
        coding = rng.choice(config.numbers)
        form = rng.choice([0, 1, 2]) if config.narrowing and coding & 7 == 2 else 0
        grain, size = (4 if form else coding & 7), config.block_bytes
        if rng.random() < 0.4:
            size = grain * rng.choice([1, 2, rng.randint(1, size // grain), size // grain - 1])
        fallback = rng.random() < 0.8
        expected.append(_block(memory, config, number, coding, size, form=form, fallback=fallback,
                               address=config.block_bytes * rng.randrange(SIZE // config.block_bytes),
                               leave_raw=fallback and rng.random() < 0.1))

    async def ask(ctx: Any) -> None:
        await give(ctx, dut.i, [each.asked for each in expected], Pace(rng, pauses))

    async def take(ctx: Any) -> None:
        found, _ = await _take(ctx, dut, config, len(expected), Pace(rng, pauses, 20))
        for number, (each, (content, head, _)) in enumerate(zip(expected, found, strict=True)):
            assert content[:4] == each.framed[:4], f"block {number}: header"
            assert content == each.framed, f"block {number}"
            facts = head.block_words, head.nonzero, head.raw
            assert facts == (len(each.framed) // 4, each.nonzero, each.framed[2] == 0), f"block {number}"
        assert ctx.get(dut.idle)

    bench.run(take, ask, memory.read)


@pytest.mark.parametrize("number", [0, 1, 4])
def test_small_blocks_that_wait(number: int) -> None:
    """A buffer holds more blocks of zeros than the lane tells of at once: none is forgotten while the link waits."""
    config = _BUILDS[number]
    rng = random.Random(number)
    dut, bench = _prepared(config)
    memory = Memory(dut.axi, config.beat_bytes, rng)
    expected = [_block(memory, config, each, config.numbers[-1], config.block_bytes) for each in range(16)]

    async def ask(ctx: Any) -> None:
        await give(ctx, dut.i, [each.asked for each in expected], Pace(rng, 0.0))

    async def take(ctx: Any) -> None:
        await ctx.tick().repeat(1500)
        found, _ = await _take(ctx, dut, config, len(expected), Pace(rng, 0.0))
        assert [content for content, *_ in found] == [each.framed for each in expected]

    bench.run(take, ask, memory.read)


def test_waits_are_counted_where_they_arise() -> None:
    """For the memory while it has not answered; for the link in no cycle in which it takes all, and in each when its
    buffer is full."""
    config = _BUILDS[1]
    dut, bench = _prepared(config)
    memory = Memory(dut.axi, config.beat_bytes, random.Random(2), latency=100)
    block = _block(memory, config, 0, config.numbers[-1], config.block_bytes)
    waits: list[int] = []

    async def watch(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        await give(ctx, dut.i, [block.asked], Pace(memory.rng, 0))
        for _ in range(400):
            waits.append(ctx.get(dut.waits.memory))
            assert not ctx.get(dut.waits.buffer)
            await ctx.tick()
        ctx.set(dut.o.ready, 0)
        memory.latency = 0
        for _ in range(6):
            await give(ctx, dut.i, [block.asked | {"leave_raw": 1}], Pace(memory.rng, 0))
        await ctx.tick().repeat(400)
        for _ in range(20):
            assert ctx.get(dut.waits) == {"memory": 0, "buffer": 1}
            await ctx.tick()

    bench.run(watch, memory.read)
    assert 95 <= sum(waits) <= 110 and waits[20] and not waits[200]


@pytest.mark.parametrize("address", [0xA55A_A55A_A55A_A400, 0x5AA5_5AA5_5AA5_5A00])
def test_an_address_has_all_its_bits(address: int) -> None:
    dut, bench = _prepared(_BUILDS[0].replace(address_bits=64))

    async def process(ctx: Any) -> None:
        await give(ctx, dut.i, [{"element": 4, "address": address, "bytes": 512}], Pace(random.Random(0), 0))
        await ctx.tick().until(dut.axi.arvalid)
        assert ctx.get(dut.axi.araddr) == address

    bench.run(process)


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
    given = [_block(memory, config, number, Coding[coding.upper()], 2048) for number in range(12)]
    rows = sum(-(-len(each.framed) // link_beat_bytes) for each in given)
    beats = 12 * 2048 // beat_bytes
    speed = 0.0

    async def ask(ctx: Any) -> None:
        await give(ctx, dut.i, [each.asked for each in given], Pace(rng, 0))

    async def watch(ctx: Any) -> None:
        nonlocal speed
        speed = await rate(ctx, dut.o.ready, dut.axi.rvalid & dut.axi.rready, beats)

    bench.run(watch, ask, memory.read)
    assert beats / speed <= 1.01 * max(beats, rows)


@pytest.mark.parametrize("stopped", [False, True])
def test_an_error_is_told_and_a_stop_leaves_nothing_open(stopped: bool) -> None:
    config = _BUILDS[1]
    rng = random.Random(3)
    dut, bench = _prepared(config)
    memory = Memory(dut.axi, config.beat_bytes, rng, latency=15, pauses=0.2)
    if not stopped:
        memory.faulty[3 * 1024 + 32] = 3

    async def ask(ctx: Any) -> None:
        await give(ctx, dut.i, [_block(memory, config, number, 0x14, 1024).asked for number in range(9)], Pace(rng, 0))

    async def watch(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        await ctx.tick().repeat(rng.randint(30, 90))
        ctx.set(dut.stop, stopped)
        await ctx.tick().repeat(600)
        assert ctx.get(dut.idle)
        assert memory.open == 0
        assert ctx.get(dut.fault.valid) == (not stopped)
        if not stopped:
            assert (ctx.get(dut.fault.resp), ctx.get(dut.fault.address)) == (3, 3 * 1024)

    bench.run(watch, ask, memory.read)


@pytest.mark.parametrize(("memory", "seed"), [(None, seed) for seed in range(4)] + [
    (memory, seed) for memory in range(OFFLOAD_MEMORIES) for seed in range(2)])
@pytest.mark.parametrize("beat_bytes", [16, 32, 64])
def test_an_error_in_each_memory_is_found(beat_bytes: int, memory: int | None, seed: int) -> None:
    """Before the block that it spoils has left, or right behind it; without an error none is found."""
    config = EngineConfig(beat_bytes=beat_bytes, link_beat_bytes=64, block_bytes=512, buffer_bytes=1280,
                          buffer_parity=True, codings=("zvc32", "float32"))
    dut, bench = _prepared(config)
    rng = random.Random(seed)
    device = Memory(dut.axi, beat_bytes, rng, latency=10, pauses=0.3, content=bytearray(sparse(rng, SIZE)))
    lines = memory is not None and memory >= LaneMemory.LINE_RECORDS.value      # of the coding with exponents only
    expected = [_block(device, config, number, 0x24 if lines else rng.choice([0x14, 0x24]), 512)
                for number in range(12)]

    async def ask(ctx: Any) -> None:
        if memory is not None:
            await pulse(ctx, dut.inject[memory])
        await give(ctx, dut.i, [each.asked for each in expected], Pace(rng, 0.1))

    async def take(ctx: Any) -> None:
        found, spoiled = await _take(ctx, dut, config, len(expected), Pace(rng, 0.3))
        if memory is None:
            assert spoiled is None
            assert [content for content, _, _ in found] == [each.framed for each in expected]
            return
        assert spoiled is not None, f"an error in {LaneMemory(memory).name} was not found"
        for number, (content, _, cycle) in enumerate(found):
            assert content == expected[number].framed or cycle >= spoiled - _SPOILED, f"block {number} is wrong"

    bench.run(take, ask, device.read, seed=seed)
