"""Proofs that two netlists do the same: of what is written otherwise, and never of what differs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil  # type: ignore[attr-defined]
from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.verif.mutation.equivalence import prove
from cdma.verif.mutation.netlists import read_modules
from tests.extended import usually

Sum = Callable[[Value, Value], Value]

_LIBRARY = """\
module library_memory #(parameter DEPTH = 8) (input wire clk, input wire [3:0] at, output reg [7:0] read);
    reg [7:0] contents [0:DEPTH-1];
    always @(posedge clk)
        read <= contents[at];
endmodule
"""


class _Inner(wiring.Component):
    """A register with a sum; ``wide``: its port has a bit more, which nobody looks at; ``bits``: of the register, and
    ``more``: whether a bit above the eighth is put out.
    """

    i: Any
    o: Any

    def __init__(self, made: Sum, reset: int, wide: bool, inverted: bool, held: int | None, begun: int,
                 bits: int = 8, more: bool = False) -> None:
        self._made, self._reset, self._inverted, self._held, self._begun = made, reset, inverted, held, begun
        self._bits, self._more = bits, more
        super().__init__({"i": In(8), "o": Out(9 if wide else 8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sum_ = Signal(self._bits, name="kept", init=self._reset)
        m.d.sync += sum_.eq(self._made(self.i, sum_))
        kept = sum_[:8] ^ sum_[8:] if self._more else sum_[:8]
        ever = Signal(8, init=self._begun, reset_less=True)
        m.d.sync += ever.eq(ever)
        m.d.comb += self.o.eq((~kept if self._inverted else kept) ^ ever)
        if self._held is not None:
            only = Signal(init=self._held)      # a register more, which keeps its first value
            m.d.sync += only.eq(only)
            m.d.comb += self.o.eq((kept ^ ever) + only)
        return m


class _Bits(wiring.Component):
    """Bits that come from cells of their own: its ports in RTLIL have numbers, not names."""

    i: Any
    o: Any

    def __init__(self) -> None:
        super().__init__({"i": In(8), "o": Out(2)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(Cat(self.i[0] ^ self.i[1], self.i[2] & self.i[3]))
        return m


class _Table(wiring.Component):
    """A memory: a black box for the proof about what is beside it; ``spare``: a bit more in each row, below the others,
    which is put out with the first.
    """

    i: Any
    o: Any

    def __init__(self, written: Callable[[Value], Value] = lambda i: ~i, first: int = 0,
                 spare: Callable[[Value], ValueLike] | None = None) -> None:
        self._written, self._first, self._spare = written, first, spare
        super().__init__({"i": In(8), "o": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        more = 0 if self._spare is None else 1
        m.submodules.memory = memory = Memory(shape=8 + more, depth=256, init=[self._first << more])
        write, read = memory.write_port(), memory.read_port()
        m.d.comb += [write.en.eq(1), write.addr.eq(self.i), read.addr.eq(self.i),
                     write.data.eq(Cat(*([] if self._spare is None else [self._spare(self.i)]), self._written(self.i))),
                     self.o.eq(read.data[more:] ^ read.data[:more])]
        return m


def _netlist(made: Sum = lambda a, b: a + b, reset: int = 3, wide: bool = False, extra: bool = False,
             fed: Callable[[Value], Value] = lambda i: i, inverted: bool = False, undone: bool = False, depth: int = 16,
             held: int | None = None, begun: int = 0, bits: int = 8, more: bool = False,
             mixed: Callable[[Value], Value] = lambda i: i, **table_of: Any) -> str:
    m = Module()
    i, o, pair = Signal(8, name="i"), Signal(8, name="o"), Signal(2, name="pair")
    wrapped = Signal(8, name="wrapped")
    m.submodules.table = table = _Table(**table_of)
    m.submodules.inner = inner = _Inner(made, reset, wide, inverted, held, begun, bits, more)
    m.submodules.bits = cells = _Bits()
    m.submodules.wrapped = Instance("library_memory", p_DEPTH=depth, i_clk=ClockSignal(), i_at=fed(i)[:4],
                                    o_read=wrapped)
    m.d.comb += [table.i.eq(fed(i)), inner.i.eq(table.o), o.eq(~inner.o if undone else inner.o), cells.i.eq(mixed(i)),
                 pair.eq(cells.o)]
    if extra:
        m.submodules.another = another = _Table()
        m.d.comb += another.i.eq(i)
    return rtlil.convert(m, name="top", ports=[i, o, pair, wrapped], emit_src=False)


_CHANGES: dict[str, tuple[dict[str, Any], bool]] = {
    "nothing": ({}, True),
    "order": ({"made": lambda a, b: b + a}, True),
    "negative": ({"made": lambda a, b: a - (~b + 1)}, True),
    "port": ({"wide": True}, True),      # and with it what the module is in
    "difference": ({"made": lambda a, b: a - b}, False),
    "one-value": ({"made": lambda a, b: a + b + (a == 255)}, False),
    "reset": ({"reset": 4}, False),
    "port-and-more": ({"wide": True, "made": lambda a, b: a | b}, False),
    "module": ({"extra": True}, False),
    "inside-what-is-the-same": ({"inverted": True}, False),
    "around-what-is-the-same": ({"undone": True}, False),
    "undone-in-what-contains-it": ({"inverted": True, "undone": True}, True),
    "a-register-more": ({"held": 1}, False),     # by induction what is equal for two cycles stays equal
    "a-bit-more-in-a-register": ({"bits": 9}, True),
    "a-bit-more-that-is-put-out": ({"bits": 9, "more": True}, False),
    "a-bit-more-and-another-initial-value": ({"bits": 9, "reset": 5}, False),
    "a-bit-more-and-a-difference": ({"bits": 9, "made": lambda a, b: a - b}, False),
    "a-bit-less": ({"bits": 7}, False),
    "initial-value": ({"begun": 1}, False),
    "parameter-of-a-library": ({"depth": 17}, False),
    "contents-of-a-memory": ({"first": 1}, False),
    "into-a-black-box": ({"fed": lambda i: i ^ 0}, True),
    "otherwise-into-a-black-box": ({"fed": lambda i: i ^ 1}, False),
    "what-a-black-box-does-not-read": ({"mixed": lambda i: i ^ 0x80}, True),
    "what-a-black-box-reads": ({"mixed": lambda i: i ^ 0x88}, False),
    "a-bit-more-in-a-memory": ({"spare": lambda i: Const(0)}, True),
    "a-bit-more-in-a-memory-that-is-put-out": ({"spare": lambda i: i[0]}, False),
    "into-a-memory": ({"written": lambda i: i ^ 0xFF}, True),
    "otherwise-into-a-memory": ({"written": lambda i: i ^ 0x7F}, False),
}
"""What is changed, and whether it is the same."""


@pytest.mark.parametrize("name", usually(
    "order", "port", "one-value", "reset", "module", "inside-what-is-the-same", "undone-in-what-contains-it",
    "a-register-more", "a-bit-more-in-a-register", "a-bit-more-that-is-put-out", "otherwise-into-a-black-box",
    "a-bit-more-in-a-memory", "otherwise-into-a-memory", of=_CHANGES))
def test_what_is_proved(name: str, tmp_path: Path) -> None:
    changed, same = _CHANGES[name]
    assert prove(_netlist(), _netlist(**changed), tmp_path, _LIBRARY) is same


def test_numbered_ports_of_a_module_depend_on_nothing_else() -> None:
    plain, other = _netlist(), _netlist(made=lambda a, b: a - (~b + 1))
    numbers = [set(re.findall(r"\\port\$\d+", text)) for text in (plain, other)]
    assert numbers[0] and numbers[0] != numbers[1]
    assert read_modules(plain)["\\top.bits"] == read_modules(other)["\\top.bits"]


def test_a_library_is_needed_for_what_netlists_do_not_contain(tmp_path: Path) -> None:
    changed = _netlist(fed=lambda i: i ^ 0)
    assert prove(_netlist(), changed, tmp_path, _LIBRARY)
    assert not prove(_netlist(), changed, tmp_path)


def test_other_ports_of_the_top_are_no_proof(tmp_path: Path) -> None:
    plain = _netlist()
    other = plain.replace("wire width 8 input 0  \\i", "wire width 9 input 0  \\i", 1)
    assert other != plain
    assert not prove(plain, other, tmp_path, _LIBRARY)
