"""The memory of payloads: a ring of rows, of which those with data are read beat by beat."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Shape, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.common.protected import memory_of, protection

__all__ = ["PayloadRing"]


class PayloadRing(wiring.Component):
    """Takes rows of blocks, and sends the beats of each block from a given one up to its last one.

    ::

        row --> [memory: a ring of rows] --> [row read] --> data
                  ^                 ^
                write            [block to be read, block that is read]

    Rows are free when they have been read; those that are not sent, when their block begins to be read. Cycles of a
    block of two rows, both of which are sent::

        cycle          0     1     2     3     4     5
        write          x     x
        start                x
        row read                         x     x
        data.valid                             x     x

    A row is one beat, or 2 or 4 that come over a wider link at once: then the row stays at the output of the memory
    until its last beat has been sent, and only the last row of a block may have fewer beats. A row of four beats, and
    one of which two are used::

        cycle          0     1     2     3     4     5     6     7     8     9
        write          a     b
        start                x
        row read                         a                       b
        data.valid                             a.0   a.1   a.2   a.3   b.0   b.1

    Parameters
    ----------
    shape : data.StructLayout
        Shape of a beat: ``data``; ``last``, which marks the last one of a block; and what is said of that one.
    rows : int
        Rows of the memory.
    most : int
        Beats at the beginning of a block that are not sent, at most.
    beats : int, optional
        Beats of a row: 1, 2 or 4.
    protected : bool, optional
        With parity.
    pipeline : str, optional
        ``small`` or ``fast``: in ``fast``, ``room`` is a register, and a row that was read is free a cycle later.

    Members
    -------
    write : In(1), row : In(shape, with the data of all beats), begins : In(1)
        A row comes, there is ``room`` for it, and it is the first one of its block.
    tail : In(range(beats))
        With a block's last row: the number of its last beat. Only if rows have more than one.
    drop : In(1)
        The rows of the newest block are thrown away; it has not started, and no row comes in this cycle.
    room : Out(1)
        There is room for a row: a function of registers.
    start : In(1), skip : In(range(most + 1)), bare : In(1)
        The newest block is to be read, without its first ``skip`` beats, which have all come. If ``bare``, none of its
        beats is sent; a row of which only a part is skipped is free when the next block begins to be read. The first
        beat to be sent may come later. Only while ``free`` is high.
    free : Out(1)
        A block may start.
    data : Out(stream.Signature(shape))
        The beats; what waits stays.
    inject, bad
        If ``protected``: as :func:`cdma.hdl.common.protected.protection` says.
    """

    data: stream.Interface

    def __init__(self, shape: data.StructLayout, rows: int, most: int, beats: int = 1,
                 protected: bool = False, pipeline: str = "small"):
        self._protected = protected
        self._pipeline = pipeline
        self._shape = shape
        self._row = data.StructLayout({**shape.members, "data": beats * Shape.cast(shape.members["data"]).width})
        self._rows = rows
        self._beats = beats
        self._place = data.StructLayout({"row": range(rows), "round": 1})
        super().__init__({
            "write": In(1), "row": In(self._row), "begins": In(1), "drop": In(1), "room": Out(1),
            "start": In(1), "skip": In(range(most + 1)), "bare": In(1), "free": Out(1),
            "data": Out(stream.Signature(shape)), **({"tail": In(range(beats))} if beats > 1 else {}),
            **protection(protected),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = memory_of(self._row, self._rows, self._protected)
        into, out = memory.write_port(), memory.read_port()
        write, base, at = Signal(self._place), Signal(self._place, reset_less=True), Signal(self._place)
        # The newest block is whole. It has not started.
        whole, begun, same_row, same_round = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            same_row.eq(write.row == at.row), same_round.eq(write.round == at.round),
            into.en.eq(self.write), into.addr.eq(write.row), into.data.eq(self.row),
        ]
        if self._pipeline == "fast":
            after, room = self._after(write), Signal(init=1)
            m.d.sync += room.eq(Mux(self.write, after != (at.as_value() ^ (1 << len(at.row))), ~same_row | same_round))
            m.d.comb += self.room.eq(room)
        else:
            m.d.comb += self.room.eq(~same_row | same_round)
        with m.If(self.drop):
            m.d.sync += write.eq(base)
        with m.Elif(self.write):
            m.d.sync += [write.eq(self._after(write)), whole.eq(self.row.last)]
            with m.If(self.begins):
                m.d.sync += [base.eq(write), begun.eq(1)]

        # A block whose first row is at `later` waits while the rows of the one before it are being read.
        later, skip = Signal(self._place, reset_less=True), Signal.like(self.skip, reset_less=True)
        pending, bare, active = Signal(), Signal(reset_less=True), Signal()
        shown, last, reads, loads, final = Signal(), Signal(reset_less=True), Signal(), Signal(), Signal()
        ahead, end = Signal(self._place), Signal(self._place)
        if self._beats > 1:
            in_tail, leaves, unread = self._parts(m, out, pending, begun, reads, loads, final, skip)
            ends, following, fetches = (ahead == end) & in_tail, Mux(leaves, ahead, at), reads & unread
        else:
            ends, following, fetches = ahead == end, ahead, reads
            m.d.comb += self.data.payload.eq(out.data)
        m.d.comb += [
            self.free.eq(~pending), self.data.valid.eq(shown), self.data.payload.last.eq(last),
            # The place and the end of the block come from registers alone: memories show their rows late in a cycle.
            ahead.eq(self._after(at)), end.eq(Mux(pending, later, Mux(begun, base, write))),
            final.eq((pending | begun | whole) & ends),
            reads.eq(active & ~(same_row & same_round) & (self.data.ready | ~shown)),
            loads.eq(pending & (~active | (reads & final))),
            out.en.eq(fetches), out.addr.eq(at.row),
        ]
        m.d.sync += shown.eq(reads | (shown & ~self.data.ready))
        if self._protected:
            m.d.comb += [memory.inject.eq(self.inject), memory.check.eq(shown), self.bad.eq(memory.bad)]
        with m.If(reads):
            m.d.sync += [at.eq(following), last.eq(final), active.eq(~final)]
        with m.If(loads):
            m.d.sync += [at.eq(self._on(later, skip[exact_log2(self._beats):])), active.eq(~bare)]
        with m.If(self.start):
            m.d.sync += [pending.eq(1), later.eq(base), skip.eq(self.skip), bare.eq(self.bare), begun.eq(0)]
        with m.Elif(loads):
            m.d.sync += pending.eq(0)
        return m

    def _parts(self, m: Module, out: Any, pending: Value, begun: Value, reads: Value, loads: Value, final: Value,
               skip: Value) -> tuple[Value, Value, Value]:
        """The beats of a row, one by one: whether the beat is the last one of its row, if that is the block's last row;
        whether no more is read of the row; and whether the memory does not show it yet."""
        bits = exact_log2(self._beats)
        # The beat that is read, and that which is shown.
        in_tail, leaves = Signal(), Signal()
        part, which, unread = Signal(bits), Signal(bits, reset_less=True), Signal(init=1)
        # The last beat of the newest block, of the one before it, and of the one before that which is pending.
        tail, tail_before, tail_later = (Signal(bits, name=name, reset_less=True)
                                         for name in ("tail_newest", "tail_before", "tail_later"))
        m.d.comb += [
            in_tail.eq(part == Mux(pending, tail_later, Mux(begun, tail_before, tail))),
            leaves.eq(final | part.all()),
            *(self.data.payload[name].eq(out.data[name]) for name in self._shape.members if name != "data"),
            self.data.payload.data.eq(out.data.data.word_select(which, len(self.data.payload.data))),
        ]
        with m.If(self.drop):
            m.d.sync += tail.eq(tail_before)
        with m.Elif(self.write):
            with m.If(self.row.last):
                m.d.sync += tail.eq(self.tail)
            with m.If(self.begins):
                m.d.sync += tail_before.eq(tail)
        with m.If(self.start):
            m.d.sync += tail_later.eq(tail_before)
        with m.If(reads):
            m.d.sync += [which.eq(part), part.eq(Mux(leaves, 0, part + 1)), unread.eq(leaves)]
        with m.If(loads):
            m.d.sync += [part.eq(skip[:bits]), unread.eq(1)]
        return in_tail, leaves, unread

    def _after(self, place: data.View) -> Value:
        """The place behind this one in the ring."""
        wraps = place.row == self._rows - 1
        return Cat(Mux(wraps, 0, (place.row + 1)[:len(place.row)]), place.round ^ wraps)

    def _on(self, place: data.View, steps: Value) -> Value:
        """The place so many rows on in the ring."""
        row = place.row + steps
        wraps = row >= self._rows
        return Cat(Mux(wraps, row - self._rows, row)[:len(place.row)], place.round ^ wraps)
