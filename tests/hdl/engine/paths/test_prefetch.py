"""The prefetch path from request to result, against golden: tensors, faults, aborts, and ports that do not answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.crc32c import crc32c
from cdma.golden.codec.narrowing import narrow
from cdma.golden.engine import Descriptor, Operation, Response, Status
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.paths.prefetch import PrefetchPath
from tests.hdl.bench import Bench
from tests.hdl.engine.link.streams import activations
from tests.hdl.engine.paths.bench import CONFIG, LEAN, SINGLE, UNEVEN, PathBench

_SOURCE = 4096 - 64


@lru_cache(maxsize=4)
def _prepared(config: EngineConfig) -> tuple[PrefetchPath, Bench]:
    dut = PrefetchPath(config)
    return dut, Bench(dut)


def _bench(config: EngineConfig, seed: int, pauses: float) -> PathBench:
    return PathBench(*_prepared(config), config, Operation.PREFETCH, seed=seed, pauses=pauses)


def _asked(bench: PathBench, raw_bytes: int | None = None, *, form: int = 0, source: int = _SOURCE,
           raw: bytes = b"", harm: Callable[[bytearray], bytearray | None] | None = None, coding: int | None = None,
           **changes: Any) -> Descriptor:
    """A transfer of a new tensor, whose stream is in the link's memory, harmed or not."""
    config = bench.config
    block = config.block_bytes
    coding = config.numbers[-1] if coding is None else coding
    size = len(raw) or (4 * block - 12 if raw_bytes is None else raw_bytes)
    raw = raw or activations(bench.rng, size, 4 if form else coding & 7)
    coded = narrow(raw, form).tobytes() if form else raw
    stream = bytearray(blocks.compress(coded, coding, block // (2 if form else 1)).tobytes())
    crc = crc32c(bytes(stream)) if config.crc else 0
    stream = harm(stream) or stream if harm else stream
    bench.put(source, bytes(stream))
    asked = Descriptor(operation=Operation.PREFETCH, coding=coding, source=source, destination=block,
                       raw_bytes=size, capacity=size, packed_bytes=len(stream), narrow=form, check_crc=config.crc,
                       crc=crc)
    return replace(asked, **changes)


@pytest.mark.parametrize(("config", "pauses"), [(CONFIG, 0.3), (UNEVEN, 0.0), (SINGLE, 0.0)])
def test_transfers(config: EngineConfig, pauses: float) -> None:
    bench = _bench(config, 1, pauses)
    block = config.block_bytes

    async def process(ctx: Any) -> None:
        cases = [{}, {"raw_bytes": config.element_bytes[0]}, {"raw_bytes": block, "destination": 0, "source": 0},
                 {"raw_bytes": 2 * block + 4, "source": 8192}, {"destination": 4 * block, "check_crc": False}]
        cases += [{"form": 1}, {"form": 2, "raw_bytes": 3 * block + 4}] if config.narrowing else []
        for case in cases:
            assert (await bench.transfer(ctx, _asked(bench, **case))).status is Status.OK
        for _ in range(2):
            await ctx.tick()
        assert bench.beats == bench.busy
        assert bench.buffer_stalls > 0

    bench.run(process)


def _flip(place: int, bits: int) -> Callable[[bytearray], None]:
    def harm(stream: bytearray) -> None:
        stream[place] ^= bits

    return harm


def test_faults_and_aborts_end_one_transfer_only() -> None:
    bench = _bench(CONFIG, 2, 0.2)

    async def process(ctx: Any) -> None:
        good = _asked(bench, source=8192)
        # The block at 1536 is that of lane 1.
        bench.fail_lane(1, 1536, Response.DECERR)
        found = await bench.transfer(ctx, good)
        assert (found.status, found.lane, found.response, found.place) == (Status.LANE_WRITE_ERROR, 1, 3, 1536)
        bench.mend()
        bench.fail_link(good.source, Response.SLVERR)
        found = await bench.transfer(ctx, good)
        assert (found.status, found.response, found.place) == (Status.LINK_READ_ERROR, 2, good.source)
        bench.mend()
        assert (await bench.transfer(ctx, good)).status is Status.OK
        # The coding and the number of the first block are the upper bytes of its header.
        for harm, status in ((_flip(2, 3), Status.BAD_CODING), (_flip(3, 1), Status.BAD_SEQUENCE),
                             (_flip(1, 0x80), Status.BAD_LENGTH), (lambda stream: stream[:-4], Status.TRUNCATED),
                             (lambda stream: stream + bytes(4), Status.TRAILING)):
            found = await bench.transfer(ctx, _asked(bench, harm=harm))
            assert found.status is status
        found = await bench.transfer(ctx, replace(good, crc=good.crc ^ 1))
        assert (found.status, found.crc) == (Status.CRC_MISMATCH, good.crc)
        for wait in (0, 20, 50):
            await bench.aborted(ctx, good, wait)
        assert (await bench.transfer(ctx, good)).status is Status.OK

    bench.run(process)


def test_the_first_fault_of_the_stream_is_told_though_its_lane_is_late() -> None:
    bench = _bench(CONFIG, 3, 0.0)
    bench.answers[1] = False
    # Every second element is zero, so each block is coded. Blocks 0 and 2 are those of lane 1.
    raw = (bytes(4) + b"cDMA") * (CONFIG.block_bytes // 8) * 4
    size = CONFIG.block_bytes
    places = [each.offset for each in blocks.headers(blocks.compress(raw, 0x14, size), size)]

    def harm(stream: bytearray) -> None:
        stream[places[2] + 4] ^= 1      # the first tag of the block announces another element
        stream[places[3] + 3] ^= 1      # a wrong number, seen in the header

    async def process(ctx: Any) -> None:
        asked = _asked(bench, raw=raw, harm=harm, coding=0x14)
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


def _row(bench: PathBench, count: int, **harms: Any) -> list[Descriptor]:
    """Transfers of different lengths to different places."""
    block = bench.config.block_bytes
    sizes = [3 * block, 4, block, 2 * block + 12, 64, 4 * block - 8, 16, block + 4]
    return [_asked(bench, sizes[number % len(sizes)], source=4096 * (1 + number % 15),
                   destination=4 * block * (number % 12), harm=harms.get(f"at{number}")) for number in range(count)]


@pytest.mark.parametrize(("config", "pauses"), [(LEAN, 0.2), (UNEVEN, 0.0), (SINGLE, 0.3)])
def test_transfers_overlap(config: EngineConfig, pauses: float) -> None:
    bench = _bench(config, 5, pauses)
    asked = _row(bench, 9)
    if config.narrowing:
        for number in (2, 5, 6):
            asked[number] = _asked(bench, 2 * config.block_bytes - 8, form=1 + number % 2,
                                   source=asked[number].source, destination=asked[number].destination)

    async def process(ctx: Any) -> None:
        assert all(each.status is Status.OK for each in await bench.several(ctx, asked))

    bench.run(process)
    assert bench.most == min(config.transfers_in_flight + 1, len(asked))


@pytest.mark.parametrize("harm", [_flip(2, 3), lambda stream: stream[:-4], lambda stream: stream + bytes(4)])
def test_a_damaged_stream_among_transfers_that_overlap(harm: Callable[[bytearray], Any]) -> None:
    bench = _bench(LEAN, 10, 0.1)
    asked = _row(bench, 6, at3=harm)
    asked[2] = replace(asked[2], crc=asked[2].crc ^ 1)

    async def process(ctx: Any) -> None:
        statuses = [each.status for each in await bench.several(ctx, asked)]
        assert (statuses.count(Status.OK), statuses[2]) == (4, Status.CRC_MISMATCH)

    bench.run(process)


def test_faults_and_aborts_among_transfers_that_overlap() -> None:
    """Errors of both memories and an abort hit one transfer, and none of those around it."""
    bench = _bench(LEAN, 11, 0.1)
    asked = _row(bench, 7)

    async def process(ctx: Any) -> None:
        bench.fail_lane(1, asked[5].destination + 512, Response.DECERR)
        bench.fail_lane(0, asked[5].destination + 512, Response.DECERR)
        found = await bench.several(ctx, asked)
        assert [each.status for each in found].count(Status.OK) == 6
        bench.mend()
        bench.fail_link(asked[3].source, Response.SLVERR)
        found = await bench.several(ctx, asked)
        assert [each.status for each in found].count(Status.LINK_READ_ERROR) == 1
        bench.mend()
        first, *others = await bench.several(ctx, asked[:4], aborts=0)
        assert first.status is Status.ABORTED
        assert all(each.status is Status.OK for each in others)

    bench.run(process)
    assert bench.most > 2


@pytest.mark.parametrize(("port", "status"), [(1, Status.LANE_WRITE_TIMEOUT), (2, Status.LINK_READ_TIMEOUT)])
def test_a_port_that_does_not_answer(port: int, status: Status) -> None:
    bench = _bench(CONFIG, 4, 0.1)
    bench.answers[port] = False

    async def process(ctx: Any) -> None:
        await bench.unanswered(ctx, _asked(bench), port, status)

    bench.run(process)
