"""Faults and aborts of transfers, alone and among others that overlap: each ends its own, and no other."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cdma.golden.codec import blocks
from cdma.golden.engine import Descriptor, Operation, Response, Status
from cdma.hdl.config.engine import EngineConfig
from tests.hdl.engine.paths.bench import CONFIG, LEAN, SINGLE, UNEVEN, PathBench, both, lane_place, link_place

_LANE_ERROR = {Operation.OFFLOAD: Status.LANE_READ_ERROR, Operation.PREFETCH: Status.LANE_WRITE_ERROR}
_LINK_ERROR = {Operation.OFFLOAD: Status.LINK_WRITE_ERROR, Operation.PREFETCH: Status.LINK_READ_ERROR}


def _flip(place: int, bits: int) -> Callable[[bytearray], None]:
    def harm(stream: bytearray) -> None:
        stream[place] ^= bits

    return harm


def _cut(stream: bytearray) -> bytearray:
    return stream[:-4]


def _more(stream: bytearray) -> bytearray:
    return stream + bytes(4)


# The coding and the number of the first block are the upper bytes of its header.
_HARMS: list[tuple[Callable[[bytearray], bytearray | None], Status]] = [
    (_flip(2, 3), Status.BAD_CODING), (_flip(3, 1), Status.BAD_SEQUENCE), (_flip(1, 0x80), Status.BAD_LENGTH),
    (_cut, Status.TRUNCATED), (_more, Status.TRAILING)]


# Every second element is zero, so each block is coded.
_RAW = (bytes(4) + b"cDMA") * (CONFIG.block_bytes // 8) * 4
_PLACES = [each.offset for each in blocks.headers(blocks.compress(_RAW, 0x14, CONFIG.block_bytes), CONFIG.block_bytes)]


def _longer_payload(stream: bytearray) -> bytearray:
    """A word more in the last block, behind all that it decodes to."""
    stream[_PLACES[3]] += 4
    return stream + bytes(4)


@both
def test_faults_and_aborts_end_one_transfer_only(operation: Operation) -> None:
    bench = PathBench(CONFIG, operation, seed=2, pauses=0.2)

    async def process(ctx: Any) -> None:
        good = bench.asked(place=8192)
        # The block at 1536 is that of lane 1.
        bench.fail_lane(1, 1536 + 16 * (operation is Operation.OFFLOAD), Response.DECERR)
        found = await bench.transfer(ctx, good)
        assert (found.status, found.lane, found.response, found.place) == (_LANE_ERROR[operation], 1, 3, 1536)
        bench.mend()
        await bench.once(ctx, good)
        bench.fail_link(8192, Response.SLVERR)
        found = await bench.transfer(ctx, good)
        assert (found.status, found.response, found.place) == (_LINK_ERROR[operation], 2, 8192)
        bench.mend()
        await bench.once(ctx, good)
        if operation is Operation.OFFLOAD:
            # The first block that does not fit, with nothing written behind the capacity.
            for capacity in (4, 700):
                found = await bench.transfer(ctx, replace(good, capacity=capacity))
                assert found.status is Status.DESTINATION_TOO_SMALL
        else:
            for harm, status in _HARMS:
                assert (await bench.transfer(ctx, bench.asked(harm=harm))).status is status
            for bit in (0, 15, 16, 31):
                found = await bench.transfer(ctx, replace(good, crc=good.crc ^ 1 << bit))
                assert (found.status, found.crc) == (Status.CRC_MISMATCH, good.crc)
        if operation is Operation.OFFLOAD:      # its lanes have most blocks before them
            await bench.aborted(ctx, bench.asked(40 * 512, device=0, place=0, capacity=0x6000), 60)
            await bench.once(ctx, good)
        for wait in (0, 30, 120) if operation is Operation.OFFLOAD else (0, 20, 50):
            await bench.aborted(ctx, good, wait)
        await bench.once(ctx, good)

    bench.run(process)


@pytest.mark.parametrize("config", [LEAN, LEAN.replace(pipeline="fast")], ids=["small", "fast"])
def test_an_abort_at_any_time_of_an_offload(config: EngineConfig) -> None:
    """Also in the cycle of its last beat: the next transfer is not touched."""
    bench = PathBench(config, Operation.OFFLOAD, seed=9, pauses=0.0)

    async def process(ctx: Any) -> None:
        asked, ended = bench.asked(64), set()
        for wait in range(30, 110):
            bench.golden.outcomes(asked)
            await bench.begin(ctx, asked)
            for _ in range(wait):
                await ctx.tick()
            ctx.set(bench.dut.abort, not ctx.get(bench.dut.result.valid))
            ended.add((await bench.result(ctx)).status)
            ctx.set(bench.dut.abort, 0)
            await bench.once(ctx, asked)
        assert ended == {Status.OK, Status.ABORTED}

    bench.run(process)


@pytest.mark.parametrize("config", [LEAN, LEAN.replace(pipeline="fast", crc=True)], ids=["small", "fast"])
def test_a_stream_of_one_beat_behind_an_abort(config: EngineConfig) -> None:
    """In any cycle of the stream before: no beat passes before its transfer is known, from a link that answers at
    once, too."""
    bench = PathBench(config, Operation.PREFETCH, seed=11, pauses=0.0)
    bench.link.latency = 0

    async def process(ctx: Any) -> None:
        long, short = bench.asked(12 * 512, device=0, place=0), bench.asked(4, device=0x4000, place=0x8000)
        for wait in range(4, 90, 2):
            await bench.begin(ctx, long)
            for _ in range(wait):
                await ctx.tick()
            ctx.set(bench.dut.abort, not ctx.get(bench.dut.result.valid))
            assert (await bench.result(ctx)).status in (Status.ABORTED, Status.OK)
            ctx.set(bench.dut.abort, 0)
            bench.compare(long, False)
            await bench.once(ctx, short)

    bench.run(process)


@pytest.mark.parametrize("latency", [0, 1, 9])
def test_a_malformed_block_is_told_however_early_its_bytes_are_answered(latency: int) -> None:
    bench = PathBench(CONFIG, Operation.PREFETCH, seed=2, pauses=0.0)
    for memory in bench.lanes:
        memory.latency = latency

    async def process(ctx: Any) -> None:
        for harm in (*(_flip(place + 4, 1) for place in _PLACES), _longer_payload):
            asked = bench.asked(raw=_RAW, harm=harm, coding=0x14)
            assert (await bench.transfer(ctx, asked)).status is Status.BAD_PAYLOAD

    bench.run(process)


def test_the_first_fault_of_the_stream_is_told_though_its_lane_is_late() -> None:
    bench = PathBench(CONFIG, Operation.PREFETCH, seed=3, pauses=0.0)
    bench.answers[1] = False

    def harm(stream: bytearray) -> None:
        # Blocks 0 and 2 are those of lane 1.
        stream[_PLACES[2] + 4] ^= 1     # the first tag of the block announces another element
        stream[_PLACES[3] + 3] ^= 1     # a wrong number, seen in the header

    async def process(ctx: Any) -> None:
        asked = bench.asked(raw=_RAW, harm=harm, coding=0x14)
        right = bench.golden.outcomes(asked)
        await bench.begin(ctx, asked)
        for _ in range(300):
            await ctx.tick()
            assert not ctx.get(bench.dut.result.valid)
        bench.answers[1] = True
        found = await bench.result(ctx)
        assert found in right
        assert (found.status, found.place) == (Status.BAD_PAYLOAD, 2)
        bench.compare(asked, False)

    bench.run(process)


@pytest.mark.parametrize("second", ["header", "payload"])
@pytest.mark.parametrize("pipeline", ["small", "fast"])
def test_the_last_row_of_a_bad_block_waits_when_the_next_one_is_found_bad(pipeline: str, second: str) -> None:
    """Its lane has no place for it, but the first fault of the stream is told."""
    config = SINGLE.replace(pipeline=pipeline)
    for seed in (5, 9, 11, 13, 15, 18):
        bench, rng = PathBench(config, Operation.PREFETCH, seed=seed, pauses=0.0), random.Random(seed)
        bad = rng.randrange(3, 10)
        shares = [rng.choice([0.2, 0.5, 0.8]) for _ in range(12)]
        if second == "payload":
            shares[bad + 1] = 0     # a block of one row, which another lane finds bad at once
        raw = b"".join(rng.randbytes(3) + b"\x3f" if rng.random() < share else bytes(4)
                       for share in shares for _ in range(128))
        places = [each.offset for each in blocks.headers(blocks.compress(raw, 0x14, 512), 512)]

        def harm(stream: bytearray, bad: int = bad, places: list[int] = places) -> None:
            if second == "header":
                stream[places[bad + 1] + 3] ^= 1
            for block in (bad + 1, bad)[second == "header":]:       # a word more than it decodes to
                at = places[block]
                stream[at:at + 2] = (int.from_bytes(stream[at:at + 2], "little") + 4).to_bytes(2, "little")
                stream[places[block + 1]:places[block + 1]] = bytes(4)

        bench.answers[(1 + bad) % 2] = False

        async def process(ctx: Any, bench: PathBench = bench, raw: bytes = raw, harm: Any = harm, bad: int = bad
                          ) -> None:
            asked = bench.asked(raw=raw, harm=harm, coding=0x14)
            await bench.begin(ctx, asked)
            await ctx.tick().repeat(400)
            bench.answers[(1 + bad) % 2] = True
            found = await bench.result(ctx)
            assert (found.status, found.place) == (Status.BAD_PAYLOAD, bad)
            bench.compare(asked, False)

        bench.run(process)


def _row(bench: PathBench, count: int, **harms: Any) -> list[Descriptor]:
    """Transfers of different lengths between different places, at the link across a boundary of 4 KiB."""
    block = bench.config.block_bytes
    sizes = [3 * block, 4, block, 2 * block + 12, 64, 4 * block - 8, 16, block + 4]
    capacity: dict[str, Any] = {"capacity": 4000} if bench.operation is Operation.OFFLOAD else {}
    return [bench.asked(sizes[number % len(sizes)], place=4096 * (1 + number % 15) - 64,
                        device=4 * block * (number % 12), harm=harms.get(f"at{number}"), **capacity)
            for number in range(count)]


@both
@pytest.mark.parametrize(("config", "pauses"), [(LEAN, 0.2), (UNEVEN, 0.1), (SINGLE, 0.3)])
def test_transfers_overlap(config: EngineConfig, pauses: float, operation: Operation) -> None:
    bench = PathBench(config, operation, seed=5, pauses=pauses)
    asked = _row(bench, 12)
    if config.narrowing:
        for number in (2, 5, 8):
            each = asked[number]
            asked[number] = bench.asked(each.raw_bytes, form=1 + number % 2, place=link_place(each),
                                        device=lane_place(each), capacity=each.capacity)

    async def process(ctx: Any) -> None:
        assert all(each.status is Status.OK for each in await bench.several(ctx, asked))

    bench.run(process)
    assert bench.most == min(config.transfers_in_flight + 1, len(asked))


@both
def test_results_that_wait_are_all_told(operation: Operation) -> None:
    """Though none is taken until every transfer in flight is done."""
    config = LEAN.replace(transfers_in_flight=2)
    bench = PathBench(config, operation, seed=14, pauses=0.0)
    asked = [bench.asked(64, place=4096 * number, device=512 * number) for number in range(5)]

    async def process(ctx: Any) -> None:
        assert all(each.status is Status.OK for each in await bench.several(ctx, asked, wait=500))

    bench.run(process, cycles=2000)


@both
def test_faults_and_aborts_among_transfers_that_overlap(operation: Operation) -> None:
    """Errors of both memories, a small destination, a damaged stream and an abort hit one transfer each, and none of
    those around it."""
    bench = PathBench(LEAN, operation, seed=10, pauses=0.1)
    asked = _row(bench, 7)
    ok = Status.OK

    async def several(ctx: Any, asked: list[Descriptor], failing: dict[int, Status]) -> None:
        found = await bench.several(ctx, asked)
        assert [each.status for each in found] == [failing.get(number, ok) for number in range(len(asked))]
        bench.mend()

    async def process(ctx: Any) -> None:
        bench.fail_link(link_place(asked[5]), Response.SLVERR)
        if operation is Operation.OFFLOAD:
            other = {2: Status.DESTINATION_TOO_SMALL}
            bad = [*asked[:2], replace(asked[2], capacity=8), *asked[3:]]
        else:
            other = {2: Status.CRC_MISMATCH}
            bad = [*asked[:2], replace(asked[2], crc=asked[2].crc ^ 1), *asked[3:]]
        await several(ctx, bad, {5: _LINK_ERROR[operation], **other})
        for lane in range(2):
            bench.fail_lane(lane, lane_place(asked[5]) + 512, Response.DECERR)
        await several(ctx, asked, {5: _LANE_ERROR[operation]})
        for harm, status in [] if operation is Operation.OFFLOAD else [_HARMS[0], *_HARMS[3:]]:
            bad = _row(bench, 6, at3=harm)
            bad[2] = replace(bad[2], crc=bad[2].crc ^ 1)
            await several(ctx, bad, {2: Status.CRC_MISMATCH, 3: status})
        first, *others = await bench.several(ctx, _row(bench, 4), aborts=0)
        assert first.status is Status.ABORTED
        assert all(each.status is ok for each in others)

    bench.run(process)
    assert bench.most > 2
