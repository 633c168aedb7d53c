"""A FIFO between two streams; all buffers of the engine are made with it."""

from __future__ import annotations

from amaranth.hdl import Module, Shape, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

__all__ = ["StreamFifo"]


class StreamFifo(wiring.Component):
    """First in, first out: one transfer in and one out per cycle, two cycles of latency.

    ::

        i --> [memory, synchronous read] --> o          o.payload is the memory's output register

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Transfers it holds at least. If it is a power of two, the memory has exactly this number of rows.

    Members
    -------
    i, o : stream.Signature(shape)
        In and out.
    level : Out(range(depth + 2))
        Transfers in the FIFO.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike, depth: int):
        self._shape = shape
        self._depth = depth + 1
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape)),
                          "level": Out(range(depth + 2))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.fifo = fifo = SyncFIFOBuffered(width=Shape.cast(self._shape).width, depth=self._depth)
        data = Signal(fifo.width)
        m.d.comb += [
            data.eq(Value.cast(self.i.payload)),
            fifo.w_data.eq(data),
            fifo.w_en.eq(self.i.valid),
            self.i.ready.eq(fifo.w_rdy),
            Value.cast(self.o.payload).eq(fifo.r_data),
            self.o.valid.eq(fifo.r_rdy),
            fifo.r_en.eq(self.o.ready),
            self.level.eq(fifo.level),
        ]
        return m
