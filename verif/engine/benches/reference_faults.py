"""The reference driver where memories fail: error responses, ports that do not answer, entries that cannot be read."""

from __future__ import annotations

from typing import Any

import cocotb

from cdma.golden.engine import Descriptor, Operation, Status
from cdma.verif.engine.recovery import READ, USES, WRITE
from cdma.verif.engine.software import POLLS, Code, RingMemory, Software, started, two_transfers
from cdma.verif.engine.testbench import EngineTestbench

_LIMIT = 1 << 11


def _status(memory: str, channels: tuple[str, ...], kind: str) -> Status:
    return Status[f"{'LANE' if memory == 'device' else 'LINK'}_{'READ' if channels == READ else 'WRITE'}_{kind}"]


async def _works(bench: EngineTestbench, software: Software, asked: Descriptor) -> None:
    """The same transfer, which failed before, is done."""
    await bench.compare()
    await software.succeeds(asked)
    await bench.compare()


@cocotb.test()
async def memories_that_answer_with_errors(dut: Any) -> None:
    """The call returns the status; the result has response and place, and no counts."""
    bench, software = await started(dut, page_share=0)
    for operation, memories in USES.items():
        for name, channels in memories.items():
            bench.clear()
            asked, _ = two_transfers(bench, operation, 2)
            await bench.load()
            memory, arena = getattr(bench, name), getattr(bench, f"{name}_arena")
            await memory.fail(arena.base, arena.base + arena.size - 1, 3, reads=channels == READ,
                              writes=channels == WRITE)
            assert await software.transfer(asked) == _status(name, channels, "ERROR")
            found = software.found
            assert (found.response, found.bytes_written, found.operation) == (3, 0, operation)
            assert arena.base <= found.place < arena.base + arena.size
            bench.scoreboard.lost(asked)
            await memory.heal()
            await _works(bench, software, asked)


@cocotb.test()
async def ports_that_do_not_answer(dut: Any) -> None:
    """The call returns within the time limit; while the port is isolated, the direction cannot be drained."""
    bench, software = await started(dut, page_share=0)
    await software.call("set_time_limit", _LIMIT, _LIMIT)
    for operation, memories in USES.items():
        for name, channels in memories.items():
            bench.clear()
            asked, _ = two_transfers(bench, operation, 2)
            await bench.load()
            memory = getattr(bench, name)
            await memory.silence(channels)
            assert await software.transfer(asked) == _status(name, channels, "TIMEOUT")
            assert await software.call("isolated", operation) == 1
            # Offloads read page lists where prefetches read their streams.
            shared = bench.config.page_lists and operation is Operation.PREFETCH and (name, channels) == ("link", READ)
            assert await software.call("isolated", 3 - operation) == shared
            software.driver.state.polls = 50
            assert await software.call("drain", operation) == Code.TIMEOUT
            software.driver.state.polls = POLLS
            bench.scoreboard.lost(asked)
            await memory.silence(())
            assert await software.call("drain", operation) == 0
            assert await software.call("isolated", operation) == 0
            await _works(bench, software, asked)


@cocotb.test()
async def entries_that_cannot_be_read(dut: Any) -> None:
    """The ring is disabled and takes nothing until it is enabled again; then the same entry is read."""
    bench, software = await started(dut, page_share=0)
    operation = Operation.OFFLOAD
    _, asked = two_transfers(bench, operation)
    ring = RingMemory(software, 4)
    await bench.load()
    assert await ring.set_up(operation) == 0
    await bench.link.fail(ring.place, ring.place + 63, 2, writes=False)
    assert await ring.submit(asked, 5) == 0
    assert await software.wait(operation) == (Status.DESCRIPTOR_READ_ERROR, 0)
    assert (software.found.response, software.found.place) == (2, ring.place)
    assert await ring.submit(asked, 6) == Code.RING_DISABLED
    await bench.link.heal()
    assert await ring.call("ring_enable") == 0
    assert await software.wait(operation) == (Status.OK, 5)
    software.check(asked)
    await bench.compare()
