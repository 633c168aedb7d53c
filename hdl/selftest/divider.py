"""Division, a bit per cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Divider"]


class Divider(wiring.Component):
    """Divides by shifting and subtracting.

    ::

        [remainder | dividend] << 1; if the remainder is at least the divisor, subtract it and shift in a 1

    Parameters
    ----------
    width : int
        Bits of all numbers.

    Members
    -------
    start : In(1)
        Take ``dividend`` and ``divisor``.
    dividend, divisor : In(width)
        Any numbers.
    done : Out(1)
        High from ``width`` cycles after the start until the next one.
    quotient : Out(width)
        Their quotient, rounded down; 0 if the divisor is 0.
    """

    def __init__(self, width: int):
        self._width = width
        super().__init__({"start": In(1), "dividend": In(width), "divisor": In(width),
                          "done": Out(1), "quotient": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = self._width
        remainder = Signal(width)
        divisor = Signal(width)
        left = Signal(range(width + 1))
        trial = Signal(width + 1)
        fits = Signal()
        m.d.comb += [
            trial.eq(Cat(self.quotient[-1], remainder)),
            fits.eq((trial >= divisor) & (divisor != 0)),
            self.done.eq(left == 0),
        ]
        with m.If(self.start):
            m.d.sync += [self.quotient.eq(self.dividend), remainder.eq(0), divisor.eq(self.divisor), left.eq(width)]
        with m.Elif(~self.done):
            m.d.sync += [
                left.eq(left - 1),
                self.quotient.eq(Cat(fits, self.quotient)),
                remainder.eq(trial - divisor),
            ]
            with m.If(~fits):
                m.d.sync += remainder.eq(trial)
        return m
