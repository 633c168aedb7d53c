"""The engine of the tests beside Amaranth's own: all signals have the same values in all cycles."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, DriverConflict, Elaboratable, Module, Signal, Value, signed
from amaranth.lib import data, enum, wiring
from amaranth.sim import DomainReset, Simulator

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.reorder import AxiReorder
from cdma.hdl.engine.lanes.offload import OffloadLane
from cdma.hdl.engine.lanes.prefetch import PrefetchLane
from cdma.hdl.engine.link.distributor import Distributor
from tests.hdl.bench import settled
from tests.hdl.scheduler import OrderedEngine
from tests.hdl.values import values_once

_CONFIG = EngineConfig(lanes=2, beat_bytes=16, link_beat_bytes=16, block_bytes=512, buffer_bytes=1024)
_UNITS: list[Callable[[], wiring.Component]] = [
    lambda: AxiReorder(32, 16, 2, 16), lambda: Distributor(_CONFIG), lambda: OffloadLane(_CONFIG),
    lambda: PrefetchLane(_CONFIG)]


def _trace(dut: wiring.Component, seed: int, engine: Any) -> list[Any]:
    """What a unit shows when all its inputs are random: at once, and before each clock edge."""
    ports = [(member.flow is wiring.In, Value.cast(port)) for _, member, port in dut.signature.flatten(dut)]
    inputs, outputs = ([port for into, port in ports if into is wanted] for wanted in (True, False))
    rng, trace = random.Random(seed), []

    async def drive(ctx: Any) -> None:
        for _ in range(100):
            for each in rng.sample(inputs, len(inputs) // 2):
                ctx.set(each, rng.getrandbits(len(each)))
            trace.append([ctx.get(each) for each in outputs])
            trace.append(await ctx.tick().sample(*outputs, outputs[0] + outputs[1]))
            if rng.random() < 0.2:
                await ctx.delay(2.3e-6)

    simulator = Simulator(dut, engine=engine)
    simulator.add_clock(1e-6)
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


@pytest.mark.parametrize("unit", _UNITS, ids=["reorder", "distributor", "offload", "prefetch"])
def test_the_same_as_amaranth(unit: Callable[[], wiring.Component]) -> None:
    with values_once():
        found = _trace(unit(), 1, OrderedEngine)
    right = _trace(unit(), 1, "pysim")
    assert found == right
    assert len({str(each) for each in right}) > 10, "the unit does nothing"


class _Kind(enum.Enum, shape=2):
    NONE = 0
    SOME = 2


@pytest.mark.parametrize("values", [
    {}, {"count": 77, "flag": True}, {"level": -3, "count": 1}, {"kind": _Kind.SOME, "flag": 1}, {"kind": 2},
    {"inner": {"low": 5}}, {"inner": {"low": 9, "high": [1, 0, 3]}, "flag": 0}], ids=str)
def test_structures_are_set_as_by_amaranth(values: Any) -> None:
    inner = data.StructLayout({"low": 3, "high": data.ArrayLayout(2, 3)})
    layout = data.StructLayout({"flag": 1, "count": 5, "level": signed(4), "kind": _Kind, "inner": inner})
    held, shown = Signal(layout, init={"count": 31}), Signal(layout)
    m = Module()
    m.d.comb += shown.eq(held)

    async def check(ctx: Any) -> None:
        ctx.set(held, values)
        assert ctx.get(shown.as_value()) == layout.const(values).as_bits()

    settled(m, check)


class _Reset(Elaboratable):
    """Counts cycles, and resets itself at 12."""

    def __init__(self) -> None:
        self.count, self.shown, self.reset = Signal(5), Signal(5), Signal(reset_less=True)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = domain = ClockDomain()
        m.d.sync += [self.count.eq(self.count + 1), self.reset.eq(self.count == 12)]
        m.d.comb += [domain.rst.eq(self.reset), self.shown.eq(self.count)]
        return m


@pytest.mark.parametrize("engine", [OrderedEngine, "pysim"])
def test_ticks_are_waited_for_and_mistakes_refused_as_by_amaranth(engine: Any) -> None:
    dut = _Reset()

    async def wait(ctx: Any) -> None:
        tick = ctx.tick().sample(dut.count)
        assert [await tick.until(dut.count == 3), await tick.repeat(4), await tick.repeat(1)] == [(3,), (7,), (8,)]
        for late in (tick.until(dut.count == 20), tick.repeat(20)):
            with pytest.raises(DomainReset):
                await late
            assert ctx.get(dut.count) == 0
        with pytest.raises(ValueError):
            await tick.repeat(0)
        with pytest.raises(DriverConflict):
            ctx.set(dut.shown, 1)
        with pytest.raises(NameError):
            ctx.tick("other")

    simulator = Simulator(dut, engine=engine)
    simulator.add_clock(1e-6)
    simulator.add_testbench(wait)
    simulator.run()
