"""The result of a block: the first of its faults, and the line it is in."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.codec.payload.unpacking import PayloadError, payload_error_layout

__all__ = ["BlockResult"]


class BlockResult(wiring.Component):
    """Finds the first fault of a block in the order of the format: line by line its metadata and its data.

    ::

        beats, their faults --> [beat, line] [metadata is bad] [data ended in an earlier line] --> o, with the last beat

    The number of the line stops at the first line with a fault. Only the last line of a block can have a bad tag, so no
    register keeps bad tags. Cycles, with 64-byte beats and data that end in the second of three lines::

        beat           0     1     2     3     4     5
        truncated                        1     1     1
        o.line         0     0     1     1     1     1
        o.code                                       TRUNCATED_DATA

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat.
    block_bytes : int
        Raw bytes of the largest block.

    Members
    -------
    goes : In(1), last : In(1)
        A beat leaves; it is the last one of its block.
    known : In(PayloadError)
        With the last beat: the fault that was known before; OK without one.
    bad_facts : In(1)
        The record of the beat's line is bad.
    bad_tag : In(1)
        With the last beat: its line has a 1 for a missing element.
    truncated : In(1)
        The data end before this beat's do. It stays up to the last beat.
    surplus : In(1)
        With the last beat, if it is not truncated: data are left over.
    o : Out(payload_error_layout(block_bytes))
        With the last beat: the result.

    Source: docs/formats.md, "Which fault is reported".
    """

    def __init__(self, beat_bytes: int, block_bytes: int):
        self._beats = LINE_BYTES // beat_bytes
        self._lines = block_bytes // LINE_BYTES
        super().__init__({
            "goes": In(1), "last": In(1), "known": In(PayloadError), "bad_facts": In(1), "bad_tag": In(1),
            "truncated": In(1), "surplus": In(1), "o": Out(payload_error_layout(block_bytes)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat, line = Signal(range(self._beats)), Signal(range(self._lines))
        # Data were not enough in a line before this one; the metadata of this line, or of one before, is bad.
        earlier, spoiled, was_spoiled, line_ends = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            line_ends.eq(beat == self._beats - 1),
            spoiled.eq(was_spoiled | (self.bad_facts & ~earlier)),
        ]
        with m.If(self.goes):
            # Whether the line goes on comes late, so the sum must not depend on it.
            with m.If(self.last):
                m.d.sync += line.eq(0)
            with m.Elif(line_ends & ~(self.truncated | spoiled)):
                m.d.sync += line.eq(line + 1)
            m.d.sync += [
                beat.eq(Mux(self.last, 0, beat + 1)),
                earlier.eq(~self.last & (earlier | (line_ends & self.truncated))),
                was_spoiled.eq(~self.last & spoiled),
            ]
        with m.If(self.known != PayloadError.OK):
            m.d.comb += self.o.code.eq(self.known)
        with m.Elif(spoiled):
            m.d.comb += self.o.code.eq(PayloadError.BAD_FACTS)
        with m.Elif(self.bad_tag & ~earlier):
            m.d.comb += self.o.code.eq(PayloadError.BAD_TAG)
        with m.Elif(self.truncated):
            m.d.comb += self.o.code.eq(PayloadError.TRUNCATED_DATA)
        with m.Elif(self.surplus):
            m.d.comb += self.o.code.eq(PayloadError.TRAILING_BYTES)
        m.d.comb += self.o.line.eq(line)
        return m
