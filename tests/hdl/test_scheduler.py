"""The engine of the tests beside Amaranth's own: all signals have the same values in all cycles."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, ClockDomain, Const, DriverConflict, Elaboratable, Module, Mux, Signal, signed
from amaranth.lib.memory import Memory
from amaranth.sim import DomainReset, Simulator

from tests.hdl.scheduler import OrderedEngine


class Ring(Elaboratable):
    """Modules that hand values round and answer each other in the same cycle, with all that statements can do."""

    def __init__(self, seed: int, count: int = 5):
        rng = random.Random(seed)
        self.ports = [Signal(8, name=f"port{number}") for number in range(count)]
        self.valid, self.ready = Signal(count), Signal(count)
        self.inputs = [Signal(8, name=f"input{number}") for number in range(count)]
        self.enable, self.signed = Signal(), Signal(signed(5))
        self.looked, self.place = Signal(8), Signal(3)
        self._kinds = [rng.randrange(4) for _ in range(count)]
        self._joined = rng.sample(range(count), count)

    @property
    def seen(self) -> list[Signal]:
        return [*self.ports, self.valid, self.ready, self.signed, self.looked, self.place]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=8, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        m.d.sync += self.place.eq(self.place + self.valid[1])
        m.d.comb += [write.addr.eq(self.place), write.data.eq(self.ports[0]), write.en.eq(self.valid[0]),
                     read.addr.eq(self.place), self.looked.eq(read.data),
                     self.signed.eq(self.inputs[2].as_signed() >> 1)]
        for number, kind in enumerate(self._kinds):
            inner = Module()
            place = self._joined.index(number)
            before = self.ports[self._joined[place - 1]] if place else self.inputs[number]
            held, chosen = Signal(8), Signal(8)
            inner.d.comb += self.valid[number].eq(self.inputs[number][0] & self.enable)
            # Back through all modules, in the same cycle.
            inner.d.comb += self.ready[number].eq(
                self.valid[number] & (self.ready[number + 1] if number + 1 < len(self._kinds) else Const(1)))
            with inner.If(self.ready[number]):
                inner.d.sync += held.eq(held + self.inputs[number] + 1)
                inner.d.comb += chosen.eq(held)
            with inner.Else():
                inner.d.comb += chosen.eq(Mux(kind & 1, before, self.looked))
            with inner.If(before[7]):
                inner.d.comb += chosen[4:].eq(self.inputs[number])
            with inner.Switch(chosen[:2]):
                with inner.Case(kind):
                    inner.d.comb += self.ports[number].eq(Cat(chosen[4:], before[:4]))
                with inner.Case("-1"):
                    inner.d.comb += Cat(self.ports[number][:3], self.ports[number][3:]).eq(~before)
                with inner.Default():
                    inner.d.comb += Array([self.ports[number][:4], self.ports[number][4:]])[before[0]].eq(
                        self.signed + kind)
            m.submodules[f"inner{number}"] = inner
        return m


def _trace(dut: Ring, seed: int, engine: Any) -> list[Any]:
    rng, trace = random.Random(seed), []

    async def drive(ctx: Any) -> None:
        for _ in range(60):
            for each in rng.sample(dut.inputs, 2):
                ctx.set(each, rng.getrandbits(8))
                trace.append([ctx.get(signal) for signal in dut.seen])
            ctx.set(dut.enable, rng.random() < 0.8)
            trace.append(await ctx.tick().sample(*dut.seen, dut.ports[0] + dut.ports[1], dut.valid[1]))
            if rng.random() < 0.2:
                await ctx.delay(2.3e-6)
                trace.append([ctx.get(signal) for signal in dut.seen])

    async def watch(ctx: Any) -> None:
        async for values in ctx.tick().sample(dut.seen[-1], dut.ports[3], dut.ready[2:4]):
            trace.append(values)

    simulator = Simulator(dut, engine=engine)
    simulator.add_clock(1e-6)
    if seed % 2:
        simulator.add_testbench(watch, background=True)
    simulator.add_testbench(drive)
    simulator.run()
    found = list(trace)
    # Once more, from power-up.
    trace.clear()
    rng.seed(seed)
    simulator.reset()
    simulator.run()
    assert trace == found
    return found


@pytest.mark.parametrize("seed", range(8))
def test_the_same_as_amaranth(seed: int) -> None:
    found, right = (_trace(Ring(seed), seed, engine) for engine in (OrderedEngine, "pysim"))
    assert found == right
    # The design is alive.
    assert len({str(each) for each in right}) > 60


class _Reset(Elaboratable):
    """Counts cycles, and resets itself at 12."""

    def __init__(self) -> None:
        self.count, self.reset = Signal(5), Signal(reset_less=True)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = domain = ClockDomain()
        m.d.sync += [self.count.eq(self.count + 1), self.reset.eq(self.count == 12)]
        m.d.comb += domain.rst.eq(self.reset)
        return m


def _waits(engine: Any) -> list[Any]:
    dut, found = _Reset(), []

    async def wait(ctx: Any) -> None:
        tick = ctx.tick().sample(dut.count)
        found.extend([await tick.until(dut.count == 3), await tick.repeat(4), await tick.repeat(1)])
        for late in (tick.until(dut.count == 20), tick.repeat(20)):
            with pytest.raises(DomainReset):
                await late
            found.append(ctx.get(dut.count))
        with pytest.raises(ValueError):
            await tick.repeat(0)

    simulator = Simulator(dut, engine=engine)
    simulator.add_clock(1e-6)
    simulator.add_testbench(wait)
    simulator.run()
    return found


def test_ticks_are_waited_for_as_by_amaranth() -> None:
    found = _waits(OrderedEngine)
    assert found == _waits("pysim")
    assert found[:3] == [(3,), (7,), (8,)]


def _refusal(process: Callable[..., Any], engine: Any) -> str:
    dut = Ring(1)
    simulator = Simulator(dut, engine=engine)
    simulator.add_clock(1e-6)

    async def wrong(ctx: Any) -> None:
        process(ctx, dut)

    simulator.add_testbench(wrong)
    with pytest.raises((DriverConflict, NameError)) as caught:
        simulator.run()
    return str(caught.value)


@pytest.mark.parametrize("process", [lambda ctx, dut: ctx.set(dut.looked, 1), lambda ctx, dut: ctx.tick("other")])
def test_the_same_mistakes_are_refused(process: Callable[..., Any]) -> None:
    assert _refusal(process, OrderedEngine) == _refusal(process, "pysim")
