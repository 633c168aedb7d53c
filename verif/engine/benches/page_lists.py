"""Wrong or unreadable page lists: the right status, nothing written outside, and the next transfer works."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np

from cdma.golden.codec.coding import Coding
from cdma.golden.codec.headers import HEADER_BYTES
from cdma.golden.engine import ENTRY_BYTES, PAGE_SIZES, Descriptor, Operation, Status
from cdma.verif.common import job
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.recovery import goes_on, right_pair
from cdma.verif.engine.stimulus import RawTensor, random_behaviour, random_tensor
from cdma.verif.engine.testbench import EngineTestbench, ready, share

_BAD = (Status.PAGE_MISALIGNED, Status.PAGE_LIST_TOO_SHORT, Status.PAGE_LIST_READ_ERROR, Status.PAGE_OUTSIDE)
_RESPONSES = (2, 3)     # SLVERR, DECERR
_LONG_PAGES = 48        # of a stream whose list is still being read when the next one begins
_LARGE_PAGE = 16        # 64 KiB
_BYTES = 20_000         # of a tensor at most: some need several pages, and the test stays short


def _address(descriptor: Descriptor) -> int:
    """Where the page list of a descriptor is."""
    return descriptor.destination if descriptor.operation == Operation.OFFLOAD else descriptor.source


def _longer(bench: EngineTestbench, descriptor: Descriptor) -> Descriptor:
    """The descriptor with more entries, so that the last beat of its list has none that the stream needs."""
    old, more = _address(descriptor), bench.config.link_beat_bytes // ENTRY_BYTES
    entries = bench.link_arena.view(old, descriptor.pages * ENTRY_BYTES).view("<u8")
    pages = descriptor.pages + more
    place = bench.link_arena.take(pages * ENTRY_BYTES, align=bench.config.link_beat_bytes)
    bench.link_arena.view(place, pages * ENTRY_BYTES).view("<u8")[:] = np.append(entries, np.repeat(entries[-1:], more))
    offload = descriptor.operation == Operation.OFFLOAD
    return replace(descriptor, pages=pages, **{"destination" if offload else "source": place})


async def _spoil(bench: EngineTestbench, descriptor: Descriptor, status: Status) -> Descriptor:
    """The descriptor with something wrong with one of its pages; the last ones may not be needed."""
    rng = bench.rng
    stream = descriptor.capacity if descriptor.operation == Operation.OFFLOAD else descriptor.packed_bytes
    number = int(rng.integers(max(1, -(-stream >> descriptor.page_size))))
    place = _address(descriptor) + number * ENTRY_BYTES
    entry = bench.link_arena.view(place, ENTRY_BYTES).view("<u8")
    if status is Status.PAGE_MISALIGNED:
        entry[0] |= np.uint64(1 << int(rng.integers(descriptor.page_size)))
    elif status is Status.PAGE_OUTSIDE:
        entry[0] |= np.uint64(1 << int(rng.integers(bench.config.address_bits, 64)))
    elif status is Status.PAGE_LIST_TOO_SHORT:
        return replace(descriptor, pages=max(1, -(-stream >> descriptor.page_size) - 1))
    else:
        at = place + int(rng.integers(ENTRY_BYTES))
        resp = _RESPONSES[int(rng.integers(len(_RESPONSES)))]
        await bench.fail("link", at, at, resp, writes=False)
    return descriptor


def _places(bench: EngineTestbench, descriptors: list[Descriptor], kinds: list[Status],
            operation: Operation) -> list[int]:
    """Which descriptor gets which fault. Of a list that is to be too short, one of this direction, a stream needs more
    than one page."""
    order = [int(each) for each in bench.rng.permutation(len(descriptors))]
    longest = max(order, key=lambda at: (descriptors[at].operation == operation,
                                         descriptors[at].packed_bytes or descriptors[at].capacity))
    order.remove(longest)
    order.insert(kinds.index(Status.PAGE_LIST_TOO_SHORT), longest)
    return order[:len(kinds)]


@cocotb.test()
async def bad_lists(dut: Any) -> None:
    """Entries that are misaligned, outside or unreadable, and lists that end early, alone and among right transfers."""
    bench = await ready(dut)
    bench.page_share = 1
    found: set[Status] = set()
    kinds = [each for each in _BAD if each is not Status.PAGE_OUTSIDE or bench.config.address_bits < 64]
    for number in range(3 * share(8)):
        prompt = number < 4
        bench.page_size = PAGE_SIZES[0] if prompt else None
        await bench.behave(*(Behaviour() if prompt else random_behaviour(bench.rng) for _ in range(2)))
        blocks = max(3 * bench.config.lanes, _BYTES // bench.config.block_bytes)
        descriptors = [each for _ in range(4) for each in right_pair(bench, blocks)]
        for at, status in zip(_places(bench, descriptors, kinds, list(Operation)[number % 2]), kinds,
                              strict=True):
            descriptors[at] = await _spoil(bench, descriptors[at], status)
        found |= {each.status for each in await bench.load_and_run(descriptors)}
        await bench.heal()
        await bench.counters()
        await goes_on(bench)
    missing = {Status.OK, *kinds} - found
    assert not missing, f"no transfer ended with {', '.join(each.name for each in missing)}"


@cocotb.test()
async def an_unreadable_list_behind_a_long_stream(dut: Any) -> None:
    """A list that cannot be read is read ahead, while the one before it is still being read: only its own transfer
    fails."""
    bench = await ready(dut)
    bench.page_share, bench.page_size = 1, PAGE_SIZES[0]
    dense = RawTensor(bench.rng.integers(1, 256, _LONG_PAGES << bench.page_size, dtype=np.uint8),
                      Coding(bench.config.numbers[0]))
    short = random_tensor(bench.rng, bench.config, most_blocks=1)
    for operation in Operation:
        own = [bench.move(operation, each) for each in (dense, short)]
        own[1] = await _spoil(bench, own[1], Status.PAGE_LIST_READ_ERROR)
        found = [each.status for each in await bench.load_and_run(own)]
        assert found == [Status.OK, Status.PAGE_LIST_READ_ERROR]
        await bench.heal()
        await bench.counters()
        await goes_on(bench)


@cocotb.test()
async def an_entry_that_no_stream_needs(dut: Any) -> None:
    """The last entry of a list cannot be read. A stream that needs no entry of that beat does not fail; the transfers
    behind it never do, one by one or all at once."""
    bench = await ready(dut)
    bench.page_share, bench.page_size = 1, PAGE_SIZES[0]
    for number in range(2 * share(10)):
        await bench.behave(*(Behaviour() if number < 2 else random_behaviour(bench.rng) for _ in range(2)))
        for operation in Operation:
            bench.clear()
            tensors = [random_tensor(bench.rng, bench.config, most_blocks=1) for _ in range(4)]
            own = [bench.move(operation, each) for each in tensors]
            longer = number % 4 < 2
            if longer:
                own[0] = _longer(bench, own[0])
            last = _address(own[0]) + (own[0].pages - 1) * ENTRY_BYTES
            await bench.fail("link", last, last, _RESPONSES[0], writes=False)
            await bench.load()
            found = []
            for each in ([[one] for one in own] if number % 2 else [own]):
                found += [done.status for done in await bench.run(each)]
            assert set(found[0 if longer else 1:]) == {Status.OK}, found
            await bench.heal()
            await bench.counters()
        await goes_on(bench)


@cocotb.test()
async def streams_that_fill_pages(dut: Any) -> None:
    """Streams that end with a page, streams whose next block begins with the next page, and one that goes on in its
    second page of 64 KiB, or as large as the job says."""
    bench = await ready(dut)
    bench.page_share, bench.page_size = 1, PAGE_SIZES[0]
    page, block = 1 << bench.page_size, bench.config.block_bytes
    coding = next(each for each in map(Coding, bench.config.numbers) if each.tags_first)
    raw_blocks, left = divmod(page, block + HEADER_BYTES)
    if not left:
        raw_blocks, left = raw_blocks - 1, block + HEADER_BYTES
    filled = (left - HEADER_BYTES - block // coding.element_bytes // 8) // coding.element_bytes
    dense = bench.rng.integers(1, 256, (raw_blocks + 1) * block, dtype=np.uint8)
    dense[raw_blocks * block + filled * coding.element_bytes:] = 0
    for tail in (0, block // 2, block):
        tensor = RawTensor(np.concatenate([dense, bench.rng.integers(1, 256, tail, dtype=np.uint8)]), coding)
        assert tail or bench.stream(tensor).size == page
        await bench.there_and_back([tensor])
    bench.page_size = size = int(job.load().get("large_page", _LARGE_PAGE))
    large = RawTensor(bench.rng.integers(1, 256, (1 << size) + block, dtype=np.uint8), coding)
    assert bench.stream(large).size > 1 << size
    await bench.there_and_back([large])
