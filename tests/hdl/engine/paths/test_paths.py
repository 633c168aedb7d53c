"""Both paths from request to result, against golden: streams, faults, aborts, page lists, silent ports."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cdma.golden.codec import blocks
from cdma.golden.engine import Descriptor, Operation, Response, Status
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.pages import PAGES_BITS
from tests.hdl.engine.axi.masters import bursts
from tests.hdl.engine.axi.memory import SIZE
from tests.hdl.engine.paths.bench import CONFIG, LEAN, SINGLE, UNEVEN, PathBench

_both = pytest.mark.parametrize("operation", Operation, ids=lambda operation: operation.name.lower())
_LANE_ERROR = {Operation.OFFLOAD: Status.LANE_READ_ERROR, Operation.PREFETCH: Status.LANE_WRITE_ERROR}
_LANE_TIMEOUT = {Operation.OFFLOAD: Status.LANE_READ_TIMEOUT, Operation.PREFETCH: Status.LANE_WRITE_TIMEOUT}
_LINK_ERROR = {Operation.OFFLOAD: Status.LINK_WRITE_ERROR, Operation.PREFETCH: Status.LINK_READ_ERROR}


def _link(asked: Descriptor) -> int:
    """Where a transfer begins at the link."""
    return asked.destination if asked.operation is Operation.OFFLOAD else asked.source


def _device(asked: Descriptor) -> int:
    return asked.source if asked.operation is Operation.OFFLOAD else asked.destination


@_both
@pytest.mark.parametrize(("config", "pauses"), [(CONFIG, 0.3), (UNEVEN, 0.0), (SINGLE, 0.0)])
def test_transfers(config: EngineConfig, pauses: float, operation: Operation) -> None:
    bench = PathBench(config, operation, seed=1, pauses=pauses)
    block, element = config.block_bytes, config.element_bytes[0]
    cases: list[dict[str, Any]] = [
        {}, {"raw_bytes": element}, {"raw_bytes": block, "device": 0, "place": 0},
        {"raw_bytes": 2 * block + 4, "place": 8192}, {"device": 3 * block}, {"device": 4 * block}]
    if operation is Operation.OFFLOAD:
        cases += [{"raw_bytes": element, "capacity": 16}, {"fallback": False}]
        cases += [{"form": 2, "fallback": False}] if config.narrowing else [{"leave_raw": True, "capacity": 4096}]
    else:
        cases += [{"device": 4 * block, "check_crc": False}]
    if config.narrowing:
        cases += [{"form": 1, "raw_bytes": 4 * block + 4}, {"form": 2, "raw_bytes": 3 * block + 4}]

    async def process(ctx: Any) -> None:
        for case in cases:
            await bench.once(ctx, bench.asked(**case))
        await ctx.tick().repeat(2)
        assert bench.beats == bench.busy
        assert (bench.memory_stalls if operation is Operation.OFFLOAD else bench.buffer_stalls) > 0
        # Nothing waits while there is nothing to do.
        before = bench.memory_stalls, bench.buffer_stalls
        await ctx.tick().repeat(50)
        assert before == (bench.memory_stalls, bench.buffer_stalls)

    bench.run(process)


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


@_both
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


def test_a_crc_is_compared_if_its_own_stream_asks_for_it() -> None:
    """Streams of all lengths of their last beat; one that does not ask for it follows each that does, at once."""
    bench = PathBench(CONFIG, Operation.PREFETCH, seed=13, pauses=0.0)

    async def process(ctx: Any) -> None:
        asked = []
        for number in range(20):
            raw = bytes([1] * 4 * (number // 2 + 1)).ljust(512, b"\0")
            asked.append(bench.asked(raw=raw, coding=0x14, place=1024 * number, device=512 * number))
            wrong = number % 2 == 0
            asked[-1] = replace(asked[-1], check_crc=wrong, crc=asked[-1].crc ^ wrong)
        found = await bench.several(ctx, asked)
        assert [each.status for each in found] == [Status.CRC_MISMATCH, Status.OK] * 10
        assert len({each.packed_bytes % bench.config.link_beat_bytes for each in asked}) == 8

    bench.run(process)


def test_short_streams_wait_until_the_totals_before_them_are_kept() -> None:
    """Four lanes with marks of seven bits: totals are kept in five words, and a stream of one beat is over sooner."""
    bench = PathBench(LEAN.replace(lanes=4, burst_beats=16), Operation.PREFETCH, seed=15, pauses=0.0)
    asked = [bench.asked(raw=b"cDMA" * words, place=1024 * number, device=512 * number)
             for number, words in enumerate([7, 1, 1, 127, 1, 31, 1, 1, 95, 1, 63, 1])]

    async def process(ctx: Any) -> None:
        assert all(each.status is Status.OK for each in await bench.several(ctx, asked))

    bench.run(process, cycles=2000)


@_both
def test_lengths_beyond_four_gibibytes(operation: Operation) -> None:
    """Their lowest 32 bits say one beat of the link, and no path ends with it."""
    bench = PathBench(CONFIG.replace(address_bits=40), operation, seed=12, pauses=0.0)

    async def process(ctx: Any) -> None:
        asked = bench.asked(16 * 512, device=0)
        far, beat = 1 << 32, bench.config.link_beat_bytes
        length = {"raw_bytes": far + beat, "capacity": far + beat, "packed_bytes": far + beat}
        await bench.begin(ctx, replace(asked, **length))
        while bench.beats < 20:
            assert not ctx.get(bench.dut.result.valid)
            await ctx.tick()
        ctx.set(bench.dut.abort, 1)
        assert (await bench.result(ctx)).status is Status.ABORTED
        ctx.set(bench.dut.abort, 0)

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


@_both
@pytest.mark.parametrize(("config", "pauses"), [(LEAN, 0.2), (UNEVEN, 0.1), (SINGLE, 0.3)])
def test_transfers_overlap(config: EngineConfig, pauses: float, operation: Operation) -> None:
    bench = PathBench(config, operation, seed=5, pauses=pauses)
    asked = _row(bench, 12)
    if config.narrowing:
        for number in (2, 5, 8):
            each = asked[number]
            asked[number] = bench.asked(each.raw_bytes, form=1 + number % 2, place=_link(each), device=_device(each),
                                        capacity=each.capacity)

    async def process(ctx: Any) -> None:
        assert all(each.status is Status.OK for each in await bench.several(ctx, asked))

    bench.run(process)
    assert bench.most == min(config.transfers_in_flight + 1, len(asked))


@_both
def test_results_that_wait_are_all_told(operation: Operation) -> None:
    """Though none is taken until every transfer in flight is done."""
    config = LEAN.replace(transfers_in_flight=2)
    bench = PathBench(config, operation, seed=14, pauses=0.0)
    asked = [bench.asked(64, place=4096 * number, device=512 * number) for number in range(5)]

    async def process(ctx: Any) -> None:
        assert all(each.status is Status.OK for each in await bench.several(ctx, asked, wait=500))

    bench.run(process, cycles=2000)


@_both
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
        bench.fail_link(_link(asked[5]), Response.SLVERR)
        if operation is Operation.OFFLOAD:
            other = {2: Status.DESTINATION_TOO_SMALL}
            bad = [*asked[:2], replace(asked[2], capacity=8), *asked[3:]]
        else:
            other = {2: Status.CRC_MISMATCH}
            bad = [*asked[:2], replace(asked[2], crc=asked[2].crc ^ 1), *asked[3:]]
        await several(ctx, bad, {5: _LINK_ERROR[operation], **other})
        for lane in range(2):
            bench.fail_lane(lane, _device(asked[5]) + 512, Response.DECERR)
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


@pytest.mark.parametrize(("operation", "port", "status"), [
    (Operation.OFFLOAD, 1, Status.LANE_READ_TIMEOUT), (Operation.OFFLOAD, 2, Status.LINK_WRITE_TIMEOUT),
    (Operation.PREFETCH, 1, Status.LANE_WRITE_TIMEOUT), (Operation.PREFETCH, 2, Status.LINK_READ_TIMEOUT)])
def test_a_port_that_does_not_answer(operation: Operation, port: int, status: Status) -> None:
    bench = PathBench(CONFIG, operation, seed=4, pauses=0.1)
    bench.answers[port] = False

    asked = bench.asked()

    async def process(ctx: Any) -> None:
        await bench.unanswered(ctx, asked, port, status)

    bench.run(process)
    if (operation, port) == (Operation.PREFETCH, 2):
        # The request that was shown, and those of the transfer that succeeds: none of an isolated port.
        assert len(bench.link.bursts) == 1 + len(bursts(asked.source, asked.packed_bytes, 32, CONFIG.burst_beats)) == 3


def test_a_port_of_lists_that_does_not_answer() -> None:
    """Of a list of three requests, that which was shown is the only one before the port answers."""
    config = LEAN.replace(page_lists=True)
    bench = PathBench(config, Operation.OFFLOAD, seed=8, pauses=0.1)
    port = config.lanes + 1
    bench.answers[port] = False
    asked = bench.asked(600, pages=[4096 * (1 + number % 12) for number in range(40)])

    async def process(ctx: Any) -> None:
        await bench.unanswered(ctx, asked, port, Status.PAGE_LIST_READ_TIMEOUT)

    bench.run(process)
    assert len(bench.lists[0].bursts) == 1 + 2


@_both
def test_of_ports_that_fall_silent_together_the_first_is_told(operation: Operation) -> None:
    bench = PathBench(CONFIG, operation, seed=6, pauses=0.0)
    bench.answers = [True, False, False]

    async def process(ctx: Any) -> None:
        await bench.begin(ctx, bench.asked())
        await ctx.tick().repeat(60)
        ctx.set(bench.dut.silent, 0b110)
        found = await bench.result(ctx)
        assert (found.status, found.lane) == (_LANE_TIMEOUT[operation], 1)

    bench.run(process)


@_both
def test_a_port_that_is_silent_for_others(operation: Operation) -> None:
    """A transfer that has nothing open at the link goes on, while a record or an entry there is not answered."""
    bench = PathBench(LEAN, operation, seed=2, pauses=0.0)
    for lane in bench.lanes:
        lane.latency = 600
    asked = bench.asked(1024)

    async def process(ctx: Any) -> None:
        await bench.begin(ctx, asked)
        if operation is Operation.PREFETCH:
            while not bench.link.bursts or bench.link.open:
                await ctx.tick()
        ctx.set(bench.dut.silent, 1 << LEAN.lanes)
        await ctx.tick().repeat(200)
        assert not ctx.get(bench.dut.result.valid)
        ctx.set(bench.dut.silent, 0)
        assert (await bench.result(ctx)).status is Status.OK

    bench.run(process)


@pytest.mark.parametrize("in_flight", [1, 2])
@_both
def test_streams_in_pages(operation: Operation, in_flight: int) -> None:
    """Pages in any order; between them a stream that is not in pages; at last a list with too few entries."""
    config = LEAN.replace(page_lists=True, transfers_in_flight=in_flight)
    bench = PathBench(config, operation, seed=in_flight, pauses=0.1)
    places = [*range(0, 0xE000, 4096)]
    random.Random(in_flight).shuffle(places)
    taken = iter(places)
    asked = []
    for number, (size, count) in enumerate([(7 * 512 + 12, 2), (512, 1), (2000, 0), (15 * 512, 3), (8192, 3)]):
        flat: dict[str, Any] = {} if count else {"place": 0xE000}
        asked.append(bench.asked(size, device=8192 * number, pages=[next(taken) for _ in range(count)], **flat))
    if operation is Operation.OFFLOAD:
        asked[2] = replace(asked[2], capacity=4096)

    async def process(ctx: Any) -> None:
        for each in await bench.several(ctx, asked):
            assert each.status is Status.OK
        assert bench.most == in_flight + 1
        # An error among them: those behind it run again, by their lists.
        for lane in range(2):
            bench.fail_lane(lane, _device(asked[3]) + 512, Response.DECERR)
        found = await bench.several(ctx, asked)
        assert [number for number, each in enumerate(found) if each.status is not Status.OK] == [3]
        bench.mend()
        for wait in range(0, 40, 4):
            await bench.aborted(ctx, asked[3], wait)
        if operation is Operation.OFFLOAD:
            # The port of lists is silent for others: nothing is read here.
            ctx.set(bench.dut.silent, 1 << config.lanes + 1)
            await bench.once(ctx, asked[2])
            ctx.set(bench.dut.silent, 0)
        # The list ends before the stream does.
        raw = bench.rng.randbytes(16384)
        short = replace(bench.asked(raw=raw, device=0, pages=[next(taken) for _ in range(5)]), pages=1)
        assert (await bench.transfer(ctx, short)).status is Status.PAGE_LIST_TOO_SHORT
        await bench.once(ctx, asked[1])

    bench.run(process)


class _Once(dict[int, int]):
    """Errors of which each is answered once."""

    def get(self, place: int, default: int = 0) -> int:  # type: ignore[override]
        return self.pop(place, default)


async def _left_over(ctx: Any, bench: PathBench) -> None:
    """Runs a transfer whose list of 64 entries is still being read when it has ended: its stream needs one of them."""
    asked, memory = bench.asked(512, pages=[0x1000]), bench.lists[0]
    await bench.begin(ctx, replace(asked, pages=64))
    while not memory.bursts:
        await ctx.tick()
    memory.latency = 1000
    assert (await bench.result(ctx, alone=False)).status is Status.OK
    await ctx.tick().repeat(20)
    assert memory.open


@pytest.mark.parametrize(("config", "place"), [(LEAN, 0xF000), (SINGLE, 0xEF40)])
@_both
def test_a_list_that_is_read_behind_the_result(operation: Operation, config: EngineConfig, place: int) -> None:
    """The path says so until nothing more is read of it, also where its second 16 entries cross 4 KiB, which the reader
    of a path with one list asks for one after the other."""
    bench = PathBench(config.replace(page_lists=True), operation, seed=3, pauses=0.0)
    bench._lists_end = place
    dut, memory = bench.dut, bench.lists[0]

    async def process(ctx: Any) -> None:
        await _left_over(ctx, bench)
        while ctx.get(dut.listing):
            await ctx.tick()
        read = len(memory.bursts)
        for _ in range(300):
            assert not (memory.open or ctx.get(dut.lists.arvalid) or ctx.get(dut.listing))
            await ctx.tick()
        assert len(memory.bursts) == read

    bench.run(process)


@_both
def test_a_list_that_is_left_over_at_a_silent_port(operation: Operation) -> None:
    """The port counts as isolated until it answers. A transfer that needs none of it is not ended for it, until another
    one is aborted: then the port's unit is stopped, and transfers wait for it."""
    bench = PathBench(LEAN.replace(page_lists=True), operation, seed=3, pauses=0.0)
    dut, silent = bench.dut, 1 << len(bench.dut.silent) - 1

    async def process(ctx: Any) -> None:
        await _left_over(ctx, bench)
        assert ctx.get(dut.listing) and not ctx.get(dut.isolated)
        ctx.set(dut.silent, silent)
        bench.lists[0].silent = True
        assert ctx.get(dut.listing) and ctx.get(dut.isolated) == silent
        if operation is Operation.OFFLOAD:
            for each in bench.lanes:
                each.latency = 300
            for wanted in (Status.OK, Status.ABORTED, Status.PAGE_LIST_READ_TIMEOUT, Status.PAGE_LIST_READ_TIMEOUT):
                await bench.begin(ctx, bench.asked(1024))
                if wanted is Status.ABORTED:
                    ctx.set(dut.abort, 1)
                found = await bench.result(ctx, alone=False)
                ctx.set(dut.abort, 0)
                assert found.status is wanted
                assert ctx.get(dut.isolated) == silent
        ctx.set(dut.silent, 0)
        bench.lists[0].silent = False
        while bench.lists[0].open:
            await ctx.tick()
        await ctx.tick().repeat(20)
        assert not ctx.get(dut.isolated) and not ctx.get(dut.listing)

    bench.run(process)


@_both
def test_all_bits_of_the_length_of_a_list_count(operation: Operation) -> None:
    bench = PathBench(LEAN.replace(page_lists=True), operation, seed=3, pauses=0.0)
    asked = bench.asked(512, pages=[0x1000])

    async def process(ctx: Any) -> None:
        for bit in range(PAGES_BITS):
            await bench.begin(ctx, replace(asked, pages=1 << bit))
            assert (await bench.result(ctx)).status is Status.OK, f"bit {bit}"

    bench.run(process)


def test_a_list_is_given_again_after_an_error() -> None:
    """That of a transfer which meets an error while the list of one behind it is given already, and all run again."""
    config = LEAN.replace(page_lists=True, transfers_in_flight=4)
    bench = PathBench(config, Operation.OFFLOAD, seed=7, pauses=0.0, device=bytes(SIZE))
    asked = [bench.asked(60 * 512, device=0, pages=[0x1000]), bench.asked(512, device=0x8000, place=0x8000),
             bench.asked(512, device=0x9000, pages=[0x3000])]
    # In a run alone the first one would be found to fail; this error is not met again.
    bench.lanes[1].faulty = _Once({15 * 512: Response.DECERR})

    async def process(ctx: Any) -> None:
        assert all(each.status is Status.OK for each in await bench.several(ctx, asked))
        assert not bench.lanes[1].faulty

    bench.run(process)
