"""Prints messages with numbers, character by character."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.selftest.decimal import Decimal, digits_of
from cdma.hdl.selftest.divider import Divider
from cdma.hdl.selftest.text import END, NUMBER, THOUSANDTHS, Part, encode

__all__ = ["Printer"]

_POINT = 3
"""The digit that stands before the point of a number that counts thousandths."""


class Printer(wiring.Component):
    """Prints one of some messages; each number in it is a quotient.

    ::

        message --> [codes] --> character ------------------------------+--> o
                        +-----> number --> divider --> digits, a point --+

    Parameters
    ----------
    messages : sequence of sequences of str and Number
        All messages.
    numbers : int
        How many numbers there are.
    width : int
        Bits of dividends and divisors.

    Members
    -------
    start : In(1)
        Print ``message``; its numbers must hold until ``done``.
    message : In(range(len(messages)))
        Which.
    dividends, divisors : In(ArrayLayout(width, numbers))
        The numbers are their quotients, rounded down.
    done : Out(1)
        High when all characters were taken from ``o``, until the cycle after the next start.
    o : Out(stream.Signature(8))
        Characters.
    """

    o: stream.Interface

    def __init__(self, messages: Sequence[Sequence[Part]], numbers: int, width: int):
        self._codes, self._starts = encode(messages)
        self._numbers = numbers
        self._width = width
        many = data.ArrayLayout(width, numbers)
        super().__init__({"start": In(1), "message": In(range(len(messages))), "dividends": In(many),
                          "divisors": In(many), "done": Out(1), "o": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.codes = codes = memory.Memory(shape=8, depth=len(self._codes), init=self._codes)
        m.submodules.divider = divider = Divider(self._width)
        m.submodules.decimal = decimal = Decimal(self._width)
        code = codes.read_port()
        which = Signal(range(self._numbers))
        at = Signal(range(digits_of(self._width)))
        begun = Signal()
        digit = Signal(4)
        fraction = code.data & THOUSANDTHS != 0
        m.d.comb += [
            which.eq(code.data),
            divider.dividend.eq(Array(self.dividends[k] for k in range(self._numbers))[which]),
            divider.divisor.eq(Array(self.divisors[k] for k in range(self._numbers))[which]),
            decimal.number.eq(divider.quotient),
            digit.eq(Array(decimal.digits[k] for k in range(digits_of(self._width)))[at]),
        ]
        with m.FSM():
            with m.State("idle"):
                m.d.comb += self.done.eq(1)
                with m.If(self.start):
                    m.d.sync += code.addr.eq(Array(self._starts)[self.message])
                    m.next = "fetch"
            with m.State("fetch"):
                m.next = "code"
            with m.State("code"):
                with m.If(code.data == END):
                    m.next = "idle"
                with m.Elif(code.data & NUMBER != 0):
                    m.d.comb += divider.start.eq(1)
                    m.next = "divide"
                with m.Else():
                    m.d.comb += [self.o.payload.eq(code.data), self.o.valid.eq(1)]
                    with m.If(self.o.ready):
                        m.d.sync += code.addr.eq(code.addr + 1)
                        m.next = "fetch"
            with m.State("divide"):
                with m.If(divider.done):
                    m.d.comb += decimal.start.eq(1)
                    m.next = "convert"
            with m.State("convert"):
                m.d.sync += [at.eq(digits_of(self._width) - 1), begun.eq(0)]
                with m.If(decimal.done):
                    m.next = "digit"
            with m.State("digit"):
                shown = begun | (digit != 0) | (at == 0) | (fraction & (at == _POINT))
                m.d.comb += [self.o.payload.eq(ord("0") | digit), self.o.valid.eq(shown)]
                with m.If(self.o.ready | ~shown):
                    m.d.sync += [at.eq(at - 1), begun.eq(shown)]
                    with m.If(at == 0):
                        m.d.sync += code.addr.eq(code.addr + 1)
                        m.next = "fetch"
                    with m.Elif(fraction & (at == _POINT)):
                        m.next = "point"
            with m.State("point"):
                m.d.comb += [self.o.payload.eq(ord(".")), self.o.valid.eq(1)]
                with m.If(self.o.ready):
                    m.next = "digit"
        return m
