"""Makes rows of the block stream from payloads, and leaves room for the header."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.codec.blocks.header import HEADER_BYTES
from hdl.common.beat import beat_stream
from hdl.common.bits import length
from hdl.config.engine import EngineConfig

__all__ = ["Framer"]


class Framer(wiring.Component):
    """Shifts each payload up by the bytes of a header, and joins lane beats to rows as wide as the link.

    ::

             +---------+   +---------------------+
        i -->| move up |-->| row: beat by beat   |--> o, last, bytes
             +---------+   +---------------------+
               last 4 bytes wait for the next beat

    The shift moves the last 4 bytes of each beat into the next one. A payload whose last beat is full up to these bytes
    needs one more cycle.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    i : In(beat_stream(beat_bytes))
        Payloads.
    o : Out(stream.Signature({data, last, bytes}))
        Rows. The first 4 bytes of a payload's first row are zero, and so are all bytes after its end. ``bytes`` is the
        length of the payload, valid with its ``last`` row.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({
            "i": In(beat_stream(config.beat_bytes)),
            "o": Out(stream.Signature(data.StructLayout({
                "data": 8 * config.link_beat_bytes, "last": 1, "bytes": range(config.largest_payload + 1)}))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self._config.beat_bytes
        parts = self._config.link_beat_bytes // n
        beat = self.i.payload
        carry = Signal(8 * HEADER_BYTES)
        spill = Signal()                            # the carry holds the end of a payload
        part = Signal(range(parts))
        counted = Signal(len(self.o.payload.bytes))     # bytes of the payload before this beat

        kept = Signal(8 * n)
        size = Signal(range(n + 1))
        spills = Signal()
        m.d.comb += [
            kept.eq(Mux(beat.last, beat.data & Cat(bit.replicate(8) for bit in beat.keep), beat.data)),
            size.eq(Mux(beat.last, length(beat.keep), n)),
            spills.eq(beat.last & beat.keep[n - HEADER_BYTES]),
        ]
        piece = Signal(8 * n)
        ends = Signal()
        full = Signal()
        moves = Signal()
        m.d.comb += [
            piece.eq(Mux(spill, carry, Cat(carry, kept[:8 * (n - HEADER_BYTES)]))),
            ends.eq(spill | (beat.last & ~spills)),
            full.eq(ends | (part == parts - 1)),
            self.o.valid.eq((self.i.valid | spill) & full),
            moves.eq((self.i.valid | spill) & (self.o.ready | ~full)),
            self.i.ready.eq(~spill & (self.o.ready | ~full)),
            self.o.payload.last.eq(ends),
            self.o.payload.bytes.eq(Mux(spill, counted, counted + size)),
        ]
        if parts == 1:
            m.d.comb += self.o.payload.data.eq(piece)
        else:
            row = Signal(8 * n * (parts - 1), reset_less=True)
            places = [Mux(part == k, piece, Mux(part > k, row.word_select(k, 8 * n), 0)) for k in range(parts - 1)]
            m.d.comb += self.o.payload.data.eq(Cat(*places, Mux(part == parts - 1, piece, Const(0, 8 * n))))
            with m.If(moves):
                for k in range(parts - 1):
                    with m.If(part == k):
                        m.d.sync += row.word_select(k, 8 * n).eq(piece)
        with m.If(moves):
            m.d.sync += [
                part.eq(Mux(full, 0, part + 1)),
                spill.eq(~spill & spills),
                carry.eq(Mux(ends, 0, kept[8 * (n - HEADER_BYTES):])),
                counted.eq(Mux(ends, 0, counted + size)),
            ]
        return m
