"""Address windows set by the reference driver: what it checks itself, what the engine refuses, and the lock."""

from __future__ import annotations

from typing import Any

import cocotb

from cdma.golden.engine import WINDOW_BYTES, Operation, Status, Window, Windows
from cdma.verif.engine.c_driver import LONG, Code, ReferenceDriver, RingMemory, both_work, reference, two_transfers
from cdma.verif.engine.testbench import EngineTestbench, ready


async def _set(driver: ReferenceDriver, windows: Windows) -> int:
    return await driver.call("set_windows", *map(LONG, (windows.device.base, windows.device.limit, windows.link.base,
                                                        windows.link.limit)))


def _all(bench: EngineTestbench) -> Windows:
    """Windows that hold both memories and nothing else."""
    return Windows(*(Window(arena.base, (arena.base + arena.size) % (1 << bench.config.address_bits))
                     for arena in (bench.device_arena, bench.link_arena)))


@cocotb.test()
async def windows_and_their_lock(dut: Any) -> None:
    """Transfers inside work, those outside have their statuses; a new driver finds the windows as they were."""
    bench = await ready(dut)
    driver = reference(bench)
    assert await driver.init() == 0
    windows = _all(bench)
    assert await _set(driver, windows) == 0
    await bench.confine(windows)
    await both_work(bench, driver)
    built = bench.config.attribute_registers
    assert await driver.call("set_attributes", 1, 15, 2, 5, 0) == (0 if built else Code.NOT_BUILT)
    if built:
        await bench.link.expect(15 | 2 << 4 | 5 << 7)
    assert await driver.call("lock_windows") == 0
    assert await driver.call("lock_windows") == Code.LOCKED
    assert await _set(driver, Windows()) == Code.LOCKED
    again = reference(bench)
    assert await again.init() == 0
    assert await _set(again, Windows()) == Code.LOCKED
    assert await again.call("set_attributes", 1, 15, 0, 5, 0) == (Code.LOCKED if built else Code.NOT_BUILT)
    for operation in Operation:
        bench.clear()
        asked, _ = two_transfers(bench, operation)
        await bench.load()
        size = bench.device_arena.size
        outside = await again.move("offload", asked.source ^ size, asked.destination, 64, 128, asked.coding) if (
            operation is Operation.OFFLOAD) else await again.move(
            "prefetch", asked.source, asked.destination ^ size, 64, 64, asked.coding, 0)
        assert outside == (Status.SOURCE_OUTSIDE_WINDOW, Status.DESTINATION_OUTSIDE_WINDOW)[operation - 1]
        assert "window" in again.text(outside)
    await bench.compare()


@cocotb.test()
async def mistakes(dut: Any) -> None:
    """Bounds that cannot be are not written, and windows that are in use are not changed."""
    bench = await ready(dut)
    driver = reference(bench)
    assert await driver.init() == 0
    top = 1 << bench.config.address_bits
    for bounds in ((100, 0), (0, 4097), (8192, 4096), (top, 0), (0, top + 4096)):
        for number in (0, 2):
            given = [0, 0, 0, 0]
            given[number:number + 2] = bounds
            assert await driver.call("set_windows", *map(LONG, given)) == Code.WINDOW, bounds
    assert "4096" in driver.text(Code.WINDOW)
    # The end of the address space may be given as it is.
    assert await driver.call("set_windows", *map(LONG, (4096, top, 8192, top))) == 0
    assert [await bench.control.read(f"{memory}_{end}_{half}") for memory in ("DEVICE", "LINK")
            for end in ("BASE", "LIMIT") for half in ("LO", "HI")] == [4096, 0, 0, 0, 8192, 0, 0, 0]
    windows = _all(bench)
    assert await _set(driver, windows) == 0
    ring = RingMemory(bench, 4)
    assert await ring.set_up(driver, Operation.OFFLOAD) == 0
    assert await _set(driver, windows) == Code.REFUSED
    assert await driver.call("ring_disable") == 0
    place = ring.place // WINDOW_BYTES * WINDOW_BYTES + WINDOW_BYTES
    assert await _set(driver, Windows(link=Window(place, 0))) == 0
    assert await ring.set_up(driver, Operation.OFFLOAD) == Code.REFUSED
    assert await _set(driver, Windows()) == 0
    assert await ring.set_up(driver, Operation.OFFLOAD) == 0
