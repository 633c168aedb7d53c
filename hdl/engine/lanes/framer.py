"""Puts the header in front of each payload, and makes rows of the block stream."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.codec.blocks.header import HEADER_BYTES, header_layout
from hdl.codec.coding import SHORT, WORD_BYTES
from hdl.common.beat import beat_stream
from hdl.config.engine import EngineConfig

__all__ = ["Framer", "framed_block_layout"]

_MOST = HEADER_BYTES + WORD_BYTES       # bytes of a header with the length field of a short block


def framed_block_layout(config: EngineConfig) -> data.StructLayout:
    """What the header of a block says: coding field, raw bytes, bytes of the payload without a length field, and number
    modulo 256."""
    return data.StructLayout({
        "coding": 8, "raw_bytes": range(config.block_bytes + 1), "payload_bytes": range(config.largest_payload + 1),
        "sequence": 8})


class Framer(wiring.Component):
    """Moves each payload up by the bytes of its header, and joins lane beats to rows as wide as the link.

    ::

        block ---> header
                     v
             +-------------+   +---------------------+
        i -->| move up     |-->| row: beat by beat   |--> o
             +-------------+   +---------------------+
               last 8 bytes wait for the next beat

    The header has 4 bytes, and 8 in a short block whose length stands behind it. So many of the last bytes of each beat
    move into the next one. A payload whose last beat is full up to these bytes needs one more cycle.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    i : In(beat_stream(beat_bytes))
        Payloads.
    block : In(framed_block_layout(config))
        Beside every beat of ``i``: its block.
    o : Out(stream.Signature({data, last}))
        Rows of blocks, header first. All bytes after the end of a block are zero.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({
            "i": In(beat_stream(config.beat_bytes)), "block": In(framed_block_layout(config)),
            "o": Out(stream.Signature(data.StructLayout({
                "data": 8 * config.link_beat_bytes, "last": 1}))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self._config.beat_bytes
        parts = self._config.link_beat_bytes // n
        beat, block = self.i.payload, self.block
        carry = Signal(8 * _MOST, reset_less=True)      # the last bytes of the beat before
        first = Signal(init=1)                      # the next beat is the first of its payload
        spill = Signal()                            # the carry holds the end of a block
        part = Signal(range(parts))

        header: Any = Signal(header_layout())
        long = Signal()                             # the block has a length field
        upper = Signal(8 * _MOST)                   # the bytes in front of this beat
        kept = Signal(8 * n)
        spills = Signal()
        m.d.comb += [
            long.eq((block.coding & SHORT).any()),
            header.payload_bytes.eq(block.payload_bytes + Mux(long, WORD_BYTES, 0)),
            header.coding.eq(block.coding), header.sequence.eq(block.sequence),
            kept.eq(Mux(beat.last, beat.data & Cat(bit.replicate(8) for bit in beat.keep), beat.data)),
            spills.eq(beat.last & Mux(long, beat.keep[n - _MOST], beat.keep[n - HEADER_BYTES])),
            upper.eq(Mux(first, Mux(
                long, Cat(header, block.raw_bytes | Const(0, 8 * WORD_BYTES)),
                Cat(Const(0, 8 * WORD_BYTES), header)), carry)),
        ]
        # Without a length field only the last half of `upper` and of the carry counts.
        piece = Signal(8 * n)
        ends, full, moves = Signal(), Signal(), Signal()
        held_long = Signal(reset_less=True)
        m.d.comb += [
            piece.eq(Mux(
                spill, Cat(Mux(held_long, carry[:32], carry[32:]), Mux(held_long, carry[32:], 0)),
                Mux(long, Cat(upper, kept[:8 * (n - _MOST)]), Cat(upper[32:], kept[:8 * (n - HEADER_BYTES)])))),
            ends.eq(spill | (beat.last & ~spills)),
            full.eq(ends | (part == parts - 1)),
            self.o.valid.eq((self.i.valid | spill) & full),
            moves.eq((self.i.valid | spill) & (self.o.ready | ~full)),
            self.i.ready.eq(~spill & (self.o.ready | ~full)),
            self.o.payload.last.eq(ends),
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
                spill.eq(~spill & spills), first.eq(ends), held_long.eq(long),
                carry.eq(kept[8 * (n - _MOST):]),
            ]
        return m
