"""The data path of the block decompressor: rows of tags and rows of data in, raw beats out."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.coding import LINE_BYTES
from hdl.codec.payload.row_ring import RowRing
from hdl.codec.payload.tag_slicer import TagSlicer, slice_layout
from hdl.codec.payload.unpacking import PayloadError, data_row_layout, order_layout, payload_error_layout
from hdl.codec.routing import Ranks, Scatter, Steer
from hdl.common.beat import beat_stream
from hdl.common.bits import thermometer
from hdl.common.skid import Spare

__all__ = ["RowUnpacker"]


class RowUnpacker(wiring.Component):
    """Expands blocks of zero-value coding whose tags come first, one raw beat per cycle, and checks them.

    ::

        order, tags --> [slicer] --> [mask] --> ranks --> [place] --> swap bits
                                                           ^   |          |
                                                           +---+ lane     v
                                                 data --> [rows] --> [scatter] --> [beat] --> spare --> o, error

    Each pair of brackets is a stage with registers. *Place* adds up how many units of the rows have been used: this sum
    is the only loop over beats. A beat takes units of at most two rows. Units are not aligned first: the network that
    spreads them over the beat also undoes their rotation. Cycles of a block whose rows are there::

        cycle                     0     1     2     3     4     5
        tags, order taken         x
        mask, ranks                     a     b     c     d
        place                                 a     b     c     d
        rows, scatter                               a     b     c
        o.valid                                           a     b

    Latency: the first raw beat of a block leaves 4 cycles after its order and its first row of tags were taken; in the
    cycle after a row of data was taken, its units are scattered, and they leave one cycle later. Throughput: 1 raw beat
    per cycle while rows are there, of blocks of any length, without a gap between them.

    Errors are reported at the end of the block. Beats that were decoded before have left by then, and those of a
    faulty block hold anything. Data that are left over are taken up to the row with ``last``, one row per cycle. Each
    order gives its number of beats, with one ``last``; then the next block works.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat and of a row: 16, 32 or 64.
    element_bytes : tuple of int
        Element sizes that blocks may choose from: one or more of 1, 2, 4.
    block_bytes : int
        Raw bytes of the largest block.

    Members
    -------
    order : In(stream.Signature(order_layout(beat_bytes, element_bytes, block_bytes)))
        The blocks.
    tags : In(stream.Signature(8 * beat_bytes))
        Their rows of tags; each block begins with a new row. What follows its tags in the last row does not matter.
    data : In(stream.Signature(data_row_layout(beat_bytes, element_bytes)))
        Their rows of data, from the one on in which the data begin. The last row of the payload has ``last``, whatever
        the tags say.
    o : Out(beat_stream(beat_bytes))
        Raw beats. ``o.ready`` reaches no other port within a cycle.
    error : Out(payload_error_layout(block_bytes))
        Valid with the last beat of a block: its result.

    Source: docs/formats.md, tags first.
    """

    order: stream.Interface
    tags: stream.Interface
    data: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, element_bytes: tuple[int, ...], block_bytes: int):
        self._beat_bytes = beat_bytes
        self._sizes = tuple(sorted(element_bytes))
        self._block_bytes = block_bytes
        super().__init__({
            "order": In(stream.Signature(order_layout(beat_bytes, self._sizes, block_bytes))),
            "tags": In(stream.Signature(8 * beat_bytes)),
            "data": In(stream.Signature(data_row_layout(beat_bytes, self._sizes))),
            "o": Out(beat_stream(beat_bytes)),
            "error": Out(payload_error_layout(block_bytes)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, sizes, grain = self._beat_bytes, self._sizes, min(self._sizes)
        units = n // grain
        position = exact_log2(units)
        m.submodules.slicer = slicer = TagSlicer(n, sizes, self._block_bytes)
        m.submodules.ranks = ranks = Ranks(n, grain)
        m.submodules.steer = steer = Steer(n, grain)
        m.submodules.scatter = scatter = Scatter(n, grain)
        m.submodules.rows = rows = RowRing(n, sizes)
        m.submodules.spare = spare = Spare(data.StructLayout({
            "data": 8 * n, "last": 1, "tail": position, "error": payload_error_layout(self._block_bytes)}))
        wiring.connect(m, wiring.flipped(self.order), slicer.order)
        wiring.connect(m, wiring.flipped(self.tags), slicer.tags)
        wiring.connect(m, wiring.flipped(self.data), rows.i)

        # The tag bits of a beat, and how many there are.
        move = Signal()
        counted = Signal(slice_layout(n, sizes), reset_less=True)
        counted_valid = Signal()
        m.d.comb += [move.eq(rows.move), slicer.move.eq(move), ranks.mask.eq(counted.mask)]
        with m.If(move):
            m.d.sync += [counted_valid.eq(slicer.valid), counted.eq(slicer.slice)]

        # Its place: `lane` is that of its first unit.
        placed = Signal(slice_layout(n, sizes), reset_less=True)
        placed_valid, wrong = Signal(), Signal(reset_less=True)
        before = Signal.like(ranks.before, reset_less=True)
        halves = Signal.like(ranks.halves, reset_less=True)
        lane = Signal(position, reset_less=True)
        total = Signal(position + 1)
        m.d.comb += [
            total.eq(lane + (halves[0] + halves[1])),
            steer.before.eq(before), steer.start.eq(lane),
            rows.valid.eq(placed_valid),
            rows.place.lane.eq(lane), rows.place.after.eq(total),
            rows.place.crosses.eq(Mux(lane == 0, halves.as_value().any(), total[-1] & (total[:-1] != 0))),
            rows.place.opens.eq(placed.first & (placed.start != 0)),
            rows.place.last.eq(placed.last), rows.place.bare.eq(placed.bare),
        ]
        with m.If(move):
            m.d.sync += [
                placed_valid.eq(counted_valid), placed.eq(counted), before.eq(ranks.before), halves.eq(ranks.halves),
                lane.eq(Mux(counted.first, counted.start, total)),
                wrong.eq(counted.beyond | (counted.mask & ~_present(counted.tail, units)).any()),
            ]

        # Its rows, and the spread of its units.
        spread = Signal(slice_layout(n, sizes), reset_less=True)
        bad_tag = Signal(reset_less=True)
        swap = Signal.like(steer.swap, reset_less=True)
        with m.If(move):
            m.d.sync += [spread.eq(placed), bad_tag.eq(wrong), swap.eq(steer.swap)]
        m.d.comb += [rows.leave.eq(spare.i.ready), scatter.i.eq(rows.window), scatter.swap.eq(swap)]

        # The beat.
        held = Signal()
        beat = Signal.like(spare.i.payload, reset_less=True)
        with m.If(spare.i.ready):
            m.d.sync += [
                held.eq(rows.shown),
                beat.data.eq(Cat(Mux(spread.mask[unit], scatter.o.word_select(unit, 8 * grain), 0)
                                 for unit in range(units))),
                beat.last.eq(spread.last), beat.tail.eq(spread.tail),
                beat.error.eq(self._error(m, rows, spread, bad_tag)),
            ]
        out = spare.o.payload
        m.d.comb += [
            spare.i.valid.eq(held), spare.i.payload.eq(beat),
            self.o.valid.eq(spare.o.valid), spare.o.ready.eq(self.o.ready),
            self.o.payload.data.eq(out.data), self.o.payload.last.eq(out.last),
            self.o.payload.keep.eq(Cat(bit.replicate(grain) for bit in _present(out.tail, units))),
            self.error.eq(out.error),
        ]
        return m

    def _error(self, m: Module, rows: RowRing, spread: data.View, bad_tag: Signal) -> data.View:
        """The result of the block with its last beat.

        The line at fault stays where the data were not enough, or else counts up to the last one.
        """
        beats = LINE_BYTES // self._beat_bytes
        beat = Signal(range(beats))
        line = Signal(range(self._block_bytes // LINE_BYTES))
        earlier, line_ends = Signal(), Signal()     # data were not enough in a line before this one
        code = Signal(PayloadError)
        m.d.comb += line_ends.eq(beat == beats - 1)
        with m.If(rows.shown & rows.leave):
            m.d.sync += [
                beat.eq(Mux(spread.last, 0, beat + 1)),
                line.eq(Mux(spread.last, 0, line + (line_ends & ~rows.truncated))),
                earlier.eq(~spread.last & (earlier | (line_ends & rows.truncated))),
            ]
        with m.If(spread.error != PayloadError.OK):
            m.d.comb += code.eq(spread.error)
        with m.Elif(bad_tag & ~earlier):
            m.d.comb += code.eq(PayloadError.BAD_TAG)
        with m.Elif(rows.truncated):
            m.d.comb += code.eq(PayloadError.TRUNCATED_DATA)
        with m.Elif(rows.surplus):
            m.d.comb += code.eq(PayloadError.TRAILING_BYTES)
        result = Signal(payload_error_layout(self._block_bytes))
        m.d.comb += [result.code.eq(code), result.line.eq(line)]
        return result


def _present(tail: Value, units: int) -> Value:
    """The units of a last beat, as a mask."""
    return Cat(thermometer(tail, units)) | (tail == 0).replicate(units)
