"""Holds the payloads of blocks, and reads the tags and the data of a block with a pointer each."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.codec.coding import largest_payload, most_tag_rows
from hdl.codec.payload.payload_facts import PayloadFacts
from hdl.codec.payload.unpacking import PayloadError, data_row_layout, order_layout, payload_beat_layout
from hdl.common.bits import length

__all__ = ["PayloadStore"]


class PayloadStore(wiring.Component):
    """Takes payloads into a ring of rows, and sends the rows of tags and the rows of data of each block.

    ::

        i --+--> [memory: a ring of rows] --> [row read] --+--> [row of tags] --> tags
            |         ^            ^                       +--------------------> data
            |       write     tags or data
            +--> [block] --> [order] -------------------------------------------> order

    A block is ordered when the row in which its data begin has come, or its last row. One row of tags is read ahead; in
    all other cycles rows of data are read. A row of data that was read and not taken is read again if a row of tags
    needs the port. Rows are free when the data behind them have been taken, and the tags of their block. Cycles of a
    block whose tags take one row::

        cycle              0     1     2     3     4     5     6     7
        i, taken           x     x     x     x     x
        order.valid                          x
        row read                                   tags  data  data  data
        tags.valid                                             x
        data.valid                                             x     x

    Latency: 6 cycles from the first row of a block to its first tags, and one more for each row that tags fill. One
    block is written, one is read, and one may stand between them; then the next one waits.

    Throughput: one row in and one row out per cycle. A block whose data begin inside a row has this row read twice.

    A block with a fault that is known before its data are read gives an order with this error, and no row.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat and of a row: 16, 32 or 64.
    sizes : tuple of int
        Element sizes in bytes that are built, in ascending order.
    block_bytes : int
        Raw bytes of the largest block.
    rows : int
        Rows of the memory; at least those of the longest payload, and one more.

    Members
    -------
    i : In(stream.Signature(payload_beat_layout(beat_bytes)))
        Payloads; ``ready`` is a function of registers.
    order, tags, data : Out(stream.Signature(...))
        For :class:`~hdl.codec.payload.row_unpacker.RowUnpacker`. A row of data that is not taken may go, and come
        again.
    """

    i: stream.Interface
    order: stream.Interface
    tags: stream.Interface
    data: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int, rows: int):
        least = -(-largest_payload(block_bytes, sizes) // beat_bytes) + 1
        if rows < least:
            raise ValueError(f"rows must be at least {least} for blocks of {block_bytes} bytes, not {rows}")
        self._beat_bytes = beat_bytes
        self._sizes = sizes
        self._block_bytes = block_bytes
        self._rows = rows
        self._place = data.StructLayout({"row": range(rows), "round": 1})
        super().__init__({
            "i": In(stream.Signature(payload_beat_layout(beat_bytes))),
            "order": Out(stream.Signature(order_layout(beat_bytes, sizes, block_bytes))),
            "tags": Out(stream.Signature(8 * beat_bytes)),
            "data": Out(stream.Signature(data_row_layout(beat_bytes, sizes))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, grain, most = self._beat_bytes, min(self._sizes), most_tag_rows(
            self._beat_bytes, self._sizes, self._block_bytes)
        m.submodules.facts = facts = PayloadFacts(n, self._sizes, self._block_bytes)
        row = self.i.payload
        write, base, oldest = Signal(self._place), Signal(self._place, reset_less=True), Signal(self._place)
        order = Signal(order_layout(n, self._sizes, self._block_bytes), reset_less=True)
        whole_rows = Signal.like(facts.whole_rows, reset_less=True)
        coding, raw_bytes = Signal(8, reset_less=True), Signal(16, reset_less=True)
        # The block that is being written, and its rows, counted as far as it matters; the last row of it.
        held, whole, taken = Signal(), Signal(), Signal()
        rows = Signal(range(most + 3), reset_less=True)
        end, last_end, ragged = Signal(range(n // grain + 1)), Signal(range(n // grain + 1), reset_less=True), Signal()
        # Its order: computed, valid but for the tags, to be taken, and its rows to be read.
        computed, known, offered, waits = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            end.eq(length(Cat(row.keep[(k + 1) * grain - 1] for k in range(n // grain)))),
            ragged.eq(Cat(row.keep[k * grain] & ~row.keep[(k + 1) * grain - 1] for k in range(n // grain)).any()),
            facts.coding.eq(coding), facts.raw_bytes.eq(raw_bytes),
            taken.eq(self.i.valid & self.i.ready),
            self.order.valid.eq(offered), self.order.payload.eq(order),
        ]
        drops, starts = Signal(), Signal()
        m.d.comb += [
            drops.eq(held & computed & (order.error != PayloadError.OK)),
            self.i.ready.eq(~(held & whole) & (drops | (write.row != oldest.row) | (write.round == oldest.round))),
        ]
        with m.If(taken):
            m.d.sync += [whole.eq(row.last), last_end.eq(end), write.eq(Mux(drops, write, self._after(write)))]
            with m.If(~held):
                m.d.sync += [held.eq(1), base.eq(write), rows.eq(1), coding.eq(row.coding), raw_bytes.eq(row.raw_bytes),
                             computed.eq(0), known.eq(0)]
            with m.Elif(rows != most + 2):
                m.d.sync += rows.eq(rows + 1)
            with m.If(held & row.last & known & ~offered & ~waits):
                m.d.sync += held.eq(0)
        with m.Elif(whole & known & ~offered & ~waits):
            m.d.sync += held.eq(0)
        with m.If(held & ~computed):
            m.d.sync += [computed.eq(1), order.eq(facts.order), whole_rows.eq(facts.whole_rows)]

        # The tags are there as soon as the row behind them is, or the payload ends with them.
        beyond, exact, short = Signal(), Signal(), Signal()
        m.d.comb += [
            beyond.eq(rows > whole_rows),
            exact.eq((rows == whole_rows) & (order.start == 0) & (last_end == n // grain)),
            short.eq(Mux(beyond, (rows == whole_rows + 1) & (last_end < order.start), ~exact)),
        ]
        with m.If(held & computed & ~known & (whole | (beyond & ~drops))):
            m.d.sync += [known.eq(1), offered.eq(1)]
            with m.If(drops):
                m.d.sync += write.eq(base)
            with m.Elif(whole & short):
                m.d.sync += [write.eq(base), order.error.eq(PayloadError.TRUNCATED_TAG), order.bare.eq(1),
                             order.beats.eq(0), order.start.eq(0)]
            with m.Else():
                m.d.sync += [waits.eq(1), order.bare.eq(whole & exact)]
        with m.If(offered & self.order.ready):
            m.d.sync += offered.eq(0)
        with m.If(starts):
            m.d.sync += waits.eq(0)
        m.submodules.memory = memory = Memory(shape=self.data.payload.shape(), depth=self._rows, init=[])
        port = memory.write_port()
        m.d.comb += [
            port.en.eq(taken & ~drops), port.addr.eq(write.row),
            port.data.data.eq(row.data), port.data.last.eq(row.last), port.data.end.eq(end),
            port.data.ragged.eq(ragged),
        ]
        self._read(m, memory, write, oldest, base, order, whole_rows, waits, starts)
        return m

    def _read(self, m: Module, memory: Memory, write: data.View, oldest: data.View, base: data.View, order: data.View,
              whole_rows: Value, waits: Value, starts: Value) -> None:
        """The two pointers, and the rows that were read last; ``starts``: the block that ``waits`` is theirs."""
        port = memory.read_port()
        tag_at, data_at, data_next, later = (
            Signal(self._place, name=name) for name in ("tag_at", "data_at", "data_next", "later"))
        left = Signal(range(most_tag_rows(self._beat_bytes, self._sizes, self._block_bytes) + 1))
        # `pending`: the data of the newest block begin at `later`, and those of the one before it are being read.
        active, pending, pending_bare, loads = Signal(), Signal(), Signal(reset_less=True), Signal()
        tags, has_tags = Signal.like(self.tags.payload, reset_less=True), Signal()
        is_tag, is_data, reads_tag, reads_data = Signal(), Signal(), Signal(), Signal()
        goes, active_next = Signal(), Signal()
        m.d.comb += [
            self.tags.valid.eq(has_tags), self.tags.payload.eq(tags),
            self.data.valid.eq(is_data), self.data.payload.eq(port.data), goes.eq(is_data & self.data.ready),
            starts.eq(waits & (left == 0) & ~pending),
            loads.eq(pending & (~active | (goes & port.data.last))),
            data_next.eq(Mux(loads, later, Mux(goes, self._after(data_at), data_at))),
            active_next.eq(Mux(loads, ~pending_bare, active & ~(goes & port.data.last))),
            oldest.eq(Mux((left != 0) & ~pending, tag_at, data_at)),
            # A row of data that waits gives way, and is read again.
            reads_tag.eq((left != 0) & ~is_tag & (~has_tags | self.tags.ready)),
            reads_data.eq(active_next & (data_next != write) & ~reads_tag & (self.data.ready | ~is_data)),
            port.en.eq(reads_tag | reads_data),
            port.addr.eq(Mux(reads_tag, tag_at.row, data_next.row)),
        ]
        m.d.sync += [
            is_tag.eq(reads_tag), is_data.eq(reads_data | (is_data & ~goes & ~reads_tag)),
            has_tags.eq(is_tag | (has_tags & ~self.tags.ready)),
            data_at.eq(data_next), active.eq(active_next),
        ]
        with m.If(is_tag):
            m.d.sync += tags.eq(port.data.data)
        with m.If(starts):
            m.d.sync += [tag_at.eq(base), left.eq(whole_rows + (order.start != 0)), pending.eq(1),
                         later.eq(self._after(base, whole_rows)), pending_bare.eq(order.bare)]
        with m.Elif(reads_tag):
            m.d.sync += [tag_at.eq(self._after(tag_at)), left.eq(left - 1)]
        with m.If(loads):
            m.d.sync += pending.eq(0)

    def _after(self, place: data.View, steps: Value | int = 1) -> Value:
        """The place so many rows on in the ring."""
        row = place.row + steps
        wraps = row >= self._rows
        return Cat(Mux(wraps, row - self._rows, row)[:len(place.row)], place.round ^ wraps)
