"""The zero-value decompressor: tags and non-zero elements in, raw beats out."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.coding import LINE_BYTES, element_layout, select
from hdl.codec.lines.expander import Expander, slot_layout
from hdl.codec.lines.row_buffer import ROWS, RowBuffer, RowFacts, advanced
from hdl.codec.lines.tag_reader import TagReader
from hdl.codec.packets import ErrorCode, coded_beat_stream
from hdl.codec.routing import Ranks, block_counts
from hdl.common.beat import beat_stream
from hdl.common.bits import length
from hdl.common.counters import counter
from hdl.common.skid import Skid

__all__ = ["Decompressor"]


class Decompressor(wiring.Component):
    """Expands packets of zero-value coding, one raw beat per cycle, and checks them on the way.

    ::

             +------+ segment  +-----+ mask   +-------+
             |      |--------->| tag |------->| ranks |--+
        i -->| rows |          +-----+        +-------+  |   +----------+   +------+
             |      |--------------------------------------->| expander |-->| skid |--> o, error
             +------+ window                                 +----------+   +------+
               rows                          (slot register where units are many)

    Four rows of packed bytes are held; the tag of a line is read from wherever it lies while the last beat of the
    line before it is made, so tags cost no cycle. Bytes are never shifted to a common start: the network that spreads
    them over the beat also undoes their rotation.

    Latency: the first raw beat leaves 3 cycles after the packed beat with the last byte it needs was taken, 4 with the
    slot register. Throughput: 1 raw beat per cycle unless the packed side is empty. A packet that ends in mid-line
    costs up to 2 cycles more, 3 with the slot register; one that ends with a line costs none, or 1 and 2 where the
    first tag of the next packet came too late to be read ahead.

    All errors of a line stream show at the end of its packet. What was right has gone out before; a beat with ``last``
    closes the packet, and the next packet is taken.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat on both sides: 16, 32 or 64.
    element_bytes : tuple of int
        Element sizes that packets may choose from: one or more of 1, 2, 4.
    pipeline : str
        ``small`` or ``fast``: without or with a stage of its own for counting. Beats of at most 8 units never have it.

    Members
    -------
    i : In(coded_beat_stream(beat_bytes))
        Packed beats. An element size that is not built counts as the largest one built.
    o : Out(beat_stream(beat_bytes))
        Raw beats.
    error : Out(StructLayout({"code": ErrorCode, "line": 24}))
        Valid beside the last beat of ``o``: fate of the packet, and the line it ended in, counted from 0.

    Source: Rhu et al., HPCA 2018, section V-B; the line format of docs/formats.md.
    """

    LINE_BITS = 24

    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, element_bytes: tuple[int, ...], pipeline: str = "small"):
        self._beat_bytes = beat_bytes
        self._pipeline = pipeline
        self._sizes = tuple(sorted(element_bytes))
        super().__init__({
            "i": In(coded_beat_stream(beat_bytes)),
            "o": Out(beat_stream(beat_bytes)),
            "error": Out(data.StructLayout({"code": ErrorCode, "line": self.LINE_BITS})),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, sizes, grain = self._beat_bytes, self._sizes, min(self._sizes)
        units = n // grain
        position = exact_log2(units)
        beats = LINE_BYTES // n
        many = units > 8 and self._pipeline == "fast"

        m.submodules.row_buffer = row_buffer = RowBuffer(n, sizes)
        m.submodules.reader = reader = TagReader(n, sizes, early=many)
        m.submodules.ranks = ranks = Ranks(n, grain)
        m.submodules.expander = expander = Expander(n, sizes)
        m.submodules.skid = skid = Skid(data.StructLayout({
            "data": 8 * n, "keep": units, "last": 1, "code": ErrorCode, "closes": 1}))
        wiring.connect(m, wiring.flipped(self.i), row_buffer.i)
        m.d.comb += [
            reader.rows.eq(row_buffer.rows), reader.valid.eq(row_buffer.valid), reader.facts.eq(row_buffer.facts)]

        # Where data is read: `row` and `lane`. With a slot register the count of a slot is added a cycle later.
        row_0 = Signal(ROWS, init=1)
        lane_0 = Signal(position)
        more = Signal(position + 1)
        beyond_0 = Signal()
        row = Signal(ROWS)
        lane = Signal(position)
        beyond = Signal()
        passes = Signal()
        m.d.comb += [
            Cat(lane, passes).eq(lane_0 + more),
            row.eq(Mux(passes, advanced(row_0), row_0)),
            row_buffer.row.eq(row),
            row_buffer.lane.eq(lane),
        ]
        facts = [RowFacts.at(m, f"facts_{k}", advanced(row_0, k), row_buffer.valid, row_buffer.facts) for k in range(3)]
        here = RowFacts.either(m, "here", passes, facts[1], facts[0])
        there = RowFacts.either(m, "there", passes, facts[2], facts[1])
        # The packet's last row was full and has been passed.
        m.d.comb += beyond.eq(beyond_0 | (passes & facts[0].last))

        # The tag in hand: what is left of it, ones shifted in, and the mask of its first slice.
        held = Signal()
        tag = Signal(len(reader.tag), reset_less=True)
        index = Signal(exact_log2(beats))
        size = Signal(element_layout(sizes), reset_less=True)
        slot = Signal(slot_layout(n, sizes))

        mask = Signal(units, reset_less=True)

        def units_of_slice(number: int, tag: Value, size: data.View) -> Value:
            """Mask of a slice of a tag, bit by unit; slice 0 is the next beat's."""
            return select(size, {b: Cat(
                tag[number * n // b + unit * grain // b] for unit in range(units)) for b in sizes})

        run = slot.mask
        for rank in range(position):
            longer = Signal(units, name=f"run_{2 << rank}")
            m.d.comb += longer.eq(run & Cat(run[1 << rank:], Const(-1, 1 << rank)))
            run = longer
        m.d.comb += [
            slot.mask.eq(mask),
            ranks.mask.eq(slot.mask),
            slot.before.eq(ranks.before),
            slot.count.eq(ranks.count),
            slot.ones.eq(length(run[::-1])),
            slot.rest.eq(select(size, {b: tag[n // b:LINE_BYTES // b].all() for b in sizes})),
            slot.start.eq(lane),
            slot.element.eq(size),
            slot.opens.eq(index == 0),
            slot.closes.eq(index == beats - 1),
            slot.window.eq(row_buffer.window),
        ]

        # The end of the packet, if it is near, and the row the next one begins in.
        after = Signal(ROWS)
        limit = Signal(position + 2)
        m.d.comb += [
            slot.bounded.eq(beyond | here.last | there.last),
            limit.eq(Mux(here.last, here.units, there.units + units)),
            slot.left.eq(Mux(beyond, 0, limit - lane)),
            slot.ragged.eq(~beyond & Mux(here.last, here.ragged, there.ragged)),
            slot.final.eq(held & slot.closes & Mux(
                beyond, (reader.row & row).any() & (reader.lane == 0), reader.closing)),
            slot.bare.eq(~held),
            slot.torn.eq(~reader.clean),
            after.eq(Mux(beyond, row, Mux(here.last, advanced(row), advanced(row, 2)))),
            # Beyond its end a packet has no tag: what is not fetched does not matter.
            reader.at_start.eq(held & slot.closes & (beyond | reader.closing)),
        ]

        # The same a cycle later, and not in such a hurry, for what is read ahead: the row after the first last one.
        lasts = [Signal(name=f"ends_at_{k}") for k in range(ROWS)]
        m.d.comb += [lasts[k].eq((advanced(row_0, k) & row_buffer.valid & Cat(
            row_buffer.facts[j].last for j in range(ROWS))).any()) for k in range(ROWS)]
        next_row: Value = Const(0, ROWS)
        for k in reversed(range(ROWS)):
            next_row = Mux(lasts[k], advanced(row_0, k + 1), next_row)
        m.d.sync += reader.start.eq(Mux(reader.anew, 0, Mux(beyond_0, row_0, next_row)))

        # What happens in this cycle: a slot goes, a tag is fetched, a packet turns out to end where a tag was due, or
        # is found to have ended and what was read on behind it is dropped.
        slot_free = Signal()
        slot_valid = Signal()
        go = Signal()
        fetch = Signal()
        bare = Signal()
        drop = Signal()
        turns = Signal()
        waits = Signal()
        waited = Signal()
        seen = Signal(position + 1)
        known = Signal()
        needs = Signal(data.StructLayout({"none": 1, "one": 1}))
        m.d.comb += [
            # Two rows in sight, or the end of the packet, are enough for any slot. Else the count decides, a cycle
            # late, or two where counting takes a stage; `lane_0` is `lane` by then.
            go.eq(held & slot_free & (
                beyond | here.last | (here.valid & there.valid) | (known & (needs.none | (here.valid & needs.one))))),
            waits.eq(held & ~go & ~drop),
            bare.eq(~held & ~turns & slot_free & reader.torn),
            # While a slot is there its packet may turn out to have ended: its rows are not left for a tag by then.
            fetch.eq(reader.whole & (
                (~held & ~turns & (slot_free if many else 1))
                | (go & slot.closes & (slot.final | ~(beyond | reader.past))))),
        ]
        m.d.sync += [
            waited.eq(waits), seen.eq(ranks.count),
            row_0.eq(row), lane_0.eq(lane), beyond_0.eq(beyond), more.eq(0),
        ]
        decided = [needs.none.eq(seen == 0), needs.one.eq(lane_0 + seen <= units)]
        if many:
            m.d.sync += [known.eq(waited & waits), *decided]
        else:
            m.d.comb += [known.eq(waited), *decided]

        stop_row = Signal(ROWS)
        m.d.comb += row_buffer.leave.eq(Mux(passes, row_0, 0))

        def up_to(target: Value) -> Value:
            """Rows from ``row`` on that lie before ``target``."""
            return Mux((target & row).any(), 0, row) | Mux((target & advanced(row, 2)).any(), advanced(row), 0)

        from_row = Mux(slot.final, after, reader.row)
        # Behind its last row nothing is the packet's.
        count = Mux(beyond, 0, ranks.count)
        reach = Signal(position + 1)
        m.d.comb += [
            reach.eq(lane + (0 if many else count)),
            row_buffer.leave_late.eq(
                Mux(drop, up_to(stop_row),
                    Mux(fetch, up_to(from_row) | Mux(reader.wraps, from_row, 0),
                        Mux(go, Mux(slot.final, up_to(after), Mux(reach[position], row, 0)), 0)))),
        ]
        with m.If(drop):
            m.d.sync += [held.eq(0), beyond_0.eq(0), row_0.eq(stop_row), lane_0.eq(0)]
        with m.Elif(fetch):
            m.d.sync += [held.eq(1), row_0.eq(reader.end_row), lane_0.eq(reader.end_lane),
                         beyond_0.eq(reader.passes_end)]
        with m.Elif(go):
            m.d.sync += [
                held.eq(~slot.closes), more.eq(count if many else 0),
                row_0.eq(Mux(reach[position], advanced(row), row)), lane_0.eq(reach),
                beyond_0.eq(beyond | (reach[position] & here.last)),
            ]
            with m.If(slot.final):
                m.d.sync += [beyond_0.eq(0), row_0.eq(after), lane_0.eq(0), more.eq(0)]

        # Whether a tag is fetched is known late: what is loaded without one is not looked at.
        with m.If(drop):
            m.d.sync += index.eq(0)
        with m.Elif(go):
            m.d.sync += index.eq(index + 1)
        shifts = held & ~slot.closes
        with m.If(go | ~held):
            with m.If(~shifts):
                m.d.sync += size.eq(reader.element)
            m.d.sync += [
                tag.eq(Mux(shifts, select(size, {
                    b: Cat(tag[n // b:], Const(-1, n // b)) for b in sizes}), reader.tag)),
                mask.eq(Mux(shifts, units_of_slice(1, tag, size), units_of_slice(0, reader.tag, reader.element))),
            ]

        # The next tag lies behind the last beat's data. The counts of the last two beats are looked up two beats ahead,
        # or three where their sum has a cycle of its own.
        this_count = Signal(position + 1)
        both_counts = Signal(position + 2)
        ahead = [block_counts(m, units_of_slice(min(k, beats - 1), tag, size))[0, units]
                 for k in ((2, 3) if many and beats > 2 else (2,))]
        if many and beats > 2:
            counts = [Signal(position + 1, name=f"count_{k}", reset_less=True) for k in (2, 3)]
            with m.If(go):
                m.d.sync += [*(count.eq(value) for count, value in zip(counts, ahead, strict=True)),
                             this_count.eq(counts[0]), both_counts.eq(counts[0] + counts[1])]
        elif beats > 2:
            next_count = Signal(position + 1)
            with m.If(go):
                m.d.sync += [this_count.eq(next_count), next_count.eq(ahead[0])]
            m.d.comb += both_counts.eq(this_count + next_count)
        else:
            m.d.comb += [this_count.eq(ranks.count), both_counts.eq(this_count + ahead[0])]
        last_lane = Signal(position + 1)
        tag_lane = Signal(position + 2)
        m.d.comb += [last_lane.eq(lane + this_count), tag_lane.eq(lane + both_counts)]
        finds = Signal()
        found_row = Mux(tag_lane[-1], advanced(row, 2), Mux(tag_lane[-2], advanced(row), row))
        m.d.comb += [
            # Found again while the slot waits: whether it goes is known late.
            finds.eq(held & (index == beats - 2) & ~drop),
            reader.anew.eq(drop | (go & slot.final)),
            reader.move_lane.eq(Mux(finds, tag_lane, 0)),
            reader.move_crossed.eq(finds & (tag_lane[position:] != last_lane[position:])),
        ]
        # To the next packet, whose first tag was mostly read ahead: at once, or a cycle later, from a register.
        if many:
            m.d.sync += turns.eq(drop | (go & slot.final & ~fetch))
            m.d.comb += [reader.move.eq(turns | finds), reader.move_row.eq(Mux(finds, found_row, row_0))]
        else:
            m.d.comb += [reader.move.eq(drop | finds | (go & slot.final)),
                         reader.move_row.eq(Mux(drop, stop_row, Mux(finds, found_row, after)))]

        # The slot, registered where counting takes a stage of its own, and the beat made of it.
        if many:
            stage = Signal(slot.shape(), reset_less=True)
            stage_after = Signal(ROWS, reset_less=True)
            with m.If(slot_free):
                m.d.sync += [stage.eq(slot), stage_after.eq(after), slot_valid.eq((go | bare) & ~drop)]
            m.d.comb += [
                expander.slot.eq(stage),
                stop_row.eq(stage_after),
                slot_free.eq(~slot_valid | skid.i.ready),
            ]
        else:
            m.d.comb += [
                expander.slot.eq(slot),
                stop_row.eq(after),
                slot_free.eq(skid.i.ready),
                slot_valid.eq(go | bare),
            ]
        m.d.comb += [
            drop.eq(slot_valid & expander.ends & skid.i.ready),
            skid.i.valid.eq(slot_valid),
            skid.i.payload.data.eq(expander.data),
            skid.i.payload.keep.eq(expander.keep),
            skid.i.payload.last.eq(expander.last),
            skid.i.payload.code.eq(expander.code),
            skid.i.payload.closes.eq(expander.slot.closes),
        ]

        line = Signal(self.LINE_BITS)
        m.d.comb += [
            self.o.valid.eq(skid.o.valid),
            skid.o.ready.eq(self.o.ready),
            self.o.payload.data.eq(skid.o.payload.data),
            self.o.payload.keep.eq(Cat(bit.replicate(grain) for bit in skid.o.payload.keep)),
            self.o.payload.last.eq(skid.o.payload.last),
            self.error.code.eq(skid.o.payload.code),
            self.error.line.eq(line),
        ]
        leaves = skid.o.valid & self.o.ready
        counter(m, line, leaves & skid.o.payload.closes, clear=leaves & skid.o.payload.last)
        return m
