"""Ports that stop answering: transfers end within the time limit, and a port that answers again works.

Each channel of each port stops, before a transfer or in the middle of it. Its outstanding answers come after the
transfer was reported, and must change nothing. The registers answer all the time.
"""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from cdma.golden.engine import RECORD_BYTES, Completion, Descriptor, Operation, Silence, Status
from cdma.verif.engine.memory import CHANNELS, Behaviour
from cdma.verif.engine.recovery import (
    READ,
    USES,
    goes_on,
    limit_ports,
    longest_silence,
    ports_are_back,
    right_pair,
    tries,
)
from cdma.verif.engine.stimulus import RawTensor, codings, random_behaviour, random_tensor
from cdma.verif.engine.testbench import EngineTestbench, ready, share

_SHORTEST_LIMIT = 3
_SLOW_BEATS = 64        # of a lane at least, in three times the longest silence


def _port(memory: str, channel: str) -> Status:
    """The status that stands for the port of a channel."""
    return Status[f"{'LANE' if memory == 'device' else 'LINK'}_{'READ' if channel in READ else 'WRITE'}_TIMEOUT"]


def _status(operation: Operation, memory: str, channel: str) -> Status:
    """The status of a transfer when a channel stops. An offload reads page lists only through the link's port."""
    port = _port(memory, channel)
    of_list = operation is Operation.OFFLOAD and port is Status.LINK_READ_TIMEOUT
    return Status.PAGE_LIST_READ_TIMEOUT if of_list else port


def _tensor(bench: EngineTestbench) -> RawTensor:
    """A tensor that uses every lane more than once, half of it zero."""
    config = bench.config
    coding = codings(config)[-1]
    size = coding.element_bytes
    raw = bench.rng.integers(1, 256, (3 * config.lanes + 1) * config.block_bytes, dtype=np.uint8)
    raw.reshape(-1, size)[bench.rng.random(raw.size // size) < 0.5] = 0
    return RawTensor(raw, coding)


def _transfer(bench: EngineTestbench, operation: Operation, listed: bool = False) -> Descriptor:
    """A transfer; ``listed``: its stream is in pages."""
    tensor = _tensor(bench)
    bench.page_share = 1 if listed else 0.5
    return bench.move(operation, tensor)


async def _limited(dut: Any) -> EngineTestbench:
    """A testbench with a time limit on all ports."""
    bench = await ready(dut)
    await limit_ports(bench)
    return bench


async def _silence(bench: EngineTestbench, memory: str, channels: tuple[str, ...], lane: int) -> None:
    """Stop channels of a port, and inform the scoreboard."""
    await getattr(bench, memory).silence(channels, lane)
    bench.scoreboard.silence(*{Silence(_port(memory, channel), lane) for channel in channels})


async def _recovers(bench: EngineTestbench) -> None:
    """Let all ports answer again: none stays isolated, and transfers work."""
    for memory in (bench.device, bench.link):
        await memory.silence(())

    await ports_are_back(bench)
    await goes_on(bench)


async def _ended(bench: EngineTestbench, descriptor: Descriptor, *, aborted: bool = False) -> Status:
    """The status of a transfer whose port may be silent."""
    return (await bench.completed(descriptor, aborted=aborted, longer=4 * longest_silence(bench))).status


def _for_lists(operation: Operation, memory: str, channels: tuple[str, ...]) -> bool:
    """Whether only an offload with a page list uses these channels."""
    return operation is Operation.OFFLOAD and memory == "link" and set(channels) <= set(READ)


def _cases(bench: EngineTestbench, operation: Operation) -> list[tuple[str, tuple[str, ...], int]]:
    """Memory, channels and port: each channel that a direction uses alone, and all of a port."""
    found: list[tuple[str, tuple[str, ...], int]] = []
    for memory, channels in USES[operation].items():
        lane = int(bench.rng.integers(bench.config.lanes)) if memory == "device" else 0
        found += [(memory, each, lane) for each in [*((channel,) for channel in channels), CHANNELS]]
    if bench.config.page_lists and operation is Operation.OFFLOAD:
        found += [("link", (channel,), 0) for channel in READ]
    return found


@cocotb.test()
async def ports_that_fall_silent(dut: Any) -> None:
    """Each channel of each port, from the start and in mid-transfer: the status says which, the next transfer has the
    same one as long as the port is dead, and works when it is back."""
    bench = await _limited(dut)
    for operation, channel in bench.control.channels.items():
        for memory, channels, lane in _cases(bench, operation):
            for moment in (0, *bench.rng.integers(1, 2500, share(3))):
                await bench.behave(random_behaviour(bench.rng))
                bench.clear()
                listed = _for_lists(operation, memory, channels)
                descriptors = [_transfer(bench, operation, listed) for _ in range(2)]
                await bench.load()
                if moment:
                    await channel.push(descriptors[0])
                    await bench.control.wait(int(moment))
                await _silence(bench, memory, channels, lane)
                if not moment:
                    await channel.push(descriptors[0])
                first = await _ended(bench, descriptors[0])
                await channel.push(descriptors[1])
                again = await _ended(bench, descriptors[1])
                bench.scoreboard.check()
                wanted = {_status(operation, memory, each) for each in channels}
                assert again in wanted and (moment or first in wanted), (
                    f"{memory} port {lane}, {channels}: {first.name}, then {again.name}")
                shown = again.name.replace("PAGE_LIST", "LINK").replace("TIMEOUT", "ISOLATED")
                assert (await bench.control.fields("STATUS"))[shown], f"{memory} port {lane} is not shown as isolated"
                await _recovers(bench)


@cocotb.test()
async def ports_that_come_back_during_a_transfer(dut: Any) -> None:
    """The next transfer waits for a port that answers late, and gets none of the late answers."""
    bench = await _limited(dut)
    for operation, channel in bench.control.channels.items():
        for memory, channels, lane in _cases(bench, operation):
            await bench.behave(random_behaviour(bench.rng))
            bench.clear()
            listed = _for_lists(operation, memory, channels)
            descriptors = [_transfer(bench, operation, listed) for _ in range(3)]
            await bench.load()
            await channel.push(descriptors[0])
            await bench.control.wait(int(bench.rng.integers(1, 1000)))
            await _silence(bench, memory, channels, lane)
            await _ended(bench, descriptors[0])
            for descriptor in descriptors[1:]:
                await channel.push(descriptor)
            await bench.control.wait(int(bench.rng.integers(1, 200)))
            await getattr(bench, memory).silence(())
            for descriptor in descriptors[1:]:
                await _ended(bench, descriptor)
            await _recovers(bench)


_SHORT, _LONG = 11, 14
"""Logarithms of two limits."""


@cocotb.test()
async def each_memory_has_its_own_limit(dut: Any) -> None:
    """A silent port ends a transfer by the limit of its memory; the other memory's is far longer."""
    bench = await ready(dut)
    for operation, channel in bench.control.channels.items():
        for memory, channels in USES[operation].items():
            own, other = longest_silence(bench).bit_length() - 2, 24
            lanes, link = (own, other) if memory == "device" else (other, own)
            await bench.control.write("TIME_LIMIT", lanes << 8 | link)
            await bench.behave(Behaviour())
            bench.clear()
            descriptor = _transfer(bench, operation)
            await bench.load()
            lane = int(bench.rng.integers(bench.config.lanes)) if memory == "device" else 0
            await _silence(bench, memory, channels, lane)
            await channel.push(descriptor)
            assert await _ended(bench, descriptor) is _status(operation, memory, channels[0])
            await _recovers(bench)


@cocotb.test()
async def a_limit_that_is_lengthened(dut: Any) -> None:
    """Ports that are silent while TIME_LIMIT is written have the new limit from then on."""
    bench = await ready(dut)
    for operation, channel in bench.control.channels.items():
        for memory, channels in USES[operation].items():
            await bench.control.write("TIME_LIMIT", _SHORT << 8 | _SHORT)
            await bench.behave(Behaviour())
            bench.clear()
            descriptor = _transfer(bench, operation)
            await bench.load()
            await _silence(bench, memory, channels, 0)
            await channel.push(descriptor)
            await bench.control.wait(1 << _SHORT)
            await bench.control.write("TIME_LIMIT", _LONG << 8 | _LONG)
            await bench.control.wait((1 << _LONG) - 64)
            assert not await channel.read("COMPLETIONS"), f"{memory}, {channels}: the limit before went on"
            await getattr(bench, memory).silence(())
            await _ended(bench, descriptor)
            await _recovers(bench)


_WAYS = ("abort", "soft reset", "late limit", "late reset")
"""Ways to end a transfer; ``late``: the time limit is set when the abort or the reset is already waiting."""


@cocotb.test()
async def aborts_and_resets_of_silent_ports(dut: Any) -> None:
    """An abort has its completion, a soft reset ends, and a time limit that is set later ends what is waiting."""
    bench = await _limited(dut)
    cases = [(operation, *case) for operation in Operation for case in _cases(bench, operation)]
    for number, (operation, memory, channels, lane) in enumerate(cases * share(4)):
        way = _WAYS[number % len(_WAYS)]
        # A transfer that has to get to its port has quick memories.
        await bench.behave(Behaviour() if way.startswith("late") else random_behaviour(bench.rng))
        bench.clear()
        descriptor = _transfer(bench, operation, _for_lists(operation, memory, channels))
        await bench.load()
        await _end_by_hand(bench, descriptor, memory, channels, lane, way)
        await _recovers(bench)


async def _end_by_hand(bench: EngineTestbench, descriptor: Descriptor, memory: str, channels: tuple[str, ...],
                       lane: int, way: str) -> None:
    """Run a transfer into a silent port, and end it in one of the ways."""
    control = bench.control
    channel = control.channels[Operation(descriptor.operation)]
    late, aborts = way.startswith("late"), way in ("abort", "late limit")
    if late:
        await control.write("TIME_LIMIT", 0)
        await _silence(bench, memory, channels, lane)
    await channel.push(descriptor)
    if not late:
        await control.wait(int(bench.rng.integers(1, 1500)))
        await _silence(bench, memory, channels, lane)
    # The transfer must have got to the port, or it ends at once; a block for each lane may come before.
    config = bench.config
    blocks = round(config.lanes * config.block_bytes / config.link_beat_bytes * bench.link_cycle)
    await control.wait(longest_silence(bench) + blocks if late else 100)
    if aborts:
        await channel.abort()
    else:
        await control.write("CONTROL", 1)
    if late:
        await control.wait(2 * longest_silence(bench))
        state = await control.state()
        assert await control.read("STATUS") & 3, (
            f"{way} of the {Operation(descriptor.operation).name.lower()}, {memory} silent ({', '.join(channels)}, "
            f"lane {lane}): it ended without a limit; {state}")
        await limit_ports(bench)
    if aborts:
        await _ended(bench, descriptor, aborted=True)
        return
    assert await control.sets("CONTROL", 1, 4 * longest_silence(bench), to=False), "the soft reset does not end"
    for each in control.channels.values():
        each.forget()
    bench.scoreboard.lost(descriptor)
    await limit_ports(bench)


@cocotb.test()
async def rings_on_a_silent_link(dut: Any) -> None:
    """A descriptor that is not answered has a completion and stops its ring; with the link back it is read again."""
    bench = await _limited(dut)
    for number, (operation, channel) in enumerate(bench.control.channels.items()):
        for channels in (("ar",), ("r",), CHANNELS):
            bench.clear()
            await bench.behave(Behaviour(latency=int(bench.rng.integers(100)), stalls=0.3))
            descriptors = [right_pair(bench)[number] for _ in range(3)]
            ring = bench.rings(8)[operation]
            await bench.load()
            await ring.enable()
            await ring.feed(descriptors[:1])
            assert await _ended(bench, descriptors[0]) is Status.OK
            await bench.link.silence(channels)
            await ring.feed(descriptors[1:])
            wanted = Completion(tag=0, status=Status.DESCRIPTOR_READ_TIMEOUT, operation=0,
                                place=ring.address + RECORD_BYTES)
            for _ in range(2):
                seen = await channel.completion(4 * longest_silence(bench))
                assert seen == wanted, f"{seen} is the completion of the entry that was not read"
                assert await channel.read("RING_CONTROL") == 0
                assert await channel.read("RING_HEAD") == 1
                await channel.write("RING_CONTROL", 1)
            seen = await channel.completion(4 * longest_silence(bench))
            await bench.link.silence(())
            await channel.write("RING_CONTROL", 1)
            for descriptor in descriptors[1:]:
                while (seen := await channel.completion(bench.patience(descriptor))) == wanted:
                    await channel.write("RING_CONTROL", 1)
                bench.scoreboard.judge(descriptor, seen)
            await ring.disable()
            await _recovers(bench)


@cocotb.test()
async def resets_with_a_silent_ring(dut: Any) -> None:
    """A soft reset ends while a descriptor is read from a link that does not answer; late answers are dropped."""
    bench = await _limited(dut)
    for number, operation in enumerate(bench.control.channels):
        bench.clear()
        descriptors = [right_pair(bench)[number] for _ in range(3)]
        ring = bench.rings(8)[operation]
        await bench.load()
        await bench.link.silence(("r",))
        await ring.enable()
        await ring.feed(descriptors)
        await bench.control.soft_reset(4 * longest_silence(bench))
        assert await bench.control.read("STATUS") >> 16, "the link is not isolated with a read open"
        await limit_ports(bench)
        await _recovers(bench)


@cocotb.test()
async def limits_that_are_too_short(dut: Any) -> None:
    """With a time limit below the latency of memory, ports time out again and again: transfers succeed or end with a
    timeout, and nothing else is written."""
    bench = await ready(dut)
    found: set[Status] = set()
    every = [Silence(_port(memory, channel), lane) for memory in ("device", "link") for channel in CHANNELS
             for lane in range(bench.config.lanes if memory == "device" else 1)]
    for _ in tries(share(20), found):
        limit = int(bench.rng.integers(_SHORTEST_LIMIT, 8))
        await bench.control.write("TIME_LIMIT", limit << 8 | limit)
        bench.scoreboard.silence(*every)
        await bench.behave(*(Behaviour(latency=int(bench.rng.integers(200)), stalls=0.3, longest=64)
                             for _ in range(2)))
        bench.clear()
        descriptors = [_transfer(bench, operation) for _ in range(2) for operation in Operation]
        found |= {each.status for each in await bench.load_and_run(descriptors)} - {Status.OK}
        await limit_ports(bench)
        await _recovers(bench)
    assert found, "no limit was too short"


@cocotb.test()
async def silent_ports_of_every_coding(dut: Any) -> None:
    """Transfers of each coding, three of a direction handed over together, in pages and not, while a port is dead. When
    offloads cannot read page lists, the first one has none and is slow: the list of the next is read ahead."""
    bench = await _limited(dut)
    built, config = codings(bench.config), bench.config
    blocks = config.lanes * -(-_SLOW_BEATS * config.beat_bytes // config.block_bytes)
    beats = blocks * config.block_bytes // (config.lanes * config.beat_bytes)
    slow = Behaviour(bandwidth=beats / (3 * longest_silence(bench)))
    for operation in Operation:
        ports = [(memory, channels[:1]) for memory, channels in USES[operation].items()]
        if config.page_lists and operation is Operation.OFFLOAD:
            ports.append(("link", READ[:1]))
        for memory, channels in ports:
            listed = _for_lists(operation, memory, channels)
            for first in range(0, len(built), 3):
                bench.clear()
                await bench.behave(slow if listed else Behaviour(), Behaviour())
                descriptors = []
                for at in range(3):
                    bench.page_share = min(at, 1) if listed else at % 2
                    descriptors.append(bench.move(operation, random_tensor(
                        bench.rng, config, blocks * config.block_bytes, built[(first + at) % len(built)])))
                await bench.load()
                await getattr(bench, memory).silence(channels)
                bench.scoreboard.silence(*(Silence(_port(memory, channels[0]), lane) for lane in range(
                    config.lanes if memory == "device" else 1)))
                await bench.push(descriptors)
                seen = [await _ended(bench, each) for each in descriptors]
                assert set(seen[listed:]) == {_status(operation, memory, channels[0])}, seen
                await bench.behave(Behaviour())
                await _recovers(bench)
