"""Errors: refused descriptors, errors of memory, damaged streams, aborts and resets; the next transfer always works.

Every transfer that fails is followed by one that must succeed, in the same direction and without a reset. Destinations
are compared byte by byte, with everything around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import cocotb
import numpy as np

from cdma.golden.codec.coding import Coding
from cdma.golden.engine import (
    ENTRY_BYTES,
    PAGE_SIZES,
    RECORD_BYTES,
    Completion,
    Descriptor,
    Operation,
    Status,
    Window,
    Windows,
)
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.recovery import failing, faults, goes_on, reset_softly, right_pair, rounds
from cdma.verif.engine.stimulus import NARROWINGS, codings, damage, random_tensor
from cdma.verif.engine.testbench import EngineTestbench, ready, share

_RESPONSES = (2, 3)
_NO_TRANSFER_CYCLES = 5000
_OPENING_POLLS = 10_000
_LATE_CYCLES = 4000     # more than pass from a doorbell, or from a completion, to an abort


def _refused(bench: EngineTestbench, right: Descriptor) -> Iterator[Descriptor]:
    """A valid descriptor with a fault in each field, and in several at once."""
    config = bench.config
    places, block, beat = 1 << config.address_bits, config.block_bytes, config.link_beat_bytes
    offload = right.operation == Operation.OFFLOAD
    grains = {"source": block if offload else beat, "destination": beat if offload else block}
    changes: list[Mapping[str, object]] = [
        *({"operation": value} for value in (0, 3, 255, 3 - right.operation)),
        *({"coding": value} for value in (0x03, 0x10, 0x15, 0x21, 0x34, 0x91, 0xA4, 0xFF)),
        *({"coding": value} for value in sorted(set(Coding) - set(config.numbers))),
        *({"other_flags": 1 << bit} for bit in (7, 9, 15)),
        *([] if config.page_lists else [{"page_list": True, "pages": 1, "page_size": 12}]),
        {"pages": 1}, {"page_size": 12}, *(_refused_lists(bench, right) if config.page_lists else []),
        {"check_crc": True} if offload else {"fallback": False},
        {"leave_raw": True, "fallback": not offload},
        *({"narrow": form, "coding": coding} for form in (1, 2, 3) for coding in config.numbers
          if not config.narrowing or form not in NARROWINGS.get(Coding(coding), ())),
        *({"narrow": form, "coding": coding, "raw_bytes": right.raw_bytes // 4 * 4 + 2}
          for coding, forms in NARROWINGS.items() for form in forms if config.narrowing and coding in config.numbers),
        {"reserved": (1 << int(bench.rng.integers(24)), 0)}, {"reserved": (0, 1 << int(bench.rng.integers(32)))},
        *({"raw_bytes": value} for value in (0, 1 << 40, (1 << 40) + right.raw_bytes, 1 << 63)),
        *([{"raw_bytes": right.raw_bytes + 1}] if Coding(right.coding).element_bytes > 1 else []),
        *({"packed_bytes": value} for value in ((1, 4, 1 << 63) if offload else
                                                (0, right.packed_bytes + 1, right.packed_bytes + 2, 1 << 40, 1 << 63))),
        *({field: getattr(right, field) + 1} for field in grains),
        *({field: getattr(right, field) + grain // 2} for field, grain in grains.items()),
        *({field: places - grain, "raw_bytes": 2 * block, "capacity": 2 * block,
           "packed_bytes": right.packed_bytes and 2 * block} for field, grain in grains.items()),
        *([{field: getattr(right, field) | places} for field in grains] if config.address_bits < 64 else []),
        {"capacity": right.raw_bytes - 1} if not offload else {"capacity": min(places, (1 << 64) - 1)},
        {"capacity": (1 << 64) - 1} if offload else {"capacity": 0},
        {"operation": 9, "coding": 9, "other_flags": 128, "reserved": (1, 1)},
        {"coding": 9, "other_flags": 128, "reserved": (1, 1), "raw_bytes": 0},
        {"other_flags": 128, "reserved": (1, 1), "raw_bytes": 0, "source": 1},
        {"reserved": (1, 1), "raw_bytes": 0, "packed_bytes": 3, "source": 1},
        {"raw_bytes": 0, "packed_bytes": 3, "source": 1, "destination": 1},
        {"packed_bytes": 3, "source": 1, "destination": 1, "capacity": 0},
        {"source": 1, "destination": 1, "capacity": 0}, {"destination": 1, "capacity": 0},
    ]
    for change in changes:
        yield replace(right, **change)


def _refused_lists(bench: EngineTestbench, right: Descriptor) -> list[Mapping[str, object]]:
    """Page lists that are refused."""
    field = "destination" if right.operation == Operation.OFFLOAD else "source"
    places, beat = 1 << bench.config.address_bits, bench.config.link_beat_bytes
    most = (places - getattr(right, field)) // ENTRY_BYTES
    good = {"page_list": True, "pages": 1, "page_size": 12}
    return [
        *(good | {"page_size": value} for value in (0, 11, 22, 44, 255)),
        *(good | {"pages": value} for value in (0, 1 << 28, (1 << 32) - 1)),
        *([good | {"pages": most + 1}] if most < 1 << 28 else []),
        good | {"reserved": (1, 0)}, good | {"reserved": (0, 1)}, good | {field: getattr(right, field) + beat // 2},
        good | {field: places - beat, "pages": beat // ENTRY_BYTES + 1},
    ]


@cocotb.test()
async def refused_descriptors(dut: Any) -> None:
    """Every field that may be wrong, alone and with others: the right status, and no memory is touched."""
    bench = await ready(dut)
    bench.page_share = 0
    pair = right_pair(bench)
    await bench.load()
    found: set[Status] = set()
    for right in pair:
        channel = bench.control.channels[Operation(right.operation)]
        for descriptor in _refused(bench, right):
            await channel.push(descriptor)
            seen = await channel.completion(_NO_TRANSFER_CYCLES)
            bench.scoreboard.judge(descriptor, seen, channel=channel.operation)
            found.add(seen.status)
    bench.scoreboard.check()
    traffic = [await memory.traffic(port) for memory in (bench.device, bench.link) for port in range(memory.ports)]
    assert all(each.read_bursts == each.write_bursts == 0 for each in traffic), "a refused descriptor touched memory"
    # Address windows have a bench of their own.
    missing = {status for status in Status if status.value < 0x18} - found - {
        Status.OK, Status.SOURCE_OUTSIDE_WINDOW, Status.DESTINATION_OUTSIDE_WINDOW}
    if not bench.config.page_lists:
        missing.discard(Status.BAD_PAGE_LIST)
    assert not missing, f"no descriptor was refused with {', '.join(status.name for status in missing)}"
    await bench.run(pair)
    await bench.compare()


def _span(descriptor: Descriptor, reads: bool) -> tuple[str, int, int]:
    """Memory, address and size of what a transfer reads, or writes."""
    if descriptor.operation == Operation.OFFLOAD:
        return ("device", descriptor.source, descriptor.raw_bytes) if reads else (
            "link", descriptor.destination, descriptor.capacity)
    return ("link", descriptor.source, descriptor.packed_bytes) if reads else (
        "device", descriptor.destination, descriptor.raw_bytes)


@cocotb.test()
async def errors_of_memory(dut: Any) -> None:
    """An error response at any address of either memory: status, lane and address of the burst."""
    bench = await ready(dut)
    first_case = int(bench.rng.integers(4))
    async for number in rounds(bench, share(24)):
        case = first_case + number
        pair = right_pair(bench, 4 * bench.config.lanes)
        await bench.load()
        resp = _RESPONSES[case % 2]
        for descriptor in pair:
            reads = case // 2 % 2 == 0
            name, first, size = _span(descriptor, reads)
            at = first + int(bench.rng.integers(size))
            last = at + int(bench.rng.choice([0, 64, size]))
            await bench.fail(name, at, last, resp, reads=reads, writes=not reads)
            await bench.run([descriptor])
            await bench.heal()


@cocotb.test()
async def errors_among_transfers_that_overlap(dut: Any) -> None:
    """Small transfers without a pause, both directions at once, and one error in each memory: every transfer ends as if
    it were alone."""
    bench = await ready(dut)
    async for _ in rounds(bench, share(12), 2):
        descriptors = [each for _ in range(7) for each in right_pair(bench, 2)]
        await bench.load()
        both = [[each for each in descriptors if each.operation == operation] for operation in Operation]
        for memory, of_offload in (("device", bool(bench.rng.integers(2))), ("link", bool(bench.rng.integers(2)))):
            each = both[0 if of_offload else 1][int(bench.rng.integers(1, 6))]
            reads = of_offload == (memory == "device")
            _, first, size = _span(each, reads)
            at, resp = first + int(bench.rng.integers(size)), int(bench.rng.choice(_RESPONSES))
            await bench.fail(memory, at, at, resp, reads=reads, writes=not reads)
        await bench.run(descriptors)
        await bench.heal()
        await bench.counters()


@cocotb.test()
async def small_destinations(dut: Any) -> None:
    """Capacities that end in any block of the stream: nothing is written beyond, and the block is named."""
    bench = await ready(dut)
    async for _ in rounds(bench, share(10)):
        descriptors = []
        for _ in range(3):
            tensor = random_tensor(bench.rng, bench.config)
            size = bench.stream(tensor).size
            descriptors.append(bench.offload(tensor, capacity=int(bench.rng.choice(
                [0, 1, size - 1, int(bench.rng.integers(size)), size]))))
        await bench.load_and_run(descriptors)


@cocotb.test()
async def damaged_streams(dut: Any) -> None:
    """Streams with faults of every kind: the right status and block, or the right bytes; never a hang."""
    bench = await ready(dut)
    # The images of the memories hold a round's streams, whole and damaged, of up to 17 blocks each.
    most = min(17, 2 * bench.config.lanes + 1)
    async for _ in rounds(bench, share(12)):
        tensors = [random_tensor(bench.rng, bench.config, most_blocks=most) for _ in range(24)]
        streams = [(bench.stream(each), each.coded_bytes(bench.config.block_bytes)) for each in tensors]
        descriptors = []
        for _, number, stream in damage(bench.rng, streams):
            descriptors += [bench.prefetch(stream, tensors[number], check_crc=False),
                            bench.prefetch(streams[number][0], tensors[number])]
        await bench.load_and_run(descriptors)


@cocotb.test()
async def wrong_checksums(dut: Any) -> None:
    """A CRC that is not the stream's is reported with the one that is."""
    bench = await ready(dut)
    descriptors = []
    for _ in range(share(10)):
        tensor = random_tensor(bench.rng, bench.config)
        right = bench.prefetch(bench.stream(tensor), tensor, check_crc=bench.config.crc)
        descriptors += [replace(right, crc=right.crc ^ 1 << int(bench.rng.integers(32))), right]
    await bench.load_and_run(descriptors)
    await goes_on(bench)


@cocotb.test()
async def aborts(dut: Any) -> None:
    """An abort at any moment ends the transfer that runs, if one does, and only that."""
    bench = await ready(dut)
    async for round_ in rounds(bench, share(30)):
        for descriptor in right_pair(bench, 6 * bench.config.lanes)[::1 if round_ % 2 else -1]:
            await bench.load()
            channel = bench.control.channels[Operation(descriptor.operation)]
            await channel.push(descriptor)
            # The first ones soon after the start.
            moment = 10 * round_ + 5 if round_ < 4 else int(bench.rng.choice([1, 20, 100, 500, 2000]))
            await bench.control.wait(moment + int(bench.rng.integers(10 if round_ < 4 else 50)))
            await channel.abort()
            await bench.completed(descriptor, aborted=True)


@cocotb.test()
async def aborts_of_one_direction(dut: Any) -> None:
    """An abort of a direction leaves the other, and the descriptors that wait, alone."""
    bench = await ready(dut)
    for operation, channel in bench.control.channels.items():
        async for _ in rounds(bench, share(4), 0):
            descriptors = [each for _ in range(3) for each in right_pair(bench, 4 * bench.config.lanes)]
            await bench.load()
            await bench.push(descriptors)
            await bench.control.wait(int(bench.rng.integers(100, 800)))
            await bench.control.read("STATUS")
            await channel.abort()
            ended = 0
            for descriptor in descriptors:
                seen = await bench.completed(descriptor, aborted=descriptor.operation == operation)
                ended += seen.status is Status.ABORTED
            assert ended <= 1, f"an abort of {operation.name.lower()} ended {ended} transfers"
            # One that comes when nothing is at work does not end what comes next.
            await channel.abort()


@cocotb.test()
async def soft_resets(dut: Any) -> None:
    """A soft reset at any moment: all registers as after reset, no transaction left open, and all works."""
    bench = await ready(dut)
    async for _ in rounds(bench, share(16)):
        descriptors = [each for _ in range(2) for each in right_pair(bench, 4 * bench.config.lanes)]
        await bench.load()
        await reset_softly(bench, descriptors)


@cocotb.test()
async def hard_resets(dut: Any) -> None:
    """A reset by the pin at any moment, with the memories reset as well."""
    bench = await ready(dut)
    async for _ in rounds(bench, share(8), 0):
        descriptors = right_pair(bench, 4 * bench.config.lanes)
        await bench.load()
        await bench.push(descriptors)
        await bench.control.wait(int(bench.rng.integers(1, 1500)))
        await bench.reset()
        for descriptor in descriptors:
            bench.scoreboard.lost(descriptor)


async def burst_open(bench: EngineTestbench) -> None:
    """Wait for a burst at device memory, which opens late where the link is slow and is read first."""
    for _ in range(_OPENING_POLLS):
        if await bench.device.open():
            return
    raise AssertionError(f"no burst was opened in {_OPENING_POLLS:,} polls")


@cocotb.test()
async def hard_resets_with_bursts_open(dut: Any) -> None:
    """A reset by the pin while bursts to and from device memory are open."""
    bench = await ready(dut)
    for number, operation in enumerate(Operation):
        bench.clear()
        await bench.behave(Behaviour(latency=200))
        descriptor = right_pair(bench, 6 * bench.config.lanes)[number]
        await bench.load()
        await bench.control.channels[operation].push(descriptor)
        await burst_open(bench)
        await bench.reset()
        bench.scoreboard.lost(descriptor)
        await bench.behave(Behaviour())
        await goes_on(bench)


@cocotb.test()
async def rings_that_cannot_be_read(dut: Any) -> None:
    """An error in a ring stops that ring alone and has a completion and interrupts; enabled again, it goes on at the
    same entry."""
    bench = await ready(dut)
    for number, (operation, channel) in enumerate(bench.control.channels.items()):
        bench.clear()
        error = f"{channel.prefix}_RING_ERROR"
        failed = bench.control.mask("IRQ_STATUS", f"{channel.prefix}_ERROR")
        await bench.behave(Behaviour(latency=int(bench.rng.integers(100))))
        descriptors = [right_pair(bench)[number] for _ in range(7)]
        ring = bench.rings(8)[operation]
        await bench.load()
        at = int(bench.rng.integers(1, 7))
        bad = ring.address + RECORD_BYTES * at
        resp = _RESPONSES[number]
        await bench.link.fail(bad, bad + RECORD_BYTES - 1, resp, writes=False)
        assert not await bench.control.read("IRQ_STATUS") & failed
        await ring.enable()
        await ring.feed(descriptors)
        assert await bench.control.sets("IRQ_STATUS", error, 300_000), "an error in a ring is not reported"
        assert await channel.read("RING_CONTROL") == 0
        assert await channel.read("RING_HEAD") == at
        await bench.link.heal()
        await bench.control.write("IRQ_STATUS", bench.control.mask("IRQ_STATUS", error))
        await channel.write("RING_CONTROL", 1)
        for descriptor in [*descriptors[:at], None, *descriptors[at:]]:
            if descriptor is None:
                seen = await channel.completion(_NO_TRANSFER_CYCLES)
                wanted = Completion(tag=0, status=Status.DESCRIPTOR_READ_ERROR, operation=0, response=resp,
                                    place=bad)
                assert replace(seen, cycles=0) == wanted, f"{seen} is the completion of the entry that cannot be read"
                assert await bench.control.read("IRQ_STATUS") & failed, "a completion with an error has no interrupt"
                await bench.control.write("IRQ_STATUS", failed)
            else:
                await bench.completed(descriptor)
        await ring.disable()
        await goes_on(bench)


@cocotb.test()
async def noise_instead_of_streams(dut: Any) -> None:
    """Random bytes for a stream, of any length."""
    bench = await ready(dut)
    descriptors = []
    for _ in range(share(40)):
        tensor = random_tensor(bench.rng, bench.config, most_blocks=3)
        noise = bench.rng.integers(0, 256, 4 * int(bench.rng.integers(1, 600)), dtype=np.uint8)
        if bench.rng.random() < 0.7:
            # The first header is right, so that the lanes get something.
            noise[:4] = bench.stream(tensor)[:4]
        descriptors.append(bench.prefetch(noise, tensor))
    await bench.load_and_run(descriptors)
    await goes_on(bench)


@cocotb.test()
async def faults_of_every_coding(dut: Any) -> None:
    """Each fault in each coding, in pages and not, as the first, the second and the last of three transfers that are
    handed over together; the others succeed."""
    bench = await ready(dut)
    built, known = codings(bench.config), faults(bench)
    async for number in rounds(bench, len(known)):
        operation, status = known[number]
        tries = []
        for at in range(6):
            bench.page_share, bench.page_size = at % 2, PAGE_SIZES[0]
            bad, fault = failing(bench, operation, status, built[at % len(built)])
            descriptors = [bench.move(operation, random_tensor(bench.rng, bench.config, most_blocks=1))
                           for _ in range(2)]
            descriptors.insert(at % 3, bad)
            tries.append((descriptors, bad, fault))
        await bench.load()
        for descriptors, bad, fault in tries:
            if fault is not None:
                memory, address = fault
                await bench.fail(memory, address, address, _RESPONSES[0])
            await bench.push(descriptors)
            for each in descriptors:
                assert (await bench.completed(each)).status is (status if each is bad else Status.OK)
            await bench.heal()


@cocotb.test()
async def refused_descriptors_in_a_ring(dut: Any) -> None:
    """Each reason to refuse, of the first, an inner and the last of descriptors that are in a ring together."""
    bench = await ready(dut)
    bench.page_share = 0
    pair, rings = right_pair(bench), bench.rings(8)
    await bench.load()
    arenas = bench.device_arena, bench.link_arena
    if bench.config.address_windows:
        await bench.confine(Windows(*(Window(each.base, (each.base + each.size) % (1 << bench.config.address_bits))
                                      for each in arenas)))
    for right in pair:
        operation = Operation(right.operation)
        wrong = {} if not bench.config.address_windows else {
            Status[f"{end.upper()}_OUTSIDE_WINDOW"]: replace(right, **{end: getattr(right, end) ^ arena.size})
            for end, arena in zip(("source", "destination"), arenas[::1 if operation is Operation.OFFLOAD else -1],
                                  strict=True)}
        wrong |= {bench.scoreboard.expected(each)[0].status: each for each in _refused(bench, right)
                  if each.operation != 3 - operation}
        await rings[operation].enable()
        for status, each in wrong.items():
            descriptors = [each, right, each, each]
            await rings[operation].feed(descriptors)
            channel = bench.control.channels[operation]
            seen = [(await bench.completed(one, channel)).status for one in descriptors]
            assert seen == [status, Status.OK, status, status], seen
        await rings[operation].disable()
    await goes_on(bench)


async def _abort_each(bench: EngineTestbench, operation: Operation) -> list[Status]:
    """The statuses of three transfers that are handed over together, each of which is aborted when it is the oldest."""
    channel = bench.control.channels[operation]
    size = 6 * bench.config.lanes * bench.config.block_bytes
    descriptors = [bench.move(operation, random_tensor(bench.rng, bench.config, size)) for _ in range(3)]
    await bench.load()
    await bench.push(descriptors)
    found = []
    for descriptor in descriptors:
        await channel.abort()
        found.append((await bench.completed(descriptor, aborted=True)).status)
    return found


@cocotb.test()
async def aborts_one_after_the_other(dut: Any) -> None:
    """All of three transfers that are handed over together are aborted, or end before; where device memory answers late
    none can end before."""
    bench = await ready(dut)
    for operation in Operation:
        async for _ in rounds(bench, 2):
            await _abort_each(bench, operation)
    for operation in Operation:
        async for _ in rounds(bench, 1, 0):
            await bench.behave(Behaviour(latency=_LATE_CYCLES), Behaviour())
            seen = await _abort_each(bench, operation)
            assert seen == 3 * [Status.ABORTED], f"aborts of {operation.name.lower()}: {seen}"
            await bench.behave(Behaviour())
