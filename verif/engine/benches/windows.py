"""Address windows: descriptors and rings that leave them are refused, and no access to memory ever does.

The memories know the windows too: every burst that touches another address breaks one of their rules.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import cocotb

from cdma.golden.engine import OPEN, RECORD_BYTES, WINDOW_BYTES, Descriptor, Operation, Status, Window, Windows
from cdma.verif.engine.control import Ring, enabled
from cdma.verif.engine.layout import Arena
from cdma.verif.engine.lite import refused
from cdma.verif.engine.recovery import goes_on, right_pair
from cdma.verif.engine.stimulus import codings, random_behaviour, random_tensor
from cdma.verif.engine.testbench import EngineTestbench, ready, share

_OUTSIDE = (Status.SOURCE_OUTSIDE_WINDOW, Status.DESTINATION_OUTSIDE_WINDOW)
_BOUNDS = tuple(f"{memory}_{end}_{half}" for memory in ("DEVICE", "LINK") for end in ("BASE", "LIMIT")
                for half in ("LO", "HI"))


def _middle(bench: EngineTestbench, arena: Arena) -> Window:
    """About the middle half of a memory; sometimes without a limit, where nothing but the image is behind it."""
    pages = arena.size // WINDOW_BYTES
    first, last = (int(bench.rng.integers(low * pages // 8, (low + 1) * pages // 8)) for low in (2, 5))
    ends = arena.base + arena.size == 1 << bench.config.address_bits
    limit = 0 if ends and bench.rng.random() < 0.3 else arena.base + last * WINDOW_BYTES
    return Window(arena.base + first * WINDOW_BYTES, limit)


def _moved(bench: EngineTestbench, operation: Operation, windows: Windows, behind: bool = False) -> Descriptor:
    """A transfer whose two ranges lie at an edge of their window: inside, or out of it by the least there is;
    ``behind``: in device memory it begins behind the window, if that has a limit."""
    config, rng = bench.config, bench.rng
    offload = operation is Operation.OFFLOAD
    # One byte, where there is such a coding.
    coding = min(codings(config), key=lambda each: each.element_bytes) if rng.random() < 0.6 else None
    tensor = random_tensor(rng, config, coding=coding, most_blocks=4)
    bench.clear()
    asked = bench.offload(tensor) if offload else bench.prefetch(bench.stream(tensor), tensor)
    content = tensor.raw if offload else bench.stream(tensor)
    name = ("raw_bytes", "capacity") if offload else ("packed_bytes", "raw_bytes")
    for at, field in enumerate(("source", "destination")):
        of_device = offload == (at == 0)
        window, grain = (windows.device, config.block_bytes) if of_device else (windows.link, config.link_beat_bytes)
        limit = window.limit or 1 << config.address_bits
        size = getattr(asked, name[at])
        kind = int(rng.choice(5, p=(0.1, 0.25, 0.1, 0.25, 0.3)))
        address = [window.base - grain, window.base, limit - grain, (limit - size) // grain * grain,
                   (limit - size) // grain * grain][kind]
        asked = replace(asked, **{field: address})
        if kind == 4:
            # It ends with the window, one unit before that, or one behind.
            unit = {"capacity": 1, "packed_bytes": 4}.get(name[at], tensor.element_bytes)
            asked = replace(asked, **{name[at]: limit - address + unit * int(rng.integers(-1, 2))})
    if behind and windows.device.limit:
        asked = replace(asked, **{"source" if offload else "destination": windows.device.limit})
    if not offload:
        asked = replace(asked, capacity=asked.raw_bytes)
    arena = bench.device_arena if offload else bench.link_arena
    room = min(content.size, arena.base + arena.size - asked.source)
    arena.view(asked.source, room)[:] = content[:room]
    return asked


async def _choose_attributes(bench: EngineTestbench) -> dict[str, int]:
    """Write attributes that are not those of the parameters, where there are registers for them. The memories expect
    them from now on. Returns what the registers read."""
    chosen = {}
    if bench.config.attribute_registers:
        for name, memory in (("LANE_ATTRIBUTES", bench.device), ("LINK_ATTRIBUTES", bench.link)):
            await bench.control.write(name, 0x62A)
            chosen[name] = await bench.control.read(name)
            await memory.expect(0xA | 2 << 4 | 6 << 7)
    return chosen


async def _bounds(bench: EngineTestbench) -> list[int]:
    return [await bench.control.read(name) for name in _BOUNDS]


@cocotb.test()
async def edges_of_windows(dut: Any) -> None:
    """Transfers that begin a unit before their window or end a byte behind it, and others that just fit: each has its
    status, and no access is outside."""
    bench = await ready(dut)
    seen: Counter[Status] = Counter()
    for _ in range(2):
        await bench.behave(random_behaviour(bench.rng))
        windows = Windows(_middle(bench, bench.device_arena), _middle(bench, bench.link_arena))
        await bench.confine(windows)
        for number in range(12 + share(60)):
            for operation in Operation:
                asked = _moved(bench, operation, windows, behind=number < 2)
                await bench.load()
                done, = await bench.run([asked])
                seen[done.status] += 1
                await bench.compare()
    missing = {Status.OK, *_OUTSIDE} - set(seen)
    assert not missing, f"no descriptor ended with {', '.join(status.name for status in missing)}"


@cocotb.test()
async def windows_among_transfers(dut: Any) -> None:
    """Queues and rings full of descriptors, of which some are outside: those beside them are not touched."""
    bench = await ready(dut)
    for entries in (0, 8):
        bench.clear()
        await bench.confine(OPEN)
        await bench.behave(random_behaviour(bench.rng), random_behaviour(bench.rng))
        rings = bench.rings(entries) if entries else {}
        descriptors = [each for _ in range(6 + share(20)) for each in right_pair(bench, 2)]
        places = sorted({each.destination if each.operation == Operation.OFFLOAD else each.source
                         for each in descriptors})
        # The link's window begins with the rings, holds them, and ends somewhere among the streams.
        first = min((ring.address for ring in rings.values()), default=places[1])
        ends = [places[int(bench.rng.integers(len(places) // 2, len(places)))],
                *(ring.address + entries * RECORD_BYTES + WINDOW_BYTES - 1 for ring in rings.values())]
        base, limit = (address // WINDOW_BYTES * WINDOW_BYTES for address in (first, max(ends)))
        windows = Windows(OPEN.device, Window(base, max(limit, WINDOW_BYTES)))
        await bench.load()
        await bench.confine(windows)
        async with enabled(*rings.values()):
            await bench.run(descriptors, rings)
        await bench.compare()
        await bench.counters()


@cocotb.test()
async def locked_windows(dut: Any) -> None:
    """After the lock no write changes a window or attributes, and no soft reset opens it; a reset by the pin does."""
    bench = await ready(dut)
    windows = Windows(_middle(bench, bench.device_arena), _middle(bench, bench.link_arena))
    await bench.confine(windows)
    chosen = await _choose_attributes(bench)
    was = await _bounds(bench)
    await bench.control.write("WINDOW_CONTROL", 1)
    for resets in range(2):
        if resets:
            await bench.control.soft_reset()
        assert await bench.control.read("REFUSED") == 0
        for name in (*_BOUNDS, "WINDOW_CONTROL"):
            await refused(bench.control.write(name, int(bench.rng.integers(1 << 32))), name)
            assert await bench.control.read("REFUSED") == 1
            await bench.control.write("REFUSED", 1)
        assert await bench.control.read("WINDOW_CONTROL") == 1
        for name, value in chosen.items():
            await refused(bench.control.write(name, int(bench.rng.integers(1 << 32))), name)
            assert (await bench.control.read("REFUSED"), await bench.control.read(name)) == (2, value)
            await bench.control.write("REFUSED", 2)
        assert await _bounds(bench) == was
        bench.clear()
        for asked in right_pair(bench):
            done, = await bench.run([replace(asked, source=asked.source ^ bench.device_arena.size)])
            assert done.status is Status.SOURCE_OUTSIDE_WINDOW, done.status.name
        await bench.load()
        await bench.quiet()
        await bench.compare()
    await bench.reset()
    assert await _bounds(bench) == [0] * len(_BOUNDS)
    assert await bench.control.read("WINDOW_CONTROL") == 0
    await goes_on(bench)


@cocotb.test()
async def windows_in_use(dut: Any) -> None:
    """While a transfer runs or a ring is enabled, the windows stay as they are."""
    bench = await ready(dut)
    for operation, channel in bench.control.channels.items():
        bench.clear()
        pair = right_pair(bench, 6 * bench.config.lanes)
        asked = pair[operation - 1]
        await bench.load()
        await channel.push(asked)
        await refused(bench.control.write("DEVICE_BASE_LO", WINDOW_BYTES), "DEVICE_BASE_LO")
        assert await bench.control.read("REFUSED") == 1
        await bench.control.write("REFUSED", 1)
        await bench.completed(asked)
        ring = bench.rings(2)[operation]
        async with enabled(ring):
            await refused(bench.control.write("LINK_LIMIT_LO", WINDOW_BYTES), "LINK_LIMIT_LO")
            await bench.control.write("REFUSED", 1)
        assert await _bounds(bench) == [0] * len(_BOUNDS)
        await goes_on(bench)


@cocotb.test()
async def rings_outside(dut: Any) -> None:
    """A ring that begins before the link's window, or ends behind it, cannot be enabled; nothing of it is read."""
    bench = await ready(dut)
    await bench.load()
    for channel in bench.control.channels.values():
        for entries in (2, 64, 256):
            bench.clear()
            size = entries * RECORD_BYTES
            first = bench.link_arena.take(4 * max(size, WINDOW_BYTES), align=WINDOW_BYTES)
            ring = Ring(bench, channel, entries)
            pages = -(-size // WINDOW_BYTES)
            window = Window(first + WINDOW_BYTES, first + (1 + pages) * WINDOW_BYTES)
            await bench.confine(Windows(link=window))
            for address, fits in ((window.base, True), (window.limit - size, True), (window.base - RECORD_BYTES, False),
                                  (window.limit - size + RECORD_BYTES, False), (window.limit, False), (first, False)):
                ring.address = address
                if fits:
                    await ring.enable()
                    await ring.disable()
                    continue
                await refused(ring.enable(), f"a ring at {address:#x} with the window {window}")
                assert await channel.read("RING_CONTROL") == 0
                assert (await channel.fields("REFUSED"))["RING"] == 1
                await channel.write("REFUSED", 7)
                await channel.write("RING_TAIL", 1)
            await bench.control.wait(200)
            assert (await bench.link.traffic()).read_bursts == 0
        await bench.confine(OPEN)
        await goes_on(bench)
        await bench.link.clear()
