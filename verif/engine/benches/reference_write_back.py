"""Write-back rings in the reference driver: completions from memory, errors, and the way back to the registers."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.task import resume

from cdma.golden.engine import RECORD_BYTES, Operation, Status
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.software import Code, Software, started, two_transfers
from cdma.verif.engine.testbench import EngineTestbench

_POLLS = 64


class _Records:
    """Rings in memory of the processor, into which link memory is copied whenever the driver relaxes."""

    def __init__(self, bench: EngineTestbench, software: Software, entries: int) -> None:
        self._bench = bench
        self._software = software
        self.entries = entries
        self.size = entries * RECORD_BYTES
        self.place = {each: bench.link_arena.take(self.size, align=RECORD_BYTES) for each in Operation}
        self._bytes = {each: np.full(self.size, 0xA5, np.uint8) for each in Operation}

        @resume
        async def relax() -> None:
            await bench.control.wait(50)
            await self.copy()

        software.driver.relax = relax

    async def copy(self) -> None:
        """Copy link memory into that of the processor, and expect it to stay."""
        for operation, place in self.place.items():
            found = await self._bench.link.dump(place, self.size)
            self._bench.link_arena.view(place, self.size)[:] = found
            self._bytes[operation][:] = found

    async def begin(self, operation: Operation) -> int:
        """Make one of the rings that of its direction: the driver clears it, and what it has cleared is loaded."""
        found = self._bytes[operation]
        await self._bench.link.load(np.zeros(self.size, np.uint8), self.place[operation])
        error = await self._software.call("write_back_init", operation, found, self.place[operation], self.entries)
        assert error or not found.any(), "the driver did not clear the ring"
        self._bench.link_arena.view(self.place[operation], self.size)[:] = 0
        return error


async def _started(dut: Any, entries: int = 4) -> tuple[EngineTestbench, Software, _Records]:
    bench, software = await started(dut)
    return bench, software, _Records(bench, software, entries)


@cocotb.test()
async def completions_from_memory(dut: Any) -> None:
    """Blocking calls and submitted descriptors, around the end of the ring, without a register that tells."""
    bench, software, records = await _started(dut)
    for operation in Operation:
        assert await records.begin(operation) == 0
        pair = two_transfers(bench, operation, 2)
        await bench.load()
        software.reads.clear()
        for step in range(6):
            await software.succeeds(pair[step % 2])
        for tag in range(3):
            assert await software.submit(pair[tag % 2], tag) == 0
        for tag in range(3):
            assert await software.wait(operation) == (Status.OK, tag)
            software.check(pair[tag % 2])
        page = bench.control.registers[f"{operation.name}_COMPLETIONS"].offset
        assert not any(page <= offset < page + 4 or page - 0x48 <= offset < page - 8 for offset in software.reads), (
            f"completions were read from registers: {software.reads}")
        assert await software.poll(operation) == Code.PENDING
    await records.copy()
    await bench.compare()


@cocotb.test()
async def back_to_the_registers(dut: Any) -> None:
    """A disabled ring: what is in memory is taken first, then what is in the window; nothing twice, nothing lost."""
    bench, software, records = await _started(dut)
    for operation in Operation:
        assert await records.begin(operation) == 0
        pair = two_transfers(bench, operation, 2)
        await bench.load()
        # The ring has room for three records: one completion more stays in the queue.
        for tag in range(4):
            assert await software.submit(pair[tag % 2], tag) == 0
        channel = bench.control.channels[operation]

        async def waiting(read: Any = channel.read) -> bool:
            return await read("WRITE_BACK_TAIL") == 3 and await read("WRITE_BACK_STATUS") & 0xFF == 1

        assert await bench.control.until(waiting, 40 * bench.patience(pair[0])), await bench.control.state()
        assert await software.call("write_back_disable", operation) == 0
        await records.copy()
        for tag in range(4):
            assert await software.wait(operation) == (Status.OK, tag)
            software.check(pair[tag % 2])
        assert not software.driver.state.records[operation - 1]
        await software.succeeds(pair[0])
    await bench.compare()


@cocotb.test()
async def records_that_cannot_be_written(dut: Any) -> None:
    """The link answers with an error, and its memory has stored the record or not, and has one behind it: the driver
    finds each completion once."""
    bench, software, records = await _started(dut, 8)
    # The response comes late, so that the record behind it is on its way before.
    kinds = set()
    await bench.behave(Behaviour(), Behaviour(latency=2000))
    for operation in Operation:
        for stored in (False, True):
            assert await records.begin(operation) == 0
            pair = two_transfers(bench, operation, 2)
            await bench.load()
            place = records.place[operation] + 2 * RECORD_BYTES
            await bench.link.fail(place, place + RECORD_BYTES - 1, 2, reads=False)
            for tag in range(4):
                assert await software.submit(pair[tag % 2], tag) == 0
            channel = bench.control.channels[operation]

            async def failed(read: Any = channel.read) -> bool:
                return not await read("WRITE_BACK_CONTROL") and await read("COMPLETIONS") == 2

            assert await bench.control.until(failed, 40 * bench.patience(pair[0])), await bench.control.state()
            await bench.link.heal()
            behind = await bench.link.dump(place + RECORD_BYTES, RECORD_BYTES)
            kinds.add((stored, behind.view("<u4")[15] == 1 | 3 << 16))
            if stored:
                # The simulated memory keeps nothing of a write that fails, so its record is put there.
                words = [await channel.read(f"COMPLETION_{word}") for word in range(15)]
                await bench.link.load(np.array([*words, 1 | 2 << 16], "<u4").view(np.uint8), place)
            await records.copy()
            for tag in range(4):
                assert await software.wait(operation) == (Status.OK, tag)
                software.check(pair[tag % 2])
            # The driver asks now and then whether the ring is enabled.
            for _ in range(_POLLS):
                assert await software.poll(operation) == Code.PENDING
            assert not software.driver.state.records[operation - 1]
            await bench.compare()
    assert {(False, True), (True, True)} <= kinds, kinds
