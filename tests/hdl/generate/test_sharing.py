"""Modules that a netlist has several times are written once."""

from __future__ import annotations

import re

import pytest
from amaranth.hdl import Const, Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.config.catalog import load_design
from hdl.generate.backend import verilog_text
from hdl.generate.verilog import emit


class _Lane(wiring.Component):
    """Adds a constant; the sum is registered in a part of its own."""

    def __init__(self, step: int):
        super().__init__({"i": In(8), "o": Out(8)})
        self._step = step

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sum = part = Module()
        total = Signal(8)
        part.d.sync += total.eq(self.i + self._step)
        m.d.comb += self.o.eq(total ^ self.i[::-1])
        return m


class _Lanes(wiring.Component):
    """Lanes by name, each with its step and what clears it."""

    def __init__(self, steps: dict[str, int], bits: bool = False):
        super().__init__({"i": In(8), "clear": In(2), "o": Out(32)})
        self._steps, self._bits = steps, bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for number, (name, step) in enumerate(self._steps.items()):
            lane, clear = _Lane(step), Signal(name="clear_lane")
            m.d.comb += clear.eq(self.clear[number])
            m.submodules[name] = ResetInserter(self.clear[number] if self._bits else clear)(lane)
            m.d.comb += [lane.i.eq(self.i + Const(number)), self.o.word_select(number, 8).eq(lane.o)]
        return m


def _modules(verilog: str) -> list[str]:
    return [name.strip("\\ ") for name in re.findall(r"^module (\S+?) ?\(", verilog, re.MULTILINE)]


def _instances(verilog: str) -> dict[str, str]:
    return {name: module for module, name in re.findall(r"^  \\?(\S+) +(\w+) +\($", verilog, re.MULTILINE)}


def test_equal_lanes_are_written_once_with_all_that_is_in_them() -> None:
    text = verilog_text(_Lanes({"lane0": 3, "lane1": 3}), "top")
    assert sorted(_modules(text)) == ["top", "top.lane0", "top.lane0.sum"]
    assert _instances(text) == {"lane0": "top.lane0", "lane1": "top.lane0", "sum": "top.lane0.sum"}


def test_each_lane_keeps_its_own_connections() -> None:
    text = verilog_text(_Lanes({"lane0": 3, "lane1": 3}), "top")
    lanes = re.findall(r"^  \\top\.lane0 +lane\d \((.*?)^  \);", text, re.MULTILINE | re.DOTALL)
    assert len(lanes) == 2 and lanes[0] != lanes[1]
    assert sorted(re.findall(r"\.clear_lane\(([^)]*)\)", "".join(lanes))) == ["clear[0]", "clear[1]"]


@pytest.mark.parametrize("lanes", [
    pytest.param(_Lanes({"lane0": 3, "lane1": 4}), id="different"),
    pytest.param(_Lanes({"first": 3, "second": 3}), id="names"),
    pytest.param(_Lanes({"lane0": 3, "lane1": 3}, bits=True), id="bits"),
])
def test_what_is_different_or_named_differently_stays_apart(lanes: _Lanes) -> None:
    """Lanes that take bits of a common signal contain that signal, and are therefore different."""
    assert len(_modules(verilog_text(lanes, "top"))) == 5


def test_the_lanes_of_an_engine_are_written_once() -> None:
    text = emit(load_design("engine")).text
    assert not [name for name in _modules(text) if re.search(r"lane[1-9]|walker[1-9]", name)]
    assert text.count("  \\cdma_engine.offload.lane0  ") == text.count("  \\cdma_engine.prefetch.lane0  ") == 4
    assert not re.findall(r"port\$\d+\$", text)
