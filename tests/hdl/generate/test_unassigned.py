"""The search for register bits without a value finds them, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.generate.backend import verilog_text
from tests.hdl.generate.unassigned import unassigned

_Build = Callable[[Module, Value], Iterator[ValueLike]]
_PAIR = data.StructLayout({"low": 4, "high": 8})


class _Design(wiring.Component):
    """A design of registers that ``build`` adds; all of them reach the output."""

    def __init__(self, build: _Build) -> None:
        self._build = build
        super().__init__({"i": In(8), "o": Out(64)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(Cat(*self._build(m, self.i)))
        return m


def _found(build: _Build) -> list[str]:
    return [each.removeprefix("\\").removeprefix("top: ") for each in unassigned(verilog_text(_Design(build), "top"))]


def test_a_field_that_nothing_assigns() -> None:
    def build(m: Module, i: Value) -> Iterator[ValueLike]:
        pair = Signal(_PAIR, name="pair", reset_less=True)
        with m.If(i[0]):
            m.d.sync += pair.high.eq(i)
        yield pair

    assert _found(build) == ["pair[3:0]"]


def test_bits_between_others() -> None:
    def build(m: Module, i: Value) -> Iterator[ValueLike]:
        word = Signal(8, name="word", reset_less=True)
        m.d.sync += [word[:2].eq(i), word[6].eq(i[2])]
        yield word

    assert _found(build) == ["word[5:2]", "word[7:7]"]


def test_copies_of_a_bit_without_a_value() -> None:
    def build(m: Module, i: Value) -> Iterator[ValueLike]:
        word, copied, chosen, either = (Signal(4, name=name, reset_less=True)
                                        for name in ("word", "copied", "chosen", "either"))
        m.d.sync += [word[:3].eq(i), copied.eq(word), chosen.eq(Mux(i[0], word, copied)), either.eq(Mux(i[0], word, i))]
        yield from (word, copied, chosen, either)

    assert _found(build) == ["chosen[3:3]", "copied[3:3]", "word[3:3]"]


def test_registers_that_pass_a_value_round() -> None:
    def build(m: Module, i: Value) -> Iterator[ValueLike]:
        one, other = Signal(name="one", reset_less=True), Signal(name="other", reset_less=True)
        m.d.sync += [one.eq(other), other.eq(one)]
        yield from (one, other)

    assert _found(build) == ["one[0:0]", "other[0:0]"]


def test_one_choice_of_many() -> None:
    def build(m: Module, i: Value) -> Iterator[ValueLike]:
        words = [Signal(4, name=f"word{number}", reset_less=True) for number in range(4)]
        chosen = Signal(4, name="chosen", reset_less=True)
        m.d.sync += [word[1:3].eq(i) for word in words[:3]]
        m.d.sync += [words[3][1:].eq(i), chosen.eq(Array(words)[i[:2]])]
        yield from (*words, chosen)

    assert _found(build) == ["chosen[0:0]", *(f"word{number}[{bit}:{bit}]" for number in range(3) for bit in (0, 3)),
                             "word3[0:0]"]


def test_memories() -> None:
    def build(m: Module, i: Value) -> Iterator[ValueLike]:
        half = Signal(8, name="half", reset_less=True)
        m.d.sync += half[:4].eq(i)
        for name, written in (("memory", i), ("other", half)):
            m.submodules[name] = memory = Memory(shape=8, depth=4, init=[])
            port, read = memory.write_port(), memory.read_port()
            m.d.comb += [port.addr.eq(i), port.en.eq(i[7]), port.data.eq(written), read.addr.eq(i), read.en.eq(1)]
            yield read.data

    # The register, the words of the memory that it is written to, and the register that reads them.
    assert [each[each.rindex("["):] for each in _found(build)] == 3 * ["[7:4]"]


def test_memories_that_are_written_in_parts() -> None:
    def build(m: Module, i: Value) -> Iterator[ValueLike]:
        half = Signal(8, name="half", reset_less=True)
        m.d.sync += half[:4].eq(i)
        m.submodules.memory = memory = Memory(shape=16, depth=4, init=[])
        port, read = memory.write_port(granularity=8), memory.read_port()
        m.d.comb += [port.addr.eq(i), port.en.eq(i[6:]), port.data.eq(Cat(i, half)), read.addr.eq(i), read.en.eq(1)]
        yield read.data

    assert [each[each.rindex("["):] for each in _found(build)] == ["[15:12]", "[7:4]", "[15:12]"]


def test_registers_with_values() -> None:
    def build(m: Module, i: Value) -> Iterator[ValueLike]:
        reset, computed, constant, shifted = (Signal(8, name=name, reset_less=name != "reset")
                                              for name in ("reset", "computed", "constant", "shifted"))
        m.d.sync += [reset[:4].eq(i), constant.eq(9), shifted.eq(Cat(i[0], shifted)), computed.eq(computed + i)]
        m.submodules.rom = rom = Memory(shape=8, depth=4, init=[1, 2, 3, 4])
        read = rom.read_port()
        m.d.comb += [read.addr.eq(i), read.en.eq(i[3])]
        yield from (reset, computed, constant, shifted, read.data)

    assert _found(build) == []
