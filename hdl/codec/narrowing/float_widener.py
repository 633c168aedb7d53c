"""Widens 16-bit values to float32, so that one beat becomes two."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.narrowing.rounding import Narrowing, widen
from cdma.hdl.common.beat import beat_stream

__all__ = ["FloatWidener"]


class FloatWidener(wiring.Component):
    """Widens packets of 16-bit values to float32, exactly and in order.

    ::

        i --> [held] --> lower half, then upper --> widen --> [register] --> o

    Latency: 2 cycles. Throughput: one wide beat per cycle. An upper half without values makes no beat.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat, narrowed and wide.

    Members
    -------
    narrow : In(Narrowing)
        The format of the values, not ``NONE``; must not change while there are packets.
    i : In(beat_stream(beat_bytes))
        Packets of whole values.
    o : Out(stream.Signature(8 * beat_bytes))
        The beats of the wide values.
    idle : Out(1)
        No beat is held.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int):
        self._beat_bytes = beat_bytes
        super().__init__({"narrow": In(Narrowing), "i": In(beat_stream(beat_bytes)),
                          "o": Out(stream.Signature(8 * beat_bytes)), "idle": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self._beat_bytes
        half = self.narrow == Narrowing.FLOAT16
        held = Signal(8 * n, reset_less=True)
        short = Signal(reset_less=True)     # the held beat has no upper half
        there, upper, valid = Signal(), Signal(), Signal()
        wide = Signal(8 * n, reset_less=True)
        moves, final = Signal(), Signal()
        part = Mux(upper, held[4 * n:], held[:4 * n])
        m.d.comb += [
            moves.eq(~valid | self.o.ready),
            final.eq(upper | short),
            self.i.ready.eq(~there | (moves & final)),
            self.o.valid.eq(valid),
            self.o.payload.eq(wide),
            self.idle.eq(~there & ~valid),
        ]
        with m.If(moves):
            m.d.sync += valid.eq(there)
            with m.If(there):
                m.d.sync += [wide.eq(Cat(widen(part.word_select(k, 16), half) for k in range(n // 4))),
                             upper.eq(~final)]
        with m.If(self.i.ready):
            m.d.sync += [there.eq(self.i.valid), held.eq(self.i.payload.data),
                         short.eq(self.i.payload.last & ~self.i.payload.keep[n // 2])]
        return m
