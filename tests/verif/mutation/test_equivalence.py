"""Proofs that two netlists do the same: of what is written otherwise, and never of what differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil  # type: ignore[attr-defined]
from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from verif.mutation.equivalence import prove

Sum = Callable[[Value, Value], Value]


class _Inner(wiring.Component):
    """A register with a sum; ``wide``: its port has a bit more, which nobody looks at."""

    i: Any
    o: Any

    def __init__(self, made: Sum, reset: int, wide: bool) -> None:
        self._made, self._reset = made, reset
        super().__init__({"i": In(8), "o": Out(9 if wide else 8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        kept = Signal(8, init=self._reset)
        m.d.sync += kept.eq(self._made(self.i, kept))
        m.d.comb += self.o.eq(kept)
        return m


class _Table(wiring.Component):
    """A memory: a black box for the proof about what is beside it."""

    i: Any
    o: Any

    def __init__(self, written: Callable[[Value], Value] = lambda i: ~i) -> None:
        self._written = written
        super().__init__({"i": In(8), "o": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=256, init=[])
        write, read = memory.write_port(), memory.read_port()
        m.d.comb += [write.en.eq(1), write.addr.eq(self.i), write.data.eq(self._written(self.i)), read.addr.eq(self.i),
                     self.o.eq(read.data)]
        return m


def _netlist(made: Sum = lambda a, b: a + b, reset: int = 3, wide: bool = False, extra: bool = False,
             fed: Callable[[Value], Value] = lambda i: i, **table_of: Any) -> str:
    m = Module()
    i, o = Signal(8, name="i"), Signal(8, name="o")
    m.submodules.table = table = _Table(**table_of)
    m.submodules.inner = inner = _Inner(made, reset, wide)
    m.d.comb += [table.i.eq(fed(i)), inner.i.eq(table.o), o.eq(inner.o)]
    if extra:
        m.submodules.another = another = _Table()
        m.d.comb += another.i.eq(i)
    return rtlil.convert(m, name="top", ports=[i, o], emit_src=False)


@pytest.mark.parametrize(("changed", "same"), [
    pytest.param({}, True, id="nothing"),
    pytest.param({"made": lambda a, b: b + a}, True, id="order"),
    pytest.param({"made": lambda a, b: a - (~b + 1)}, True, id="negative"),
    pytest.param({"wide": True}, True, id="port"),      # and with it what the module is in
    pytest.param({"made": lambda a, b: a - b}, False, id="difference"),
    pytest.param({"made": lambda a, b: a + b + (a == 255)}, False, id="one-value"),
    pytest.param({"reset": 4}, False, id="reset"),
    pytest.param({"wide": True, "made": lambda a, b: a | b}, False, id="port-and-more"),
    pytest.param({"extra": True}, False, id="module"),
    pytest.param({"fed": lambda i: i ^ 0}, True, id="into-a-black-box"),
    pytest.param({"fed": lambda i: i ^ 1}, False, id="otherwise-into-a-black-box"),
    pytest.param({"written": lambda i: i ^ 0xFF}, True, id="into-a-memory"),
    pytest.param({"written": lambda i: i ^ 0x7F}, False, id="otherwise-into-a-memory"),
])
def test_what_is_proved(changed: dict[str, Any], same: bool, tmp_path: Path) -> None:
    assert prove(_netlist(), _netlist(**changed), tmp_path) is same


def test_other_ports_of_the_top_are_no_proof(tmp_path: Path) -> None:
    plain = _netlist()
    other = plain.replace("wire width 8 input 0  \\i", "wire width 9 input 0  \\i", 1)
    assert other != plain
    assert not prove(plain, other, tmp_path)
