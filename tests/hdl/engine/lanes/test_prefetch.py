"""Prefetch lanes behind their distributor: what the golden model makes of a stream, or the fault that it names."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.errors import StreamError
from cdma.golden.codec.narrowing import widen
from cdma.hdl.codec.coding import RAW_CODING
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.lanes.prefetch import PrefetchLane
from cdma.hdl.engine.transfer.buffers import PREFETCH_MEMORIES
from cdma.hdl.engine.transfer.records import BLOCK_BITS, Status
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.traffic import Pace, give
from tests.hdl.engine.lanes.chain import Play, Stream
from tests.hdl.engine.link.streams import activations, damage, packed, sparse, status_of


def _config(lanes: int, beat: int, link: int, block: int, buffer: int, *codings: str) -> EngineConfig:
    return EngineConfig(lanes=lanes, beat_bytes=beat, link_beat_bytes=link, block_bytes=block, buffer_bytes=buffer,
                        codings=("zvc32", *codings))


_CONFIGS = [
    _config(3, 16, 16, 512, 1024, "zvc16", "float32"),
    _config(1, 16, 32, 512, 4096).replace(codings=("zvc8", "zvc16", "bfloat16")),
    _config(2, 32, 32, 512, 1024, "float32"),
    _config(2, 16, 64, 512, 4096, "zvc8"),
    _config(1, 32, 64, 512, 1024, "zvc8", "zvc16"),
    _config(1, 64, 64, 512, 4096).replace(codings=("zvc16",)),
    _config(2, 32, 32, 512, 1024, "zvc16", "bfloat16").replace(pipeline="fast"),
]
"""Every pair of widths. Few, because to prepare one takes Amaranth longer than to run a stream through it."""

_PIPELINES = pytest.mark.parametrize("pipeline", ["small", "fast"])


@pytest.mark.parametrize(("narrowed", "damaged", "seed"), [
    (narrowed, damaged, seed) for narrowed, damaged, count in (
        (False, False, 14), (False, True, 35), (True, False, 8), (True, True, 16)) for seed in range(count)])
def test_any_stream(narrowed: bool, damaged: bool, seed: int) -> None:
    """Whole and damaged streams, of values and of rounded ones: what golden makes of them, and nothing else changed."""
    rng = random.Random(f"{narrowed} {damaged} {seed}")
    if narrowed:
        config = _CONFIGS[(0, 4, 5, 6)[seed % 4]].replace(
            codings=("zvc16", "zvc32", "bfloat16"), block_bytes=1024, buffer_bytes=2048, narrowing=True)
        form, coding = rng.choice([(1, 0x12), (1, 0x22), (2, 0x12)])
    else:
        config = _CONFIGS[seed % len(_CONFIGS)]
        form, coding = 0, rng.choice(config.numbers)
    element = coding & 7
    coded = activations(rng, element * rng.randrange(1, 6 * 512 // element), element)
    stream = packed(coded, coding, 512, rng.random() < 0.7)
    if damaged:
        stream = damage(rng, stream, 512)
    play = Play(config, stream, (2 if form else 1) * len(coded), coding, narrow=form,
                address=config.block_bytes * rng.randrange(20), busy=rng.choice([1.0, 1.0, 0.4]),
                pauses=rng.choice([0.0, 0.1, 0.5]), latency=rng.choice([0, 5, 60]), seed=rng.getrandbits(32))
    assert play.untouched()
    hope = coded
    try:
        if damaged:
            hope = blocks.decompress(np.frombuffer(stream, np.uint8), 512, len(coded), coding=coding).tobytes()
    except StreamError as fault:
        assert play.fault == status_of(fault)
    else:
        assert play.fault is None
        assert play.raw() == (widen(hope, form).tobytes() if form else hope)


@_PIPELINES
@pytest.mark.parametrize("seed", range(3))
def test_streams_one_after_another(seed: int, pipeline: str) -> None:
    """Of any coding and form, short ones too, through lanes that are not reset; they may still write the one before."""
    rng = random.Random(seed)
    config = _config(2, 32, 32, 1024, 2048, "zvc16", "bfloat16").replace(narrowing=True, pipeline=pipeline)
    streams, hopes, address = [], [], 0
    for _ in range(12):
        form, coding = rng.choice([(0, 0x12), (0, 0x14), (0, 0x22), (1, 0x12), (1, 0x22), (2, 0x12)])
        coded = activations(rng, (coding & 7) * rng.choice([1, 9, rng.randrange(1, 1200)]), coding & 7)
        size = 512 if form else 1024
        streams.append(Stream(packed(coded, coding, size, rng.random() < 0.7), (2 if form else 1) * len(coded), coding,
                              form, address))
        hopes.append(widen(coded, form).tobytes() if form else coded)
        address += 1024 * (rng.randrange(2) + -(-streams[-1].raw_bytes // 1024))
    *before, last = streams
    play = Play(config, *last[:3], narrow=last.narrow, address=last.address, before=before,
                pauses=rng.choice([0.0, 0.4]), latency=rng.choice([0, 60]), seed=seed)
    assert play.fault is None and play.untouched()
    assert [play.raw(each) for each in streams] == hopes


@pytest.mark.parametrize("elements", [1, 2, 3, 255, 256, 257, 511, 512])
def test_narrowed_blocks_of_any_length(elements: int) -> None:
    config = EngineConfig(lanes=1, block_bytes=1024, buffer_bytes=4096, narrowing=True, codings=("zvc16", "bfloat16"))
    coded = np.random.default_rng(elements).integers(0, 1 << 16, elements, dtype=np.uint16).tobytes()
    for seed, (form, coding) in enumerate([(1, 0x12), (2, 0x12), (1, 0x22)]):
        play = Play(config, packed(coded, coding, 512), 4 * elements, coding, narrow=form, latency=20 * seed, seed=seed)
        assert play.fault is None
        assert play.raw() == widen(coded, form).tobytes()
        assert play.untouched()


def _gaps(play: Play) -> list[int]:
    """Of each lane: cycles from its first beat to its last one in which it wrote nothing."""
    return [beats[-1] - beats[0] + 1 - len(beats) for beats in play.beats if beats]


@pytest.mark.parametrize(("beat", "link", "coding", "kind", "pipeline"), [(*sizes, kind, "small") for sizes in (
    (16, 16, 0x14), (16, 64, 0x14), (32, 32, 0x14), (64, 64, 0x14), (32, 32, 0x24), (16, 32, 0x24))
    for kind in ("raw", "dense", "half")] + [(32, 64, 0x14, "in turn", "small")] + [
    (32, 32, 0x24, kind, "fast") for kind in ("raw", "dense", "half")])
def test_a_beat_in_every_cycle(beat: int, link: int, coding: int, kind: str, pipeline: str) -> None:
    config = _config(1, beat, link, 1024, 2048, *([] if coding == 0x14 else ["float32"])).replace(pipeline=pipeline)
    rng = np.random.default_rng(beat + link)
    values = rng.integers(1, 1 << 32, 8 * 256, dtype=np.uint32)
    if kind == "half":
        values[::2] = 0
    if kind == "in turn":
        values.reshape(8, 256)[1::2, ::2] = 0
    raw = values.tobytes()
    stream = packed(raw, coding, 1024, fallback=kind != "dense")
    play = Play(config, stream, len(raw), coding)
    assert play.fault is None
    assert play.raw() == raw
    # No more than the headers take on the link, or what coding adds to the beats of a block: the lane has as many.
    coded = sum(-(-block.payload_bytes // beat) for block in blocks.headers(stream, 1024))
    most = max(-(-len(stream) // link), coded, len(raw) // beat)
    assert _gaps(play)[0] <= most - len(raw) // beat + 2


@pytest.mark.parametrize("form", [1, 2])
@pytest.mark.parametrize("link", [32, 64])
def test_a_wide_beat_in_every_cycle(link: int, form: int) -> None:
    """Narrowed values on a link that carries more than the lane writes."""
    config = EngineConfig(lanes=1, beat_bytes=32, link_beat_bytes=link, block_bytes=2048, buffer_bytes=8192,
                          narrowing=True, codings=("zvc16",))
    values = np.random.default_rng(link).integers(1, 1 << 16, 8 * 512, dtype=np.uint16)
    values[::2] = 0
    play = Play(config, packed(values.tobytes(), 0x12, 1024), 4 * values.size, 0x12, narrow=form)
    assert play.raw() == widen(values, form).tobytes()
    assert _gaps(play)[0] <= 2


def test_a_slow_memory_does_not_stop_the_others() -> None:
    config = _config(2, 16, 16, 512, 2048)
    raw = np.random.default_rng(3).integers(1, 255, 6 * 512, dtype=np.uint8).tobytes()
    play = Play(config, packed(raw, 0x14, 512), len(raw), 0x14, slow=1)
    assert play.raw() == raw
    # The link has handed out everything while the slow lane was at work on its first blocks.
    assert play.beats[0][-1] < play.beats[1][32]


@_PIPELINES
@pytest.mark.parametrize("lane", [0, 1])
def test_an_error_response_ends_the_lane(lane: int, pipeline: str) -> None:
    config = _config(2, 16, 32, 512, 1024).replace(pipeline=pipeline)
    raw = random.Random(lane).randbytes(8 * 512)
    address = 512 * (4 + lane)
    play = Play(config, packed(raw, 0x14, 512), len(raw), 0x14, address=1024, faulty=(lane, address))
    assert play.axi_fault == (lane, 3, address)
    assert play.fault is None
    assert play.untouched()


@_PIPELINES
@pytest.mark.parametrize("cycle", range(5, 85, 8))
def test_stopped_at_any_time_it_comes_to_rest(cycle: int, pipeline: str) -> None:
    config = _config(2, 16, 32, 512, 1024).replace(pipeline=pipeline)
    raw = activations(random.Random(cycle), 8 * 512, 4)
    play = Play(config, packed(raw, 0x14, 512), len(raw), 0x14, pauses=0.3, latency=20, stop_at=cycle)
    assert play.fault is None
    assert play.untouched()
    written = [(byte, hope) for byte, hope in zip(play.raw(), raw, strict=True) if byte != 0xA5]
    assert all(byte == hope for byte, hope in written)


@_PIPELINES
@pytest.mark.parametrize("rows_before", [0, 20, 32])
def test_stopped_it_takes_all_rows_and_writes_nothing_more(rows_before: int, pipeline: str) -> None:
    dut = PrefetchLane(_config(1, 16, 16, 512, 1024).replace(pipeline=pipeline))

    async def process(ctx: Any) -> None:
        async def offer(number: int) -> bool:
            """Whether a row of raw blocks is taken in a cycle. The memory takes nothing: a lane that runs waits."""
            ctx.set(dut.i.payload, {"first": number % 32 == 0, "last": number % 32 == 31, "data": number, "block": {
                "coding": RAW_CODING, "raw_bytes": 512, "payload_bytes": 512, "address": 512 * (number // 32)}})
            ctx.set(dut.i.valid, 1)
            _, _, ready = await ctx.tick().sample(dut.i.ready)
            ctx.set(dut.i.valid, 0)
            return bool(ready)

        for number in range(rows_before):
            while not await offer(number):
                pass
        ctx.set(dut.stop, 1)
        await ctx.tick()
        asks = ctx.get(dut.axi.awvalid)         # a request stays until it is taken
        for number in range(rows_before, 400):
            assert await offer(number)
            assert ctx.get(dut.axi.awvalid) <= asks
        assert not ctx.get(dut.fault.valid)

    clocked(dut, process)


def test_the_number_of_a_bad_block_has_all_its_bits() -> None:
    dut = PrefetchLane(_config(1, 16, 16, 512, 1024))
    number = (1 << BLOCK_BITS) - 2

    async def process(ctx: Any) -> None:
        # The first tag of the payload announces an element that is not there.
        await give(ctx, dut.i, [{"first": 1, "last": 1, "data": 1, "block": {
            "coding": 0x14, "raw_bytes": 4, "payload_bytes": 4, "number": number}}], Pace(random.Random(0), 0))
        await ctx.tick().repeat(30)
        fault = ctx.get(dut.fault)
        assert (fault.valid, fault.status, fault.block) == (1, Status.BAD_PAYLOAD, number)

    clocked(dut, process)


_ROW = {"first": 1, "last": 1, "data": 0x1234, "block": {"coding": RAW_CODING, "raw_bytes": 16, "payload_bytes": 16}}


@pytest.mark.parametrize("address", [0xA55A_A55A_A55A_A400, 0x5AA5_5AA5_5AA5_5A00])
def test_an_address_has_all_its_bits(address: int) -> None:
    dut = PrefetchLane(_config(1, 16, 16, 512, 1024).replace(address_bits=64))

    async def process(ctx: Any) -> None:
        await give(ctx, dut.i, [_ROW | {"block": {**_ROW["block"], "address": address}}], Pace(random.Random(0), 0))
        await ctx.tick().until(dut.axi.awvalid)
        assert ctx.get(dut.axi.awaddr) == address

    clocked(dut, process)


@pytest.mark.parametrize("form", [0, 1])
@_PIPELINES
def test_waits_are_counted_where_they_arise(pipeline: str, form: int) -> None:
    """For the link while no block is there; for the memory while it takes nothing, with more than the writer holds, and
    in no cycle in which it takes a beat, also of values that are widened."""
    config = EngineConfig(lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=1024, buffer_bytes=2048,
                          codings=("zvc16",), narrowing=True, pipeline=pipeline)
    dut = PrefetchLane(config)
    rows = [{"first": number % 32 == 0, "last": number % 32 == 31, "block": {
        **_ROW["block"], "raw_bytes": 512, "payload_bytes": 512, "address": 1024 * (number // 32), "narrow": form}}
        for number in range(64)]

    async def process(ctx: Any) -> None:
        for _ in range(5):
            await ctx.tick()
            assert ctx.get(dut.waits) == {"memory": 0, "buffer": 1}
        await give(ctx, dut.i, rows, Pace(random.Random(0), 0))
        await ctx.tick().repeat(20)
        for _ in range(20):
            assert ctx.get(dut.waits) == {"memory": 1, "buffer": 0}
            await ctx.tick()
        for ready in (dut.axi.awready, dut.axi.wready):
            ctx.set(ready, 1)
        await ctx.tick().repeat(10)
        for _ in range(40):
            assert not ctx.get(dut.waits.memory)
            await ctx.tick()

    clocked(dut, process)


_PARITY = [
    _config(2, 32, 64, 512, 1280, "float32").replace(buffer_parity=True, safe_writes=True),
    _config(1, 16, 16, 512, 1024).replace(buffer_parity=True, codings=("zvc8", "zvc16")),
    _config(2, 16, 32, 512, 1024).replace(buffer_parity=True, codings=("zvc32", "float32"), pipeline="fast"),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("config", _PARITY)
def test_without_an_error_none_is_found(config: EngineConfig, seed: int) -> None:
    coding = config.numbers[seed % 2]
    raw = activations(random.Random(seed), 6 * 512, 4)
    play = Play(config, packed(raw, coding, 512), len(raw), coding, pauses=0.2, latency=10, seed=seed)
    assert play.spoiled is None and play.fault is None
    assert play.raw() == raw


@pytest.mark.parametrize(("pauses", "cycle"), [(0.0, 0), (0.4, 0), (0.0, 75), (0.4, 120)])
@pytest.mark.parametrize("memory", range(PREFETCH_MEMORIES))
@pytest.mark.parametrize(("config", "coding"), [(config, coding) for config in _PARITY for coding in config.numbers])
def test_with_an_error_in_a_memory_nothing_wrong_is_written(config: EngineConfig, coding: int, memory: int,
                                                            pauses: float, cycle: int) -> None:
    rng = random.Random(f"{coding} {memory} {pauses} {cycle}")
    lane = rng.randrange(config.lanes)
    raw = sparse(rng, 16 * 512)
    play = Play(config, packed(raw, coding, 512), len(raw), coding, pauses=pauses, latency=10,
                seed=rng.getrandbits(16), inject=(lane, memory, cycle))
    if memory == PREFETCH_MEMORIES - 1 and not config.safe_writes:
        # There is no such memory.
        assert play.spoiled is None and play.raw() == raw
        return
    assert play.spoiled == lane, f"an error in lane {lane} was found in {play.spoiled}"
    assert play.fault is None and play.untouched()
    assert all(byte in (0xA5, raw[at]) for at, byte in enumerate(play.raw()))
