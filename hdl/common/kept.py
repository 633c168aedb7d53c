"""Records of what is in progress: a FIFO, or wires if only one thing is."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.common.fifo import StreamFifo

__all__ = ["Kept"]


class Kept(wiring.Component):
    """Keeps records in order.

    Parameters
    ----------
    layout : data.StructLayout
        Of a record.
    most : int
        Records at the same time at most. A single one is not stored: ``i.payload`` must not change until it was taken.

    Members
    -------
    i : In(stream.Signature(layout))
        Records; there is always a place for one. ``ready`` is not used.
    o : Out(stream.Signature(layout))
        The same, one cycle later at least.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, layout: data.StructLayout, most: int):
        self._layout = layout
        self._most = most
        super().__init__({"i": In(stream.Signature(layout, always_ready=True)), "o": Out(stream.Signature(layout))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._most == 1:
            there = Signal()
            m.d.comb += [self.o.valid.eq(there), self.o.payload.eq(self.i.payload)]
            m.d.sync += there.eq(self.i.valid | (there & ~self.o.ready))
            return m
        # It has one place more; with a single row it would not take two records in two cycles.
        m.submodules.fifo = fifo = StreamFifo(self._layout, max(self._most - 1, 2))
        m.d.comb += [fifo.i.valid.eq(self.i.valid), fifo.i.payload.eq(self.i.payload)]
        wiring.connect(m, fifo.o, wiring.flipped(self.o))
        return m
