"""Binary to decimal, a bit per cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Decimal", "digits_of"]


def digits_of(width: int) -> int:
    """How many decimal digits a number of so many bits may have."""
    return len(str((1 << width) - 1))


class Decimal(wiring.Component):
    """Turns a number into decimal digits by doubling.

    ::

        digits << 1 | next bit of the number; before, 3 is added to each digit of 5 or more, so that it carries

    Parameters
    ----------
    width : int
        Bits of the number.

    Members
    -------
    start : In(1)
        Take ``number``.
    number : In(width)
        Any number.
    done : Out(1)
        High from ``width`` cycles after the start until the next one.
    digits : Out(ArrayLayout(4, digits_of(width)))
        Its digits, the least significant one first.
    """

    def __init__(self, width: int):
        self._width = width
        super().__init__({"start": In(1), "number": In(width), "done": Out(1),
                          "digits": Out(data.ArrayLayout(4, digits_of(width)))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rest = Signal(self._width)
        left = Signal(range(self._width + 1))
        digits = [self.digits[k] for k in range(digits_of(self._width))]
        raised = Cat(Mux(digit >= 5, digit + 3, digit)[:4] for digit in digits)
        m.d.comb += self.done.eq(left == 0)
        with m.If(self.start):
            m.d.sync += [rest.eq(self.number), left.eq(self._width), self.digits.eq(0)]
        with m.Elif(~self.done):
            m.d.sync += [left.eq(left - 1), rest.eq(rest << 1), self.digits.eq(Cat(rest[-1], raised))]
        return m
