"""A FIFO that holds each transfer back for some cycles, as a memory does."""

from __future__ import annotations

from amaranth.hdl import Module, Shape, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cdma.hdl.common.fifo import StreamFifo

__all__ = ["Delay"]


class Delay(wiring.Component):
    """First in, first out; what comes in goes out after at least ``latency`` cycles.

    ::

        i --> [FIFO: payload, time it came] --> old enough --> o

    Latencies of transfers overlap, as those of outstanding reads do. The time is counted modulo a power of two: a
    transfer that waits behind others may wait for one more turn of the count.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Transfers it holds.
    latency : int
        Cycles from a transfer at ``i`` to the first cycle in which it is valid at ``o``; less than 3 counts as 3.

    Members
    -------
    i, o : stream.Signature(shape)
        In and out.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike, depth: int, latency: int):
        self._shape = shape
        self._depth = depth
        # The register of the age takes a cycle.
        self._wait = max(0, latency - 1)
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = ceil_log2(2 * self._wait + 8)
        layout = data.StructLayout({"payload": Shape.cast(self._shape).width, "time": bits})
        m.submodules.fifo = fifo = StreamFifo(layout, self._depth)
        now = Signal(bits)
        age = Signal(bits)
        old = Signal()
        moves = Signal()
        m.d.sync += [now.eq(now + 1), old.eq((old | (fifo.o.valid & (age >= self._wait))) & ~moves)]
        m.d.comb += [
            age.eq(now - fifo.o.payload.time),
            moves.eq(self.o.valid & self.o.ready),
            fifo.i.payload.payload.eq(Value.cast(self.i.payload)),
            fifo.i.payload.time.eq(now),
            fifo.i.valid.eq(self.i.valid),
            self.i.ready.eq(fifo.i.ready),
            Value.cast(self.o.payload).eq(fifo.o.payload.payload),
            self.o.valid.eq(fifo.o.valid & old),
            fifo.o.ready.eq(moves),
        ]
        return m
