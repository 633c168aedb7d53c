"""Components that a design has several times are one module in Verilog, and elaborated each in simulation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from amaranth.hdl import Const, Fragment, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.common.modules import Modules, port_values, shared
from cdma.hdl.config.engine import load_engine
from cdma.hdl.generate.backend import verilog_text
from cdma.verif.engine.build import engine_text
from tests.hdl.bench import clocked


class _Lane(wiring.Component):
    """Adds up what comes; the sum is registered in a part of its own."""

    def __init__(self) -> None:
        super().__init__({"i": In(8), "nothing": In(0), "o": Out(wiring.Signature({"sum": Out(8)}))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.adder = part = Module()
        total = Signal(8)
        part.d.sync += total.eq(total + self.i)
        m.d.comb += self.o.sum.eq(total)
        return m


class _Lanes(wiring.Component):
    """Two lanes, each with what clears it; the second one adds one more."""

    def __init__(self) -> None:
        super().__init__({"i": In(8), "clear": In(2), "o": Out(8).array(2)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for number in range(2):
            lane, clear = _Lane(), Signal(name="clear")
            m.submodules[f"lane{number}"] = shared(platform, "lane", lane, clear)
            m.d.comb += [clear.eq(self.clear[number]), lane.i.eq(self.i + Const(number)),
                         self.o[number].eq(lane.o.sum)]
        return m


def test_lanes_are_instances_of_one_module_each_with_its_own_connections() -> None:
    platform = Modules("top")
    lanes = _Lanes()
    text = verilog_text(Fragment.get(lanes, platform), "top", port_values(lanes), platform.shared.values())
    assert sorted(re.findall(r"^module \\?(\S+?) ?\(", text, re.MULTILINE)) == ["top", "top.lane", "top.lane.adder"]
    instances = re.findall(r"^  \\top\.lane +(lane\d) \((.*?)^  \);", text, re.MULTILINE | re.DOTALL)
    assert [name for name, _ in sorted(instances)] == ["lane0", "lane1"]
    for port in ("clear", "i", "o__sum"):
        assert len({re.findall(rf"\.{port}\((.*?)\)", connections)[0] for _, connections in instances}) == 2, port
    for port in ("clk", "rst"):
        assert all(f".{port}({port})" in connections for _, connections in instances)
    assert "nothing" not in text


def test_without_the_platform_each_is_elaborated() -> None:
    dut = _Lanes()

    async def process(ctx: Any) -> None:
        ctx.set(dut.i, 3)
        await ctx.tick().repeat(2)
        assert (ctx.get(dut.o[0]), ctx.get(dut.o[1])) == (6, 8)
        ctx.set(dut.clear, 2)
        await ctx.tick()
        assert (ctx.get(dut.o[0]), ctx.get(dut.o[1])) == (9, 0)

    clocked(dut, process)


def test_the_lanes_of_an_engine_are_written_once(build_dir: Path) -> None:
    text = engine_text(load_engine("engine"), build_dir)
    for name in ("offload.lane", "prefetch.lane"):
        assert len(re.findall(rf"^module \\cdma_engine\.{name} ", text, re.MULTILINE)) == 1
        assert len(re.findall(rf"^  \\cdma_engine\.{name} +lane\d \(", text, re.MULTILINE)) == 4
    assert not re.search(r"^module \S*fetch\.lane\d|^module \S*load\.lane\d", text, re.MULTILINE)
