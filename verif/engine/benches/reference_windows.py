"""Address windows set by the reference driver: what it checks itself, what the engine refuses, and the lock."""

from __future__ import annotations

from typing import Any

import cocotb

from cdma.golden.engine import Operation, Status, Window, Windows
from cdma.verif.engine.software import Code, Software, error_text, started, two_transfers
from cdma.verif.engine.testbench import EngineTestbench


async def _set(software: Software, windows: Windows) -> int:
    return await software.call("set_windows", windows.device, windows.link)


def _all(bench: EngineTestbench) -> Windows:
    """Windows that hold both memories and nothing else."""
    return Windows(*(Window(arena.base, (arena.base + arena.size) % (1 << bench.config.address_bits))
                     for arena in (bench.device_arena, bench.link_arena)))


@cocotb.test()
async def windows_and_their_lock(dut: Any) -> None:
    """Transfers inside work, those outside have their statuses; a new driver finds the windows as they were."""
    bench, software = await started(dut)
    windows = _all(bench)
    assert await _set(software, windows) == 0
    await bench.confine(windows)
    for operation in Operation:
        bench.clear()
        asked, _ = two_transfers(bench, operation)
        await bench.load()
        await software.succeeds(asked)
        await bench.compare()
    built = bench.config.attribute_registers
    assert await software.call("set_link_attributes", 15, 2, 5, 0) == (0 if built else Code.NOT_BUILT)
    if built:
        await bench.link.expect(15 | 2 << 4 | 5 << 7)
    assert await software.call("lock_windows") == 0
    assert await software.call("lock_windows") == Code.LOCKED
    assert await _set(software, Windows()) == Code.LOCKED
    again = Software(bench)
    assert await again.init() == 0
    assert await _set(again, Windows()) == Code.LOCKED
    assert await again.call("set_link_attributes", 15, 0, 5, 0) == (Code.LOCKED if built else Code.NOT_BUILT)
    for operation in Operation:
        bench.clear()
        asked, _ = two_transfers(bench, operation)
        await bench.load()
        size = bench.device_arena.size
        outside = await again.call("offload", asked.source ^ size, asked.destination, 64, 128, asked.coding) if (
            operation is Operation.OFFLOAD) else await again.call(
            "prefetch", asked.source, asked.destination ^ size, 64, 64, asked.coding, 0)
        assert outside == (Status.SOURCE_OUTSIDE_WINDOW, Status.DESTINATION_OUTSIDE_WINDOW)[operation - 1]
        assert "window" in error_text(outside)
    await bench.compare()
