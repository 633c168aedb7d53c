"""Rounds the float32 values of raw beats to 16 bits, so that two beats become one."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.narrowing.rounding import Narrowing, place, placed_layout, shift, shifted_layout, up
from cdma.hdl.common.beat import beat_stream

__all__ = ["FloatNarrower"]

_VALUE_BYTES = 4


class FloatNarrower(wiring.Component):
    """Rounds packets of float32 values to 16 bits: to nearest, ties to even.

    ::

        i --> place --> [placed] --> shift --> [shifted] --> up --> [lower half, upper half] --> o

    Latency: 3 cycles. Throughput: one raw beat per cycle, so one narrowed beat in two.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat, raw and narrowed.

    Members
    -------
    narrow : In(Narrowing)
        The format to round to, not ``NONE``; must not change while there are packets.
    i : In(beat_stream(beat_bytes))
        Packets of whole values.
    o : Out(beat_stream(beat_bytes))
        The same packets with half the bytes; ``keep`` is valid on every beat.
    idle : Out(1)
        No beat is held.

    Source: IEEE 754-2019, 4.3.1 (roundTiesToEven).
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int):
        self._beat_bytes = beat_bytes
        super().__init__({"narrow": In(Narrowing), "i": In(beat_stream(beat_bytes)),
                          "o": Out(beat_stream(beat_bytes)), "idle": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self._beat_bytes
        values = n // _VALUE_BYTES
        half = self.narrow == Narrowing.FLOAT16
        placed = Signal(data.ArrayLayout(placed_layout(), values), reset_less=True)
        shifted = Signal(data.ArrayLayout(shifted_layout(), values), reset_less=True)
        # For the beats in the two registers: valid, last of a packet, and which values it has.
        there = Signal(2)
        ends = [Signal(name=f"ends_{k}", reset_less=True) for k in range(2)]
        keeps = [Signal(values, name=f"keeps_{k}", reset_less=True) for k in range(2)]
        upper = Signal()
        valid = Signal()
        moves = Signal()
        out = Signal.like(self.o.payload)
        m.d.comb += [
            moves.eq(~valid | self.o.ready),
            self.i.ready.eq(moves),
            self.o.valid.eq(valid),
            self.o.payload.eq(out),
            self.idle.eq(~there.any() & ~valid & ~upper),
        ]
        codes = Cat(up(shifted[k]) for k in range(values))
        keep = Cat(bit.replicate(_VALUE_BYTES // 2) for bit in keeps[1])
        with m.If(moves):
            m.d.sync += [
                there.eq(Cat(self.i.valid, there[0])),
                ends[0].eq(self.i.payload.last),
                ends[1].eq(ends[0]),
                keeps[0].eq(Cat(self.i.payload.keep[_VALUE_BYTES * k] for k in range(values))
                            | (~self.i.payload.last).replicate(values)),
                keeps[1].eq(keeps[0]),
                valid.eq(there[1] & (upper | ends[1])),
            ]
            for k in range(values):
                m.d.sync += [
                    placed[k].eq(place(self.i.payload.data.word_select(k, 8 * _VALUE_BYTES))),
                    shifted[k].eq(shift(m, f"value_{k}", placed[k], half)),
                ]
            with m.If(there[1]):
                m.d.sync += [
                    upper.eq(~upper & ~ends[1]),
                    out.last.eq(ends[1]),
                    out.data[4 * n:].eq(codes),
                    out.keep[n // 2:].eq(Mux(upper, keep, 0)),
                ]
                with m.If(~upper):
                    m.d.sync += [out.data[:4 * n].eq(codes), out.keep[:n // 2].eq(keep)]
        return m
