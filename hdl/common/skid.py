"""Registers that keep ``ready`` from reaching back."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Skid", "Spare"]


class _Between(wiring.Component):
    """What stands between a stream and its sink."""

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike):
        self._shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})


class Skid(_Between):
    """Two places between a stream and its sink: all outputs, ``i.ready`` included, come from registers.

    ::

        i --+-----------> [output] --> o
            +--> [spare] --^             the spare takes what comes in the cycle the sink stops

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.

    Members
    -------
    i, o : stream.Signature(shape)
        In and out: one transfer per cycle, one cycle of latency.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = Shape.cast(self._shape).width
        output = Signal(width, reset_less=True)
        spare = Signal(width, reset_less=True)
        held = Signal()
        full = Signal()
        incoming = Value.cast(self.i.payload)
        m.d.comb += [
            self.i.ready.eq(~full),
            self.o.valid.eq(held),
            Value.cast(self.o.payload).eq(output),
        ]
        with m.If(self.o.ready | ~held):
            m.d.sync += [held.eq(self.i.valid | full), full.eq(0), output.eq(Mux(full, spare, incoming))]
        with m.Else():
            m.d.sync += full.eq(full | self.i.valid)
        with m.If(~full):
            m.d.sync += spare.eq(incoming)
        return m


class Spare(_Between):
    """A place between a stream and its sink for what comes in the cycle the sink stops.

    ``i.ready`` comes from a register. Where nothing waits, a transfer goes through in its cycle.

    ::

        i --+-------------> o
            +--> [kept] --^

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.

    Members
    -------
    i, o : stream.Signature(shape)
        In and out: one transfer per cycle, no latency.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        kept = Signal(Shape.cast(self._shape).width, reset_less=True)
        full = Signal()
        incoming = Value.cast(self.i.payload)
        m.d.comb += [
            self.i.ready.eq(~full),
            self.o.valid.eq(self.i.valid | full),
            Value.cast(self.o.payload).eq(Mux(full, kept, incoming)),
        ]
        m.d.sync += full.eq(self.o.valid & ~self.o.ready)
        with m.If(~full):
            m.d.sync += kept.eq(incoming)
        return m
