"""Puts the header in front of each payload, and makes rows of the block stream."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.coding import HEADER_BYTES, SHORT, WORD_BYTES, header_layout
from cdma.hdl.common.beat import beat_stream
from cdma.hdl.config.engine import EngineConfig

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
        long, held_long = Signal(), Signal(reset_less=True)     # the block has a length field; that of the carry
        spills = Signal()
        m.d.comb += [
            long.eq((block.coding & SHORT).any()),
            header.payload_bytes.eq(block.payload_bytes + Mux(long, WORD_BYTES, 0)),
            header.coding.eq(block.coding), header.sequence.eq(block.sequence),
            spills.eq(beat.last & Mux(long, beat.keep[n - _MOST], beat.keep[n - HEADER_BYTES])),
        ]
        # The bytes of the beat that move up by 4, and by 8. A mask has all conditions, so a bit of data takes one LUT.
        starts, of_long = Signal(), Signal()
        up_4, up_8 = Signal(n), Signal(n)
        there = beat.keep | (~beat.last).replicate(n)
        m.d.comb += [
            starts.eq(first & ~spill), of_long.eq(Mux(spill, held_long, long)),
            up_4.eq(there & (~spill & ~long).replicate(n)), up_8.eq(there & (~spill & long).replicate(n)),
        ]
        length = block.raw_bytes | Const(0, 8 * WORD_BYTES)
        piece = Signal(8 * n)
        bytes_, held, front = ([value.word_select(k, 8) for k in range(len(value) // 8)]
                              for value in (beat.data, carry, header.as_value()))
        for k in range(n):
            if k < HEADER_BYTES:
                byte = Mux(starts, front[k], Mux(of_long, held[k], held[HEADER_BYTES + k]))
            else:
                below = k - HEADER_BYTES
                byte = bytes_[below] & up_4[below].replicate(8)
                if k < _MOST:
                    byte |= Mux(of_long, Mux(starts, length.word_select(below, 8), held[k]), 0)
                else:
                    byte |= bytes_[k - _MOST] & up_8[k - _MOST].replicate(8)
            m.d.comb += piece.word_select(k, 8).eq(byte)
        ends, full, moves = Signal(), Signal(), Signal()
        m.d.comb += [
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
                carry.eq(Cat(bytes_[k] & there[k].replicate(8) for k in range(n - _MOST, n))),
            ]
        return m
