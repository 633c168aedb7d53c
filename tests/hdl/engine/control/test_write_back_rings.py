"""Write-back rings as a driver sees them: records in memory, the register window, interrupts, failures, full rings."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from cdma.golden.engine import Completion
from cdma.hdl.engine.control.write_back_rings import WriteBackRings
from cdma.hdl.engine.transfer.records import Status
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.control.bench import CONFIG, Bench, good

_SLVERR = 2
_CONFIG = CONFIG.replace(write_back=True)
_BASES = {"offload": 0x4000, "prefetch": 0x8000}


class _Bench(Bench):
    """Control with a memory for records too, and a log of the interrupt's pulses."""

    def __init__(self, seed: int, pauses: float = 0.0) -> None:
        super().__init__(_CONFIG, seed=seed, pauses=pauses)
        self.written = Memory(self.dut.records, _CONFIG.link_beat_bytes, self.rng, latency=3, pauses=pauses, stretch=5)
        self.pulses = 0
        self.silent = False

    def drive(self, driver: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
        self.run(driver, self._link, self._watch)

    async def _link(self, ctx: Any) -> None:
        while self.silent:
            await ctx.tick()
        await self.written.write(ctx)

    async def _watch(self, ctx: Any) -> None:
        before = 0
        while True:
            _, _, pulse = await ctx.tick().sample(self.dut.irq_pulse)
            assert not (pulse and before), "a pulse of two cycles"
            self.pulses += pulse
            before = pulse

    async def begin(self, ctx: Any, direction: str, size: int = 4, count: int = 1, time: int = 0) -> None:
        """Sets a ring up and enables it."""
        name = f"{direction.upper()}_WRITE_BACK"
        for register, value in (("BASE_LO", _BASES[direction]), ("SIZE", size), ("COALESCE", count), ("TIME", time),
                                ("CONTROL", 1)):
            await self.write(ctx, f"{name}_{register}", value)

    def place(self, direction: str, index: int) -> tuple[int, ...]:
        """The words of the record at an index."""
        at = (_BASES[direction] + 64 * index) % SIZE
        return struct.unpack("<16I", self.written.content[at:at + 64])

    async def record(self, ctx: Any, direction: str, index: int, phase: int) -> Completion:
        """Polls memory until a record is there, as a driver does, and takes it apart."""
        for _ in range(1000):
            words = self.place(direction, index)
            if words[15] & 1 == phase:
                assert words[15] == phase | index << 16
                return Completion.unpack(struct.pack("<16I", *words[:15], 0))
            await ctx.tick()
        raise AssertionError(f"no record came at {index}")


def test_values_after_a_reset() -> None:
    bench = _Bench(6)
    values = {"BASE_LO": 0, "BASE_HI": 0, "SIZE": 2, "HEAD": 0, "TAIL": 0, "CONTROL": 0, "STATUS": 1 << 16,
              "COALESCE": 1, "TIME": 0}

    async def driver(ctx: Any) -> None:
        for direction in _BASES:
            found = {register: await bench.read(ctx, f"{direction.upper()}_WRITE_BACK_{register}")
                     for register in values}
            assert found == values

    bench.drive(driver)


@pytest.mark.parametrize("pauses", [0.0, 0.3])
def test_records_in_both_directions(pauses: float) -> None:
    """Records come in order and wrap round; the register window has no completion, and gets none."""
    bench = _Bench(1, pauses)
    rng = random.Random(1)

    async def driver(ctx: Any) -> None:
        for direction in _BASES:
            await bench.begin(ctx, direction)
        for step in range(10):
            for number, direction in enumerate(_BASES, 1):
                name = direction.upper()
                asked = good(number, tag=rng.getrandbits(32))
                right = {"status": rng.choice([Status.OK, Status.CRC_MISMATCH]), "crc": rng.getrandbits(32)}
                bench.paths[direction].reports.append(right)
                await bench.push(ctx, direction, asked)
                done = await bench.record(ctx, direction, step % 4, 1 - step // 4 % 2)
                assert (done.tag, done.status, done.crc, done.operation) == (
                    asked.tag, right["status"].value, right["crc"], number)
                assert await bench.read(ctx, f"{name}_COMPLETIONS") == 0
                assert await bench.read(ctx, f"{name}_COMPLETION_0") == 0
                await bench.write(ctx, f"{name}_COMPLETION_POP", 1, response=_SLVERR)
                await bench.until(ctx, f"{name}_WRITE_BACK_TAIL", 0xFFFF, (step + 1) % 4)
                assert await bench.read(ctx, f"{name}_WRITE_BACK_STATUS") == (1 - (step + 1) // 4 % 2) << 16
                await bench.write(ctx, f"{name}_WRITE_BACK_HEAD", (step + 1) % 4)
        assert bench.written.open == 0

    bench.drive(driver)


def test_a_full_ring() -> None:
    """No record is overwritten: completions wait, first in the queue, and are written when the driver makes room."""
    bench = _Bench(2)

    async def driver(ctx: Any) -> None:
        await bench.begin(ctx, "prefetch", size=4, count=9)
        await bench.write(ctx, "IRQ_ENABLE", 0x77)
        for tag in range(6):
            await bench.push(ctx, "prefetch", good(2, tag=tag, interrupt=True))
        await bench.until(ctx, "PREFETCH_WRITE_BACK_STATUS", 0xFF, 3)
        assert await bench.read(ctx, "PREFETCH_WRITE_BACK_STATUS") == 3 | 1 << 16 | 1 << 17
        assert bench.place("prefetch", 3) == (0,) * 16
        # A full ring is reported, though there are fewer records than the driver asked for.
        assert await bench.read(ctx, "IRQ_STATUS") == 1 << 4 and bench.pulses == 1
        assert ctx.get(bench.dut.irq)
        for head, phase in ((1, 1), (2, 0), (3, 0)):
            await bench.write(ctx, "PREFETCH_WRITE_BACK_HEAD", head)
            assert (await bench.record(ctx, "prefetch", (head + 2) % 4, phase)).tag == head + 2
        await bench.write(ctx, "PREFETCH_WRITE_BACK_HEAD", 4, response=_SLVERR)
        assert await bench.read(ctx, "PREFETCH_REFUSED") == 8
        assert await bench.read(ctx, "PREFETCH_WRITE_BACK_STATUS") == 1 << 17

    bench.drive(driver)


def test_coalesced_interrupts() -> None:
    """By number, by time, and at once for errors; flags and enables are honoured, and every event makes a pulse."""
    bench = _Bench(3)

    async def completed(ctx: Any, index: int, **changes: Any) -> None:
        bench.paths["offload"].reports.append({"status": changes.pop("status", Status.OK)})
        await bench.push(ctx, "offload", good(1, tag=index, **changes))
        await bench.record(ctx, "offload", index, 1)
        for _ in range(12):
            await ctx.tick()

    async def driver(ctx: Any) -> None:
        await bench.begin(ctx, "offload", size=64, count=3)
        await bench.write(ctx, "IRQ_ENABLE", 0xFF)
        for index in range(7):
            await completed(ctx, index, interrupt=index != 1)
            assert bench.pulses == {3: 1, 4: 1, 5: 1, 6: 2}.get(index, 0), index
        assert await bench.read(ctx, "IRQ_STATUS") == 1
        await bench.write(ctx, "IRQ_STATUS", 0xFF)
        assert not ctx.get(bench.dut.irq) and bench.pulses == 2
        # An error is reported at once, and what was counted with it: two events, the second one soon after.
        await completed(ctx, 7, interrupt=True)
        await completed(ctx, 8, status=Status.LANE_READ_ERROR)
        assert await bench.read(ctx, "IRQ_STATUS") == 3 and bench.pulses == 4
        # A driver that leaves a bit gets another pulse.
        await bench.write(ctx, "IRQ_STATUS", 1)
        assert await bench.read(ctx, "IRQ_STATUS") == 2 and bench.pulses == 5
        await bench.write(ctx, "IRQ_STATUS", 2)
        assert bench.pulses == 5
        # By time.
        await bench.write(ctx, "OFFLOAD_WRITE_BACK_TIME", 500)
        await completed(ctx, 9, interrupt=True)
        assert await bench.read(ctx, "IRQ_STATUS") == 0
        for _ in range(520):
            await ctx.tick()
        assert await bench.read(ctx, "IRQ_STATUS") == 1 and bench.pulses == 6
        # Without an enable there is no pulse; the enable makes it up.
        await bench.write(ctx, "IRQ_STATUS", 0xFF)
        await bench.write(ctx, "IRQ_ENABLE", 0)
        await completed(ctx, 10, status=Status.LANE_READ_ERROR)
        assert bench.pulses == 6
        await bench.write(ctx, "IRQ_ENABLE", 2)
        for _ in range(3):
            await ctx.tick()
        assert bench.pulses == 7
        # The ring is disabled by its driver: nothing that was counted stays unreported.
        await bench.write(ctx, "IRQ_STATUS", 0xFF)
        await bench.write(ctx, "OFFLOAD_WRITE_BACK_TIME", 0)
        await completed(ctx, 11, interrupt=True)
        assert await bench.read(ctx, "IRQ_STATUS") == 0
        await bench.write(ctx, "OFFLOAD_WRITE_BACK_CONTROL", 0)
        assert await bench.read(ctx, "IRQ_STATUS") == 1

    bench.drive(driver)


def test_a_record_that_cannot_be_written() -> None:
    """An error response: the ring is disabled, and its completion and those behind it are in the register window."""
    bench = _Bench(4)

    async def driver(ctx: Any) -> None:
        await bench.begin(ctx, "offload")
        await bench.write(ctx, "IRQ_ENABLE", 8)
        bench.written.faulty[_BASES["offload"] + 64] = 3
        for tag in range(4):
            await bench.push(ctx, "offload", good(1, tag=tag, interrupt=True))
        await bench.until(ctx, "IRQ_STATUS", 8, 8)
        assert ctx.get(bench.dut.irq)
        assert await bench.read(ctx, "OFFLOAD_WRITE_BACK_CONTROL") == 0
        assert await bench.read(ctx, "OFFLOAD_WRITE_BACK_TAIL") == 1
        assert await bench.outcome(ctx, "offload") == (1, 0)
        # Enabled again, the ring goes on at the same place with what the driver has not taken. The memory may have
        # stored the record all the same, so the driver clears its place.
        bench.written.faulty.clear()
        bench.written.content[_BASES["offload"] + 64:_BASES["offload"] + 128] = bytes(64)
        await bench.write(ctx, "OFFLOAD_WRITE_BACK_CONTROL", 1)
        for index, tag in ((1, 2), (2, 3)):
            assert (await bench.record(ctx, "offload", index, 1)).tag == tag

    bench.drive(driver)


def test_a_link_that_does_not_answer() -> None:
    """The ring is disabled and the port isolated; a soft reset does not wait for it, and later records do."""
    bench = _Bench(5)
    bench.silent = True

    async def driver(ctx: Any) -> None:
        await bench.begin(ctx, "prefetch")
        await bench.push(ctx, "prefetch", good(2, tag=7))
        await ctx.tick().until(bench.dut.records.awvalid)
        ctx.set(bench.dut.write_silent, 1)
        await bench.until(ctx, "IRQ_STATUS", 0xFF, 1 << 7 | 0)
        assert await bench.read(ctx, "STATUS") == 1 << 19
        assert await bench.read(ctx, "PREFETCH_WRITE_BACK_CONTROL") == 0
        assert (await bench.completion(ctx, "prefetch")).tag == 7
        await bench.write(ctx, "CONTROL", 1)
        await bench.until(ctx, "CONTROL", 1, 0)
        assert await bench.read(ctx, "STATUS") == 1 << 19
        ctx.set(bench.dut.write_silent, 0)
        await bench.begin(ctx, "prefetch")
        await bench.push(ctx, "prefetch", good(2, tag=8))
        await bench.wait(ctx, 200)
        bench.silent = False
        assert (await bench.record(ctx, "prefetch", 0, 1)).tag in (7, 8)
        await bench.until(ctx, "PREFETCH_WRITE_BACK_TAIL", 0xFFFF, 1)
        assert (await bench.record(ctx, "prefetch", 0, 1)).tag == 8
        assert await bench.read(ctx, "STATUS") == 0

    bench.drive(driver)


def test_stopped_and_reset() -> None:
    """A disabled ring leaves completions in the window; a soft reset forgets rings, and waits for an open record."""
    bench = _Bench(6)

    async def driver(ctx: Any) -> None:
        await bench.begin(ctx, "offload", size=2)
        for tag in range(3):
            await bench.push(ctx, "offload", good(1, tag=tag))
        await bench.until(ctx, "OFFLOAD_WRITE_BACK_STATUS", 0xFF, 2)
        await bench.write(ctx, "OFFLOAD_WRITE_BACK_SIZE", 4, response=_SLVERR)
        await bench.write(ctx, "OFFLOAD_WRITE_BACK_CONTROL", 0)
        assert await bench.read(ctx, "OFFLOAD_COMPLETIONS") == 2
        assert [await bench.outcome(ctx, "offload") for _ in range(2)] == [(1, 0), (2, 0)]
        # A reset in the cycles around a record.
        for wait in range(0, 60, 7):
            await bench.begin(ctx, "offload", size=2, count=5, time=9)
            await bench.push(ctx, "offload", good(1, tag=9))
            await bench.wait(ctx, wait)
            await bench.write(ctx, "CONTROL", 1)
            await bench.until(ctx, "CONTROL", 1, 0)
            assert bench.written.open == 0
            for register, value in (("CONTROL", 0), ("SIZE", 2), ("TAIL", 0), ("STATUS", 1 << 16), ("COALESCE", 1),
                                    ("TIME", 0), ("BASE_LO", 0)):
                assert await bench.read(ctx, f"OFFLOAD_WRITE_BACK_{register}") == value
            assert await bench.read(ctx, "OFFLOAD_COMPLETIONS") == 0

    bench.drive(driver)


def test_the_rings_alone() -> None:
    """Registers, a record of each direction with the words that it is shown, ``pop`` and causes; then a soft reset."""
    dut = WriteBackRings(_CONFIG)
    memory = Memory(dut.axi, _CONFIG.link_beat_bytes, random.Random(1))
    words = [[random.Random(number).getrandbits(32) for _ in range(15)] for number in range(2)]
    popped: list[int] = []
    seen: list[tuple[int, int, int]] = []

    async def write(ctx: Any, direction: int, register: str, value: int) -> bool:
        ctx.set(dut.write[direction][register], 1)
        ctx.set(dut.data, value)
        refused = bool(ctx.get(dut.refuse) >> direction & 1)
        await ctx.tick()
        ctx.set(dut.write[direction][register], 0)
        await ctx.tick().repeat(2)
        return refused

    async def completions(ctx: Any) -> None:
        """Shows the word that is asked for in the cycle after; a completion goes when it is popped."""
        while True:
            _, _, word, pop, causes = await ctx.tick().sample(dut.word, dut.pop, dut.causes)
            for number in range(2):
                ctx.set(dut.completion[number], words[number][word] if word < 15 else 0)
                if pop >> number & 1:
                    popped.append(number)
                    ctx.set(dut.waiting[number], 0)
            if causes.completion or causes.error or causes.failed:
                seen.append((causes.completion, causes.error, causes.failed))

    async def driver(ctx: Any) -> None:
        for number, base in enumerate((0x4000, 0x8000)):
            assert not await write(ctx, number, "base_lo", base)
            assert not await write(ctx, number, "size", 4)
            assert await write(ctx, number, "size", 3)
            assert not await write(ctx, number, "control", 1)
            assert await write(ctx, number, "base_lo", 0)
        assert [ctx.get(dut.values[number].ring.enable) for number in range(2)] == [1, 1]
        ctx.set(dut.interrupt, 1)
        for number in range(2):
            ctx.set(dut.waiting[number], 1)
        while len(popped) < 2:
            await ctx.tick()
        await ctx.tick().repeat(20)
        assert sorted(popped) == [0, 1] and ctx.get(dut.idle)
        for number, base in enumerate((0x4000, 0x8000)):
            at = base % SIZE
            assert struct.unpack("<16I", memory.content[at:at + 64]) == (*words[number], 1)
            assert ctx.get(dut.values[number].ring.head) == 1
        # One record is to be reported: that of the descriptor with the flag.
        assert [completion for completion, _, _ in seen if completion] == [1]
        assert not any(failed for _, _, failed in seen)
        ctx.set(dut.hold, 1)
        ctx.set(dut.waiting[0], 1)
        await ctx.tick().repeat(100)
        assert len(popped) == 2
        ctx.set(dut.soft_reset, 1)
        await ctx.tick()
        ctx.set(dut.soft_reset, 0)
        await ctx.tick()
        assert [ctx.get(dut.values[number].ring.enable) for number in range(2)] == [0, 0]
        assert [ctx.get(dut.values[number].ring.head) for number in range(2)] == [0, 0]

    clocked(dut, driver, completions, memory.write)
