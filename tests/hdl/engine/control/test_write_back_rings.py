"""Write-back rings as a driver sees them: records in memory, the register window, interrupts, failures, full rings."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from amaranth.hdl import Module, Signal

from cdma.golden.engine import Completion, Status, unpack_record
from cdma.hdl.engine.control.write_back_rings import pulses
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.memory import SIZE
from tests.hdl.engine.control.bench import CONFIG, DIRECTIONS, SLVERR, Bench, good, simulated

PARTS = ["cdma.hdl.engine.control.write_back_rings.WriteBackRings"]
"""Components whose faults show here; mutants of them were tried."""

_CONFIG = CONFIG.replace(write_back=True)
_BASES = {"offload": 0x4000, "prefetch": 0x8000}
_OK = Status.OK


class _Bench(Bench):
    """Control with write-back rings, and a driver that polls records in memory."""

    def __init__(self, seed: int, writes: bool = True) -> None:
        super().__init__(_CONFIG, seed=seed, writes=writes)

    async def begin(self, direction: str, size: int = 4, count: int = 1, time: int = 0) -> None:
        """Sets a ring up and enables it."""
        for register, value in (("BASE_LO", _BASES[direction]), ("SIZE", size), ("COALESCE", count), ("TIME", time),
                                ("CONTROL", 1)):
            await self.write(f"{direction.upper()}_WRITE_BACK_{register}", value)

    async def ring_reads(self, direction: str, **values: int) -> None:
        """Reads registers of a ring, and checks what they hold."""
        await self.reads(**{f"{direction.upper()}_WRITE_BACK_{name}": value for name, value in values.items()})

    def place(self, direction: str, index: int) -> bytes:
        """The record at an index."""
        at = (_BASES[direction] + 64 * index) % SIZE
        return bytes(self.written.content[at:at + 64])

    async def record(self, direction: str, index: int, phase: int) -> Completion:
        """Polls memory until a record is there, as a driver does, and takes it apart."""
        for _ in range(1000):
            if found := unpack_record(self.place(direction, index), index, phase):
                return found
            await self.wait(1)
        raise AssertionError(f"no record came at {index}")


@simulated(lambda: _Bench(2))
async def test_a_full_ring(bench: _Bench, ctx: Any) -> None:
    """No record is overwritten: completions wait, first in the queue, and are written when the driver makes room."""
    await bench.begin("prefetch", size=4, count=9)
    await bench.write("IRQ_ENABLE", 0x77)
    await bench.push("prefetch", *(good(2, tag=tag, interrupt=True) for tag in range(6)))
    await bench.until("PREFETCH_WRITE_BACK_STATUS", 0xFF, 3)
    # A full ring is reported, though there are fewer records than the driver asked for.
    await bench.reads(PREFETCH_WRITE_BACK_STATUS=3 | 1 << 16 | 1 << 17, IRQ_STATUS=1 << 4)
    assert bench.place("prefetch", 3) == bytes(64)
    assert bench.pulses == 1 and ctx.get(bench.dut.irq)
    for head, phase in ((1, 1), (2, 0), (3, 0)):
        await bench.write("PREFETCH_WRITE_BACK_HEAD", head)
        assert (await bench.record("prefetch", (head + 2) % 4, phase)).tag == head + 2
    await bench.refused("PREFETCH_WRITE_BACK_HEAD", 4, "PREFETCH_REFUSED", 8)
    await bench.ring_reads("prefetch", STATUS=1 << 17)


@simulated(lambda: _Bench(7))
async def test_each_record_has_the_flag_of_its_own_descriptor(bench: _Bench, ctx: Any) -> None:
    """Of completions that wait, too: the ring has room for one record at a time."""
    asks = (False, True, False, True, True, False)
    await bench.begin("prefetch", size=2)
    await bench.write("IRQ_ENABLE", 0x77)
    await bench.push("prefetch", *(good(2, tag=tag, interrupt=interrupt) for tag, interrupt in enumerate(asks)))
    for number, interrupt in enumerate(asks):
        assert (await bench.record("prefetch", number % 2, 1 - number // 2 % 2)).tag == number
        await bench.wait(12)
        await bench.reads(IRQ_STATUS=interrupt << 4)
        await bench.write("IRQ_STATUS", 1 << 4)
        await bench.write("PREFETCH_WRITE_BACK_HEAD", (number + 1) % 2)
    assert bench.pulses == sum(asks)


@simulated(lambda: _Bench(3))
async def test_coalesced_interrupts(bench: _Bench, ctx: Any) -> None:
    """By number, by time, and at once for errors; flags and enables are honoured, and every event makes a pulse."""
    index = 0

    async def completed(*, status: Status = _OK, interrupt: bool = True) -> None:
        nonlocal index
        bench.paths["offload"].reports.append({"status": status})
        await bench.push("offload", good(1, tag=index, interrupt=interrupt))
        await bench.record("offload", index, 1)
        await bench.wait(12)
        index += 1

    async def shows(status: int, seen: int) -> None:
        await bench.reads(IRQ_STATUS=status)
        assert bench.pulses == seen

    await bench.begin("offload", size=64, count=3)
    await bench.write("IRQ_ENABLE", 0xFF)
    for interrupt, seen in ((True, 0), (False, 0), (True, 0), (True, 1), (True, 1), (True, 1), (True, 2)):
        await completed(interrupt=interrupt)
        assert bench.pulses == seen, index
    await shows(1, 2)
    await bench.write("IRQ_STATUS", 0xFF)
    assert not ctx.get(bench.dut.irq) and bench.pulses == 2
    # An error is reported at once, and what was counted with it: two events, the second one soon after.
    await completed()
    await completed(status=Status.LANE_READ_ERROR, interrupt=False)
    await shows(3, 4)
    # A driver that leaves a bit gets another pulse.
    for cleared, status in ((1, 2), (2, 0)):
        await bench.write("IRQ_STATUS", cleared)
        await shows(status, 5)
    # By time.
    await bench.write("OFFLOAD_WRITE_BACK_TIME", 500)
    await completed()
    await shows(0, 5)
    await bench.wait(520)
    await shows(1, 6)
    # Without an enable there is no pulse; the enable makes it up.
    await bench.write("IRQ_STATUS", 0xFF)
    await bench.write("IRQ_ENABLE", 0)
    await completed(status=Status.LANE_READ_ERROR, interrupt=False)
    assert bench.pulses == 6
    await bench.write("IRQ_ENABLE", 2)
    await bench.wait(3)
    assert bench.pulses == 7
    # The ring is disabled by its driver: nothing that was counted stays unreported, whatever was refused meanwhile.
    await bench.write("IRQ_STATUS", 0xFF)
    await bench.write("OFFLOAD_WRITE_BACK_TIME", 0)
    await completed()
    for register in ("BASE_LO", "BASE_HI", "SIZE"):
        await bench.write(f"OFFLOAD_WRITE_BACK_{register}", 4, response=SLVERR)
    await bench.reads(IRQ_STATUS=0)
    await bench.write("OFFLOAD_WRITE_BACK_CONTROL", 0)
    await bench.reads(IRQ_STATUS=1)


@simulated(lambda: _Bench(8))
async def test_an_error_reports_the_records_of_its_own_direction(bench: _Bench, ctx: Any) -> None:
    """Those of the other one wait for their number."""
    for direction, _ in DIRECTIONS:
        await bench.begin(direction, size=8, count=3)
    for number, (direction, operation) in enumerate(DIRECTIONS):
        other, of_other = DIRECTIONS[1 - number]
        await bench.push(other, good(of_other, tag=1, interrupt=True))
        await bench.record(other, number, 1)
        bench.paths[direction].reports.append({"status": Status.LANE_READ_ERROR})
        await bench.push(direction, good(operation, tag=2))
        await bench.record(direction, number, 1)
        await bench.wait(12)
        # The second error reports the record that waits since the first one, too.
        await bench.reads(IRQ_STATUS=(2 + number) << 4 * number)
        await bench.write("IRQ_STATUS", 0xFF)


@simulated(lambda: _Bench(9))
async def test_the_window_shows_its_own_word_from_the_first_cycle_on(bench: _Bench, ctx: Any) -> None:
    """A ring that a failure disables gives the completion to the window: reads find zero or the word that they name."""
    seen, records = set(), bench.dut.records
    bench.written.faulty[_BASES["offload"]] = 2
    for wait in range(14):
        bench.paths["offload"].reports.append({"status": Status.LANE_READ_ERROR})
        await bench.begin("offload", size=2)
        await bench.push("offload", good(1, tag=0x55))
        await ctx.tick().until(records.wvalid & records.wlast)
        await bench.wait(wait)
        seen.add(await bench.read("OFFLOAD_COMPLETION_1") & 255)
        await bench.until("OFFLOAD_WRITE_BACK_CONTROL", 1, 0)
        await bench.outcomes("offload", (0x55, Status.LANE_READ_ERROR))
    assert seen == {0, Status.LANE_READ_ERROR}


@simulated(lambda: _Bench(6))
async def test_stopped_and_reset(bench: _Bench, ctx: Any) -> None:
    """A disabled ring leaves completions in the window; a soft reset forgets rings, and waits for an open record."""
    for direction, operation in DIRECTIONS:
        await bench.push(direction, good(operation, tag=70 + operation))
        await bench.until(f"{direction.upper()}_COMPLETIONS", 0xFF, 1)
        await bench.ring_reads(direction, STATUS=1 | 1 << 16)
    # A ring that is enabled takes what waits; the other direction's window is its own.
    await bench.begin("offload", size=2)
    await bench.reads(OFFLOAD_COMPLETIONS=0, OFFLOAD_COMPLETION_0=0, PREFETCH_COMPLETIONS=1, PREFETCH_COMPLETION_0=72)
    await bench.outcomes("prefetch", (72, _OK))
    assert (await bench.record("offload", 0, 1)).tag == 71
    await bench.push("offload", *(good(1, tag=tag) for tag in range(2)))
    await bench.until("OFFLOAD_WRITE_BACK_STATUS", 0xFF, 2)
    await bench.refused("OFFLOAD_COMPLETION_POP", 1, "OFFLOAD_REFUSED", 2)
    await bench.write("OFFLOAD_WRITE_BACK_SIZE", 4, response=SLVERR)
    await bench.write("OFFLOAD_WRITE_BACK_CONTROL", 0)
    await bench.reads(OFFLOAD_COMPLETIONS=2)
    await bench.outcomes("offload", (0, _OK), (1, _OK))
    # A reset in the cycles around a record.
    for wait in range(0, 60, 7):
        await bench.begin("offload", size=2, count=5, time=9)
        await bench.push("offload", good(1, tag=9))
        await bench.wait(wait)
        await bench.soft_reset()
        assert bench.written.open == 0
        await bench.ring_reads("offload", CONTROL=0, SIZE=2, TAIL=0, STATUS=1 << 16, COALESCE=1, TIME=0, BASE_LO=0)
        await bench.reads(OFFLOAD_COMPLETIONS=0)


@simulated(lambda: _Bench(5, writes=False))
async def test_a_soft_reset_leaves_an_isolated_port_alone(bench: _Bench, ctx: Any) -> None:
    """Its burst goes on, with nothing to write, and its late response is that of no later record."""
    dut, records = bench.dut, bench.dut.records
    await bench.begin("offload")
    await bench.push("offload", good(1, tag=1))
    await ctx.tick().until(records.awvalid & records.wvalid)
    ctx.set(dut.write_silent, 1)
    await bench.until("OFFLOAD_WRITE_BACK_CONTROL", 1, 0)
    ctx.set(dut.write_silent, 0)
    place = ctx.get(records.awaddr)
    isolated = await bench.read("STATUS")
    assert isolated >> 16 and place == _BASES["offload"]
    await bench.soft_reset()
    await bench.reads(STATUS=isolated)
    assert (ctx.get(records.awvalid), ctx.get(records.wvalid), ctx.get(records.awaddr)) == (1, 1, place)
    ctx.set(records.awready, 1)
    ctx.set(records.wready, 1)
    strobes = []
    while not strobes or not strobes[-1][1]:
        strobes.append(await ctx.tick().sample(records.wstrb, records.wlast).until(records.wvalid))
    ctx.set(records.awready, 0)
    ctx.set(records.wready, 0)
    await bench.begin("offload")
    await bench.push("offload", good(1, tag=2))
    await bench.wait(40)
    assert not ctx.get(records.awvalid)
    ctx.set(records.bvalid, 1)
    await ctx.tick().until(records.bready)
    ctx.set(records.bvalid, 0)
    bench.writes = True
    assert (await bench.record("offload", 0, 1)).tag == 2
    await bench.wait(12)
    await bench.ring_reads("offload", STATUS=1 << 16, TAIL=1)
    await bench.reads(STATUS=0)
    # The first beat may have been shown with its bytes before the port was silent; it must not change then.
    assert len(strobes) == 64 // bench.config.link_beat_bytes and not any(strobe for strobe, _ in strobes[1:])


@pytest.mark.parametrize("often", [0.02, 0.3, 0.9])
def test_every_event_has_a_pulse(often: float) -> None:
    """After each event that is enabled, and each write that leaves one, there is a pulse within two cycles; none comes
    without a cause, and none lasts two cycles."""
    rng = random.Random(often)
    m = Module()
    happened, status, enable = (Signal(4, name=name) for name in ("happened", "status", "enable"))
    touched, pulse = Signal(), Signal()
    m.d.sync += pulse.eq(pulses(m, happened, status, enable, touched, pulse))

    async def process(ctx: Any) -> None:
        causes, seen = [], []
        written = False
        for cycle in range(2000):
            shown, enabled = (rng.getrandbits(4) & rng.getrandbits(4) for _ in range(2))
            events = rng.getrandbits(4) if rng.random() < often else 0
            writes = rng.random() < often / 2
            for signal, value in ((status, shown), (enable, enabled), (happened, events), (touched, writes)):
                ctx.set(signal, value)
            # The registers show what was written one cycle later.
            if events & enabled or (written and shown & enabled):
                causes.append(cycle)
            written = writes
            _, _, high = await ctx.tick().sample(pulse)
            if high:
                seen.append(cycle)
        assert causes and all(later - earlier > 1 for earlier, later in pairwise(seen))
        for cause in causes[:-2]:
            assert {cause + 1, cause + 2} & {*seen}, f"no pulse after cycle {cause}"
        for cycle in seen:
            assert {cycle - 1, cycle - 2} & {*causes}, f"a pulse without a cause in cycle {cycle}"

    clocked(m, process)
