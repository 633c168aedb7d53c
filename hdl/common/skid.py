"""Skid buffers: stages of a stream with a registered ``ready``."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Skid", "Spare"]


class _Between(wiring.Component):
    """A stage between a stream and its sink."""

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike):
        self._shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})


class Skid(_Between):
    """Two places between a stream and its sink: all outputs, ``i.ready`` included, are registered.

    ::

        i --+-----------> [output] --> o
            +--> [spare] --^             the spare takes the transfer of the cycle in which the sink stops

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
    """One place between a stream and its sink, for the transfer of the cycle in which the sink stops.

    ``i.ready`` is registered. While the place is empty, a transfer passes in the same cycle.

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
