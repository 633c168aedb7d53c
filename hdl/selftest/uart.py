"""Text on a serial line: a printer of messages with numbers, and a UART that only sends."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Part", "Printer", "UartTransmitter"]

Part = str | int
"""A part of a message: text, or the index of a number."""

_END = 0x00
_NUMBER = 0x80
"""A code that ends a message; the bit of one that stands for a number, whose index is in the low bits."""

_DIGITS = 8


class Printer(wiring.Component):
    """Prints one of some messages; its numbers are hexadecimal, without leading zeros.

    ::

        message --> [codes] --> character -----------------+--> o
                        +-----> number --> [digits] -------+

    Parameters
    ----------
    messages : sequence of sequences of str and int
        All messages.
    numbers : int
        How many numbers there are.

    Members
    -------
    start : In(1)
        Print ``message``; its numbers must hold until ``done``.
    message : In(range(len(messages)))
        Which.
    numbers : In(ArrayLayout(32, numbers))
        The numbers.
    done : Out(1)
        High when all characters were taken from ``o``, until the cycle after the next start.
    o : Out(stream.Signature(8))
        Characters.
    """

    o: stream.Interface

    def __init__(self, messages: Sequence[Sequence[Part]], numbers: int):
        self._codes: list[int] = []
        self._starts: list[int] = []
        for message in messages:
            self._starts.append(len(self._codes))
            for part in message:
                self._codes += part.encode("ascii") if isinstance(part, str) else [_NUMBER | part]
            self._codes.append(_END)
        super().__init__({"start": In(1), "message": In(range(len(messages))),
                          "numbers": In(data.ArrayLayout(4 * _DIGITS, numbers)), "done": Out(1),
                          "o": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.codes = codes = memory.Memory(shape=8, depth=len(self._codes), init=self._codes)
        code = codes.read_port()
        number = Signal(4 * _DIGITS)            # the digits that are left, in the upper bits
        left = Signal(range(_DIGITS))
        begun = Signal()
        digit = number[-4:]
        with m.FSM():
            with m.State("idle"):
                m.d.comb += self.done.eq(1)
                with m.If(self.start):
                    m.d.sync += code.addr.eq(Array(self._starts)[self.message])
                    m.next = "fetch"
            with m.State("fetch"):
                m.next = "code"
            with m.State("code"):
                with m.If(code.data == _END):
                    m.next = "idle"
                with m.Elif(code.data & _NUMBER != 0):
                    m.d.sync += [number.eq(self.numbers[code.data[:7]]), left.eq(_DIGITS - 1), begun.eq(0)]
                    m.next = "digit"
                with m.Else():
                    m.d.comb += [self.o.payload.eq(code.data), self.o.valid.eq(1)]
                    with m.If(self.o.ready):
                        m.d.sync += code.addr.eq(code.addr + 1)
                        m.next = "fetch"
            with m.State("digit"):
                shown = begun | (digit != 0) | (left == 0)
                m.d.comb += [self.o.payload.eq(digit + Mux(digit < 10, ord("0"), ord("a") - 10)),
                             self.o.valid.eq(shown)]
                with m.If(self.o.ready | ~shown):
                    m.d.sync += [number.eq(number << 4), left.eq(left - 1), begun.eq(shown)]
                    with m.If(left == 0):
                        m.d.sync += code.addr.eq(code.addr + 1)
                        m.next = "fetch"
        return m


class UartTransmitter(wiring.Component):
    """Sends characters with 8 data bits, no parity and one stop bit.

    ::

        i --> [start, 8 bits from the lowest on, stop] --> tx         a bit every `divisor` cycles

    Parameters
    ----------
    divisor : int
        Cycles of a bit: 1 or more.

    Members
    -------
    i : In(stream.Signature(8))
        Characters.
    tx : Out(1)
        The line; high when idle.
    """

    i: stream.Interface

    def __init__(self, divisor: int):
        self._divisor = divisor
        super().__init__({"i": In(stream.Signature(8)), "tx": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        frame = Signal(10, init=0x3FF)      # the bit on the line, then the bits still to be sent
        bits = Signal(range(11))
        cycles = Signal(range(self._divisor))
        m.d.comb += [self.tx.eq(frame[0]), self.i.ready.eq(bits == 0)]
        with m.If(self.i.ready):
            with m.If(self.i.valid):
                m.d.sync += [frame.eq(Cat(Const(0, 1), self.i.payload, Const(1, 1))),
                             bits.eq(10), cycles.eq(self._divisor - 1)]
        with m.Elif(cycles != 0):
            m.d.sync += cycles.eq(cycles - 1)
        with m.Else():
            m.d.sync += [frame.eq(Cat(frame[1:], Const(1, 1))), bits.eq(bits - 1), cycles.eq(self._divisor - 1)]
        return m
