"""Beats of another width: two narrow ones joined into a wide one, and a wide one split."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["BeatDownsizer", "BeatUpsizer"]


def _layout(beat_bytes: int, beside: dict[str, ShapeLike]) -> data.StructLayout:
    return data.StructLayout({"data": 8 * beat_bytes, "keep": beat_bytes, "last": 1, **beside})


class BeatUpsizer(wiring.Component):
    """Joins two beats into one of twice the width.

    ::

        i --+--> [first half] --+--> o
            +-------------------+

    A packet of an odd number of beats ends with a first half alone. Both beats have to be there for one that leaves;
    it leaves in the cycle of the second one.

    Latency: none from the second beat on. Throughput: one beat of ``i`` per cycle. ``i.ready`` is combinational from
    ``o.ready`` and ``i.payload.last``.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat of ``i``.
    beside : dict of str and ShapeLike
        Fields beside data, keep and last; a joined beat has those of its first half.

    Members
    -------
    i : In(stream.Signature(data, keep, last and the fields of ``beside``))
        Beats; ``keep`` counts on the last one of a packet.
    o : Out(the same, of twice as many bytes)
        Joined beats.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, beside: dict[str, ShapeLike]):
        self._beat_bytes = beat_bytes
        self._beside = tuple(beside)
        super().__init__({"i": In(stream.Signature(_layout(beat_bytes, beside))),
                          "o": Out(stream.Signature(_layout(2 * beat_bytes, beside)))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self._beat_bytes
        beat: Any = self.i.payload
        first: Any = Signal.like(beat, name="first", reset_less=True)
        held = Signal()
        m.d.comb += [
            self.o.valid.eq(self.i.valid & (held | beat.last)),
            self.i.ready.eq(self.o.ready | (~held & ~beat.last)),
            self.o.payload.data.eq(Cat(Mux(held, first.data, beat.data), beat.data)),
            self.o.payload.keep.eq(Mux(held, Cat(Const((1 << n) - 1, n), beat.keep), Cat(beat.keep, Const(0, n)))),
            self.o.payload.last.eq(beat.last),
            *(self.o.payload[name].eq(Mux(held, first[name], beat[name])) for name in self._beside),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += held.eq(~held & ~beat.last)
        with m.If(~held):
            m.d.sync += first.eq(beat)
        return m


class BeatDownsizer(wiring.Component):
    """Splits a beat into two of half the width; the last one of a packet into one, if its upper half has no byte.

    ::

        i --> [lower half, then upper half] --> o

    Latency: none. Throughput: one beat of ``o`` per cycle. ``o`` is combinational from ``i``, and ``i.ready`` from
    ``o.ready`` and the payload.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat of ``o``.
    beside : dict of str and ShapeLike
        Fields beside data, keep and last; both halves have those of their beat.

    Members
    -------
    i : In(stream.Signature(data, keep, last and the fields of ``beside``))
        Beats; ``keep`` counts on the last one of a packet.
    o : Out(the same, of half as many bytes)
        Their halves.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, beside: dict[str, ShapeLike]):
        self._beat_bytes = beat_bytes
        self._beside = tuple(beside)
        super().__init__({"i": In(stream.Signature(_layout(2 * beat_bytes, beside))),
                          "o": Out(stream.Signature(_layout(beat_bytes, beside)))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self._beat_bytes
        beat: Any = self.i.payload
        upper, ends = Signal(), Signal()
        m.d.comb += [
            ends.eq(upper | (beat.last & ~beat.keep[n])),
            self.o.valid.eq(self.i.valid),
            self.i.ready.eq(self.o.ready & ends),
            self.o.payload.data.eq(beat.data.word_select(upper, 8 * n)),
            self.o.payload.keep.eq(beat.keep.word_select(upper, n)),
            self.o.payload.last.eq(beat.last & ends),
            *(self.o.payload[name].eq(beat[name]) for name in self._beside),
        ]
        with m.If(self.i.valid & self.o.ready):
            m.d.sync += upper.eq(~ends)
        return m
