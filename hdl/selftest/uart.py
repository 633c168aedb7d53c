"""A UART that only sends."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["UartTransmitter"]


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
