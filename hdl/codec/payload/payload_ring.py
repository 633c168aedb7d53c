"""The memory of payloads: a ring of rows, of which those with data are read."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["PayloadRing"]


class PayloadRing(wiring.Component):
    """Takes rows of blocks, and sends those of each block from a given one up to its last one.

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

    Parameters
    ----------
    shape : data.StructLayout
        Shape of a row; ``last`` marks the last one of a block.
    rows : int
        Rows of the memory.
    most : int
        Rows at the beginning of a block that are not sent, at most.

    Members
    -------
    write : In(1), row : In(shape), begins : In(1)
        A row comes, there is ``room`` for it, and it is the first one of its block.
    drop : In(1)
        The rows of the newest block are thrown away; it has not started, and no row comes in this cycle.
    room : Out(1)
        There is room for a row: a function of registers.
    start : In(1), skip : In(range(most + 1)), bare : In(1)
        The newest block is to be read, without its first ``skip`` rows, which have all come. If ``bare``, none of its
        rows is sent. The first row to be sent may come later. Only while ``free`` is high.
    free : Out(1)
        A block may start.
    data : Out(stream.Signature(shape))
        The rows; what waits stays.
    """

    data: stream.Interface

    def __init__(self, shape: data.StructLayout, rows: int, most: int):
        self._shape = shape
        self._rows = rows
        self._place = data.StructLayout({"row": range(rows), "round": 1})
        super().__init__({
            "write": In(1), "row": In(shape), "begins": In(1), "drop": In(1), "room": Out(1),
            "start": In(1), "skip": In(range(most + 1)), "bare": In(1), "free": Out(1),
            "data": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=self._shape, depth=self._rows, init=[])
        into, out = memory.write_port(), memory.read_port()
        write, base, at = Signal(self._place), Signal(self._place, reset_less=True), Signal(self._place)
        # The newest block is whole. It has not started.
        whole, begun, same_row, same_round = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            same_row.eq(write.row == at.row), same_round.eq(write.round == at.round),
            self.room.eq(~same_row | same_round),
            into.en.eq(self.write), into.addr.eq(write.row), into.data.eq(self.row),
        ]
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
        m.d.comb += [
            self.free.eq(~pending), self.data.valid.eq(shown), self.data.payload.eq(out.data),
            self.data.payload.last.eq(last),
            # The place and the end of the block come from registers alone: memories show their rows late in a cycle.
            ahead.eq(self._after(at)), end.eq(Mux(pending, later, Mux(begun, base, write))),
            final.eq((pending | begun | whole) & (ahead == end)),
            reads.eq(active & ~(same_row & same_round) & (self.data.ready | ~shown)),
            loads.eq(pending & (~active | (reads & final))),
            out.en.eq(reads), out.addr.eq(at.row),
        ]
        m.d.sync += shown.eq(reads | (shown & ~self.data.ready))
        with m.If(reads):
            m.d.sync += [at.eq(ahead), last.eq(final), active.eq(~final)]
        with m.If(loads):
            m.d.sync += [at.eq(self._on(later, skip)), active.eq(~bare)]
        with m.If(self.start):
            m.d.sync += [pending.eq(1), later.eq(base), skip.eq(self.skip), bare.eq(self.bare), begun.eq(0)]
        with m.Elif(loads):
            m.d.sync += pending.eq(0)
        return m

    def _after(self, place: data.View) -> Value:
        """The place behind this one in the ring."""
        wraps = place.row == self._rows - 1
        return Cat(Mux(wraps, 0, (place.row + 1)[:len(place.row)]), place.round ^ wraps)

    def _on(self, place: data.View, steps: Value) -> Value:
        """The place so many rows on in the ring."""
        row = place.row + steps
        wraps = row >= self._rows
        return Cat(Mux(wraps, row - self._rows, row)[:len(place.row)], place.round ^ wraps)
