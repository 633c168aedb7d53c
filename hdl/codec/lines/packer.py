"""Packs tags and gathered bytes into full rows, and queues the rows for the output."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import tag_bytes
from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.common.beat import beat_stream
from cdma.hdl.common.bits import thermometer

__all__ = ["Packer", "RowQueue", "end_layout", "piece_layout", "row_layout"]


def end_layout(beat_bytes: int, grain: int) -> data.StructLayout:
    """The end of a packet.

    ``last``: the packet ends with this row; ``units``: units of the row in use, 0 for all of them; ``none``: no unit
    is in use; ``ragged``: bytes that are no whole element were dropped.
    """
    return data.StructLayout({"last": 1, "units": exact_log2(beat_bytes // grain), "none": 1, "ragged": 1})


def row_layout(beat_bytes: int, grain: int) -> data.StructLayout:
    """A row of packed bytes, and whether the packet ends with it."""
    return data.StructLayout({"data": 8 * beat_bytes, "end": end_layout(beat_bytes, grain)})


def piece_layout(beat_bytes: int, grain: int) -> data.StructLayout:
    """A piece: what one raw beat adds to the packed stream.

    ``lanes``: its non-zero bytes, on their output lanes; ``below``: units of the open row that older bytes occupy, all
    of them at the start of a packet; ``tag``, ``on_tag``: the tag of the line that begins here, rotated to its lanes,
    and the units it takes (none on other beats); ``rows``: how many rows are completed before the last byte of the
    piece is placed; ``end``: whether the packet ends with this piece, and the state of its last row.
    """
    units = beat_bytes // grain
    return data.StructLayout({
        "lanes": 8 * beat_bytes,
        "below": units,
        "tag": 8 * tag_bytes(grain),
        "on_tag": units,
        "rows": 2,
        "end": end_layout(beat_bytes, grain),
    })


class RowQueue(wiring.Component):
    """A queue of three rows that takes up to two per cycle; its first place is the output register.

    ::

        row_a --+--> [2] --> [1] --> [0] --> o      [0] is the output register; rows move up as it is taken,
        row_b --+                                   new ones go to the first free places

    Parameters
    ----------
    beat_bytes : int
        Bytes of a row.
    grain : int
        Bytes of a unit.

    Members
    -------
    push : In(range(3))
        Rows to append: none, ``row_a``, or ``row_a`` and ``row_b``; never more than ``3 - level``.
    row_a, row_b : In(row_layout(beat_bytes, grain))
        The first and the second row.
    level : Out(range(4))
        Rows in the queue now.
    level_next : Out(range(4))
        Rows in the queue in the next cycle.
    o : Out(beat_stream(beat_bytes))
        The rows, in order.
    error : Out(ErrorCode)
        Valid beside the last beat of a packet.
    """

    DEPTH = 3

    def __init__(self, beat_bytes: int, grain: int):
        self._beat_bytes = beat_bytes
        self._grain = grain
        super().__init__({
            "push": In(2),
            "row_a": In(row_layout(beat_bytes, grain)),
            "row_b": In(row_layout(beat_bytes, grain)),
            "level": Out(2),
            "level_next": Out(2),
            "o": Out(beat_stream(beat_bytes)),
            "error": Out(ErrorCode),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = row_layout(self._beat_bytes, self._grain)
        middle = Signal(layout, reset_less=True)
        back = Signal(layout, reset_less=True)
        front = Signal(layout)
        ragged = Signal(reset_less=True)
        used = Signal(self._beat_bytes // self._grain)
        pop = Signal()
        m.d.comb += [
            pop.eq(self.o.valid & self.o.ready),
            self.level_next.eq(self.level - pop + self.push),
            front.eq(Mux(self.level[1], middle, self.row_a)),
            used.eq(thermometer(front.end.units, len(used))),
            self.error.eq(Mux(ragged, ErrorCode.TRAILING_BYTES, ErrorCode.OK)),
        ]
        m.d.sync += [self.level.eq(self.level_next), self.o.valid.eq(self.level_next != 0)]

        # An empty place loads in every cycle, so that its enable depends on the level alone.
        with m.If(pop | ~self.o.valid):
            every = ~front.end.last | ((front.end.units == 0) & ~front.end.none)
            m.d.sync += [
                self.o.payload.data.eq(front.data),
                self.o.payload.last.eq(front.end.last),
                self.o.payload.keep.eq(Cat((bit | every).replicate(self._grain) for bit in used)),
                ragged.eq(front.end.ragged),
            ]
        with m.If(pop | ~self.level[1]):
            m.d.sync += middle.eq(Mux(self.level == 3, back, Mux(self.level[1] | (self.level[0] & ~pop),
                                                                self.row_a, self.row_b)))
        with m.If(self.level != 3):
            m.d.sync += back.eq(Mux(self.level[1], self.row_a, self.row_b))
        return m


class Packer(wiring.Component):
    """Places pieces one after the other and divides the result into rows.

    ::

                             +---------------------------------------+
        i.lanes, i.tag --+-->| open row: units below older bytes stay |
                         |   +---------------------------------------+
                         |      | older bytes
                         +----> row_a, row_b --> RowQueue --> o

    A full row leaves when the next byte arrives. The last row of a packet, full or not, leaves with the packet's last
    piece if the queue has room. Otherwise it stays in the open row and leaves with the next packet's first piece, or
    alone in a cycle without a piece. In either case it costs no extra cycle.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a row.
    grain : int
        Bytes of a unit.

    Members
    -------
    i : In(stream.Signature(piece_layout(beat_bytes, grain)))
        Pieces; ``below`` must be all ones while ``valid`` is low.
    room_next : Out(range(4))
        Rows that the queue has room for in the next cycle: a piece with no more ``rows`` is certain to be taken then.
    o : Out(beat_stream(beat_bytes))
        Packed beats.
    error : Out(ErrorCode)
        Valid beside the last beat of a packet.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, grain: int):
        self._beat_bytes = beat_bytes
        self._grain = grain
        super().__init__({
            "i": In(stream.Signature(piece_layout(beat_bytes, grain))),
            "room_next": Out(2),
            "o": Out(beat_stream(beat_bytes)),
            "error": Out(ErrorCode),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = RowQueue(self._beat_bytes, self._grain)
        wiring.connect(m, wiring.flipped(self.o), queue.o)

        units = self._beat_bytes // self._grain
        width = 8 * self._grain
        piece = self.i.payload
        opened = Signal(8 * self._beat_bytes, reset_less=True)
        end = Signal(end_layout(self._beat_bytes, self._grain))
        empty = Signal(init=1)
        take = Signal()
        flush = Signal()
        close = Signal()
        below = Signal(units)
        rows = Signal(2)
        m.d.comb += [
            self.room_next.eq(RowQueue.DEPTH - queue.level_next),
            self.error.eq(queue.error),
            self.i.ready.eq(queue.level + piece.rows <= RowQueue.DEPTH),
            take.eq(self.i.valid & self.i.ready),
            flush.eq(~self.i.valid & end.last & (queue.level != RowQueue.DEPTH)),
            below.eq(piece.below & ~empty.replicate(units)),
            rows.eq(piece.rows - empty),
            close.eq(piece.end.last & ~rows[1] & (queue.level + rows < RowQueue.DEPTH)),
            queue.row_a.end.eq(Mux(self.i.valid & (rows == 0), piece.end, end)),
            queue.row_b.end.eq(piece.end),
            queue.push.eq(Mux(take, rows + close, flush)),
            queue.row_b.end.last.eq(piece.end.last & ~rows[1]),
        ]
        with m.If(take):
            m.d.sync += [empty.eq(close), end.eq(piece.end), end.last.eq(piece.end.last & ~close)]
        with m.Elif(flush):
            m.d.sync += [empty.eq(1), end.last.eq(0)]

        for unit in range(units):
            lane = piece.lanes.word_select(unit, width)
            tag = piece.tag.word_select(unit % (len(piece.tag) // width), width)
            old = opened.word_select(unit, width)
            older, on_tag = below[unit], piece.on_tag[unit]
            m.d.comb += [
                queue.row_a.data.word_select(unit, width).eq(Mux(older, old, Mux(on_tag, tag, lane))),
                queue.row_b.data.word_select(unit, width).eq(Mux(older & on_tag, tag, lane)),
            ]
            with m.If(take & (~older | (rows != 0))):
                m.d.sync += old.eq(Mux(on_tag & Mux(older, rows == 1, rows == 0), tag, lane))
        return m
