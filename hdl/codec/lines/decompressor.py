"""The zero-value decompressor: tags and non-zero elements in, raw beats out."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES, element_layout, select, tag_bytes
from cdma.hdl.codec.lines.expander import Expander, slot_layout
from cdma.hdl.codec.lines.row_buffer import ROWS, RowBuffer, RowState, advanced
from cdma.hdl.codec.lines.tag_reader import TagReader
from cdma.hdl.codec.packets import ErrorCode, coded_beat_stream
from cdma.hdl.codec.routing import Ranks, block_counts
from cdma.hdl.common.beat import beat_stream
from cdma.hdl.common.bits import length
from cdma.hdl.common.counters import counter
from cdma.hdl.common.skid import Skid

__all__ = ["Decompressor"]


class _State:
    """Registers and signals that the steps of the decompressor share.

    ``row`` and ``lane`` are where data is read; ``row_0`` and ``lane_0`` are the same before the ``more`` units of the
    last slot are added; ``passes``: this addition moves to the next row; ``beyond``: the place is after the packet's
    last row, ``beyond_0`` the same before the addition. ``held``: there is a current tag, in ``tag``, shifted so that
    the next beat's slice comes first; ``size`` is its element size, ``mask`` the mask of the next beat, ``index`` that
    beat's number in the line. ``after`` is the row in which the next packet begins, ``stop_row`` the same for the slot
    in the expander. ``slot_free``: a slot can be taken; ``slot_valid``: there is one; ``turns``: the reader moves to
    the next packet in this cycle. The other flags are decisions of the cycle: see ``Decompressor._decide``.
    """

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], pipeline: str) -> None:
        self.units, self.beats = beat_bytes // min(sizes), LINE_BYTES // beat_bytes
        self.position = exact_log2(self.units)
        self.many = self.units > 8 and pipeline == "fast"
        self.row_0, self.lane_0 = Signal(ROWS, init=1, name="row_0"), Signal(self.position, name="lane_0")
        self.more = Signal(self.position + 1, name="more")
        self.row, self.lane = Signal(ROWS, name="row"), Signal(self.position, name="lane")
        self.tag = Signal(8 * tag_bytes(min(sizes)), name="tag", reset_less=True)
        self.index = Signal(exact_log2(self.beats), name="index")
        self.size: Any = Signal(element_layout(sizes), name="size", reset_less=True)
        self.slot: Any = Signal(slot_layout(beat_bytes, sizes), name="slot")
        self.mask = Signal(self.units, name="mask", reset_less=True)
        self.after, self.stop_row = Signal(ROWS, name="after"), Signal(ROWS, name="stop_row")
        (self.beyond_0, self.beyond, self.passes, self.held, self.slot_free, self.slot_valid, self.go, self.fetch,
         self.bare, self.drop, self.turns) = (Signal(name=name) for name in (
            "beyond_0", "beyond", "passes", "held", "slot_free", "slot_valid", "go", "fetch", "bare", "drop", "turns"))


class Decompressor(wiring.Component):
    """Expands and checks packets of zero-value coding, one raw beat per cycle.

    ::

             +------+ segment  +-----+ mask   +-------+
             |      |--------->| tag |------->| ranks |--+
        i -->| rows |          +-----+        +-------+  |   +----------+   +------+
             |      |--------------------------------------->| expander |-->| skid |--> o, error
             +------+ window                                 +----------+   +------+
               rows                          (slot register where units are many)

    Five rows of packed bytes are held. The tag of a line is read, at any place in them, while the last beat of the
    line before is made, so tags cost no cycle. Packed bytes are not aligned first: the network that spreads them over
    the beat also undoes their rotation.

    A *slot* is what one raw beat is made of: a slice of the tag, and the place of its first byte. Slots by cycle, for
    a line of four beats ``a`` to ``d`` and the next line (beats of 32 bytes, pipeline ``small``)::

        cycle                          0     1     2     3     4     5
        current tag, mask              a     b     c     d     e     f
        rows read, counted, expanded   a     b     c     d     e     f
        place of the next tag                      found
        next tag read                                    read, loaded for e
        output (skid buffer)                 a     b     c     d     e

    Latency: a raw beat leaves 3 cycles after the packed beat with the last byte it needs was taken, 4 with the slot
    register. Throughput: 1 raw beat per cycle unless the packed side is empty. A packet that ends in mid-line costs up
    to 2 cycles more, 3 with the slot register. A packet that ends with a line costs none, or up to 1 (2 with the slot
    register) where the first tag of the next packet arrived too late to be read ahead.

    Errors of a line stream are reported at the end of its packet. The beats decoded before the error have left by
    then; a beat with ``last`` closes the packet, and the next packet is taken.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat on both sides: 16, 32 or 64.
    element_bytes : tuple of int
        Element sizes that packets may choose from: one or more of 1, 2, 4.
    pipeline : str
        ``small`` or ``fast``: ``fast`` adds the slot register, except where a beat has at most 8 units.

    Members
    -------
    i : In(coded_beat_stream(beat_bytes))
        Packed beats. An element size that is not built counts as the largest one built.
    o : Out(beat_stream(beat_bytes))
        Raw beats.
    error : Out(StructLayout({"code": ErrorCode, "line": 24}))
        Valid with the last beat of ``o``: result of the packet, and the line it ended in, counted from 0.

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
        s = _State(n, sizes, self._pipeline)
        m.submodules.row_buffer = row_buffer = RowBuffer(n, sizes)
        m.submodules.reader = reader = TagReader(n, sizes, early=s.many)
        m.submodules.ranks = ranks = Ranks(n, grain)
        m.submodules.expander = expander = Expander(n, sizes)
        m.submodules.skid = skid = Skid(data.StructLayout({
            "data": 8 * n, "keep": s.units, "last": 1, "code": ErrorCode, "closes": 1}))
        wiring.connect(m, wiring.flipped(self.i), row_buffer.i)
        m.d.comb += [
            reader.rows.eq(row_buffer.rows), reader.valid.eq(row_buffer.valid), reader.facts.eq(row_buffer.facts)]

        near = self._place(m, s, row_buffer)
        self._slot(m, s, row_buffer, ranks)
        self._packet_end(m, s, reader, near)
        self._next_packet(m, s, row_buffer, reader)
        self._decide(m, s, reader, ranks, near)
        self._leave(m, s, row_buffer, reader, ranks, near)
        self._load(m, s, reader)
        self._next_tag(m, s, reader, ranks)
        self._expand(m, s, expander, skid)
        self._give(m, skid)
        return m

    def _place(self, m: Module, s: _State, row_buffer: RowBuffer) -> tuple[RowState, RowState]:
        """Where data is read: ``row`` and ``lane``. With the slot register, a slot's count is added a cycle later.

        Returns the state of the row at that place and of the row after it.
        """
        m.d.comb += [
            Cat(s.lane, s.passes).eq(s.lane_0 + s.more),
            s.row.eq(Mux(s.passes, advanced(s.row_0), s.row_0)),
            row_buffer.row.eq(s.row),
            row_buffer.lane.eq(s.lane),
        ]
        facts = [RowState.at(m, f"facts_{k}", advanced(s.row_0, k), row_buffer.valid, row_buffer.facts)
                 for k in range(3)]
        here = RowState.either(m, "here", s.passes, facts[1], facts[0])
        there = RowState.either(m, "there", s.passes, facts[2], facts[1])
        # The packet's last row was full and has been passed.
        m.d.comb += s.beyond.eq(s.beyond_0 | (s.passes & facts[0].last))
        return here, there

    def _units_of_slice(self, number: int, tag: Value, size: data.View) -> Value:
        """Mask of slice ``number`` of a tag, one bit per unit; slice 0 belongs to the next beat."""
        n, grain = self._beat_bytes, min(self._sizes)
        return select(size, {b: Cat(
            tag[number * n // b + unit * grain // b] for unit in range(n // grain)) for b in self._sizes})

    def _slot(self, m: Module, s: _State, row_buffer: RowBuffer, ranks: Ranks) -> None:
        """Fills in the slot of the next beat. Where the rest of the tag was shifted down, ones were shifted in."""
        n, sizes = self._beat_bytes, self._sizes
        run = s.slot.mask
        for rank in range(s.position):
            longer = Signal(s.units, name=f"run_{2 << rank}")
            m.d.comb += longer.eq(run & Cat(run[1 << rank:], Const(-1, 1 << rank)))
            run = longer
        reversed_run = Signal(s.units)
        m.d.comb += [
            reversed_run.eq(run[::-1]),
            s.slot.mask.eq(s.mask),
            ranks.mask.eq(s.slot.mask),
            s.slot.before.eq(ranks.before),
            s.slot.count.eq(ranks.count),
            s.slot.ones.eq(length(reversed_run)),
            s.slot.rest.eq(select(s.size, {b: s.tag[n // b:LINE_BYTES // b].all() for b in sizes})),
            s.slot.start.eq(s.lane),
            s.slot.element.eq(s.size),
            s.slot.opens.eq(s.index == 0),
            s.slot.closes.eq(s.index == s.beats - 1),
            s.slot.window.eq(row_buffer.window),
        ]

    def _packet_end(self, m: Module, s: _State, reader: TagReader, near: tuple[RowState, RowState]) -> None:
        """The end of the packet, if it is in the two rows in sight, and the row in which the next packet begins."""
        here, there = near
        limit = Signal(s.position + 2)
        m.d.comb += [
            s.slot.bounded.eq(s.beyond | here.last | there.last),
            limit.eq(Mux(here.last, here.units, there.units + s.units)),
            s.slot.left.eq(Mux(s.beyond, 0, limit - s.lane)),
            s.slot.ragged.eq(~s.beyond & Mux(here.last, here.ragged, there.ragged)),
            s.slot.final.eq(s.held & s.slot.closes & Mux(
                s.beyond, (reader.row & s.row).any() & (reader.lane == 0), reader.closing)),
            s.slot.bare.eq(~s.held),
            s.slot.torn.eq(~reader.clean),
            s.after.eq(Mux(s.beyond, s.row, Mux(here.last, advanced(s.row), advanced(s.row, 2)))),
            # After its end a packet has no more tags: the output of `reader` then only matters for the next packet.
            reader.at_start.eq(s.held & s.slot.closes & (s.beyond | reader.closing)),
        ]

    def _next_packet(self, m: Module, s: _State, row_buffer: RowBuffer, reader: TagReader) -> None:
        """Where the next packet begins, for the tag that is read ahead: the row after the first row that ends a packet.

        The same row as in :meth:`_packet_end`, but registered.
        """
        lasts = [Signal(name=f"ends_at_{k}") for k in range(ROWS)]
        m.d.comb += [lasts[k].eq((advanced(s.row_0, k) & row_buffer.valid & Cat(
            row_buffer.facts[j].last for j in range(ROWS))).any()) for k in range(ROWS)]
        next_row: Value = Const(0, ROWS)
        for k in reversed(range(ROWS)):
            next_row = Mux(lasts[k], advanced(s.row_0, k + 1), next_row)
        m.d.sync += reader.start.eq(Mux(reader.anew, 0, Mux(s.beyond_0, s.row_0, next_row)))

    def _decide(self, m: Module, s: _State, reader: TagReader, ranks: Ranks,
                near: tuple[RowState, RowState]) -> None:
        """What happens in this cycle.

        ``go``: a slot is made. ``fetch``: a tag is loaded. ``bare``: the packet ends where a tag was due. ``drop``: the
        packet ended in mid-line, and what was read after its end is dropped.
        """
        here, there = near
        waits = Signal()
        waited = Signal()
        seen = Signal(s.position + 1)
        known = Signal()
        needs = Signal(data.StructLayout({"none": 1, "one": 1}))
        m.d.comb += [
            # Any slot can be made when two rows are there, or the end of the packet. Otherwise the registered count
            # of the slot decides, one cycle later, or two with the slot register; `lane_0` equals `lane` by then.
            s.go.eq(s.held & s.slot_free & (
                s.beyond | here.last | (here.valid & there.valid) | (known & (needs.none | (here.valid & needs.one))))),
            waits.eq(s.held & ~s.go & ~s.drop),
            s.bare.eq(~s.held & ~s.turns & s.slot_free & reader.torn),
            # The packet of a slot in the slot register may turn out to have ended: its rows must not be freed for a
            # tag before that is known.
            s.fetch.eq(reader.whole & (
                (~s.held & ~s.turns & (s.slot_free if s.many else 1))
                | (s.go & s.slot.closes & (s.slot.final | ~(s.beyond | reader.past))))),
        ]
        m.d.sync += [
            waited.eq(waits), seen.eq(ranks.count),
            s.row_0.eq(s.row), s.lane_0.eq(s.lane), s.beyond_0.eq(s.beyond), s.more.eq(0),
        ]
        decided = [needs.none.eq(seen == 0), needs.one.eq(s.lane_0 + seen <= s.units)]
        if s.many:
            m.d.sync += [known.eq(waited & waits), *decided]
        else:
            m.d.comb += [known.eq(waited), *decided]

    def _leave(self, m: Module, s: _State, row_buffer: RowBuffer, reader: TagReader, ranks: Ranks,
               near: tuple[RowState, RowState]) -> None:
        """Frees the rows that have been read, and sets the place of the next slot."""
        here = near[0]
        m.d.comb += row_buffer.leave.eq(Mux(s.passes, s.row_0, 0))

        def up_to(target: Value) -> Value:
            """The rows from ``s.row`` up to, but without, ``target``."""
            return Mux((target & s.row).any(), 0, s.row) | Mux((target & advanced(s.row, 2)).any(), advanced(s.row), 0)

        from_row = Mux(s.slot.final, s.after, reader.row)
        # After its last row the packet has no more bytes.
        count = Mux(s.beyond, 0, ranks.count)
        reach = Signal(s.position + 1)
        m.d.comb += [
            reach.eq(s.lane + (0 if s.many else count)),
            row_buffer.leave_late.eq(
                Mux(s.drop, up_to(s.stop_row),
                    Mux(s.fetch, up_to(from_row) | Mux(reader.wraps, from_row, 0),
                        Mux(s.go, Mux(s.slot.final, up_to(s.after), Mux(reach[s.position], s.row, 0)), 0)))),
        ]
        with m.If(s.drop):
            m.d.sync += [s.held.eq(0), s.beyond_0.eq(0), s.row_0.eq(s.stop_row), s.lane_0.eq(0)]
        with m.Elif(s.fetch):
            m.d.sync += [s.held.eq(1), s.row_0.eq(reader.end_row), s.lane_0.eq(reader.end_lane),
                         s.beyond_0.eq(reader.passes_end)]
        with m.Elif(s.go):
            m.d.sync += [
                s.held.eq(~s.slot.closes), s.more.eq(count if s.many else 0),
                s.row_0.eq(Mux(reach[s.position], advanced(s.row), s.row)), s.lane_0.eq(reach),
                s.beyond_0.eq(s.beyond | (reach[s.position] & here.last)),
            ]
            with m.If(s.slot.final):
                m.d.sync += [s.beyond_0.eq(0), s.row_0.eq(s.after), s.lane_0.eq(0), s.more.eq(0)]

    def _load(self, m: Module, s: _State, reader: TagReader) -> None:
        """Loads the current tag: shifts it to its next slice, or takes the next tag."""
        n, sizes = self._beat_bytes, self._sizes
        # `fetch` settles late in the cycle, so the load does not depend on it: without `fetch`, the value loaded is
        # not used.
        with m.If(s.drop):
            m.d.sync += s.index.eq(0)
        with m.Elif(s.go):
            m.d.sync += s.index.eq(s.index + 1)
        shifts = s.held & ~s.slot.closes
        with m.If(s.go | ~s.held):
            with m.If(~shifts):
                m.d.sync += s.size.eq(reader.element)
            m.d.sync += [
                s.tag.eq(Mux(shifts, select(s.size, {
                    b: Cat(s.tag[n // b:], Const(-1, n // b)) for b in sizes}), reader.tag)),
                s.mask.eq(Mux(shifts, self._units_of_slice(1, s.tag, s.size),
                              self._units_of_slice(0, reader.tag, reader.element))),
            ]

    def _next_tag(self, m: Module, s: _State, reader: TagReader, ranks: Ranks) -> None:
        """Where the next tag lies: after the data of the line's last beat.

        The counts of the last two beats are computed two beats ahead, or three where their sum is registered too.
        """
        this_count = Signal(s.position + 1)
        both_counts = Signal(s.position + 2)
        ahead = [block_counts(m, self._units_of_slice(min(k, s.beats - 1), s.tag, s.size))[0, s.units]
                 for k in ((2, 3) if s.many and s.beats > 2 else (2,))]
        if s.many and s.beats > 2:
            counts = [Signal(s.position + 1, name=f"count_{k}", reset_less=True) for k in (2, 3)]
            with m.If(s.go):
                m.d.sync += [*(count.eq(value) for count, value in zip(counts, ahead, strict=True)),
                             this_count.eq(counts[0]), both_counts.eq(counts[0] + counts[1])]
        elif s.beats > 2:
            next_count = Signal(s.position + 1)
            with m.If(s.go):
                m.d.sync += [this_count.eq(next_count), next_count.eq(ahead[0])]
            m.d.comb += both_counts.eq(this_count + next_count)
        else:
            m.d.comb += [this_count.eq(ranks.count), both_counts.eq(this_count + ahead[0])]
        last_lane = Signal(s.position + 1)
        tag_lane = Signal(s.position + 2)
        m.d.comb += [last_lane.eq(s.lane + this_count), tag_lane.eq(s.lane + both_counts)]
        finds = Signal()
        found_row = Mux(tag_lane[-1], advanced(s.row, 2), Mux(tag_lane[-2], advanced(s.row), s.row))
        m.d.comb += [
            # Set in every cycle in which the slot waits, because `go` settles late in the cycle.
            finds.eq(s.held & (s.index == s.beats - 2) & ~s.drop),
            reader.anew.eq(s.drop | (s.go & s.slot.final)),
            reader.move_lane.eq(Mux(finds, tag_lane, 0)),
            reader.move_crossed.eq(finds & (tag_lane[s.position:] != last_lane[s.position:])),
        ]
        # Moves to the next packet, whose first tag was usually read ahead: at once, or a cycle later from a register.
        if s.many:
            m.d.sync += s.turns.eq(s.drop | (s.go & s.slot.final & ~s.fetch))
            m.d.comb += [reader.move.eq(s.turns | finds), reader.move_row.eq(Mux(finds, found_row, s.row_0))]
        else:
            m.d.comb += [reader.move.eq(s.drop | finds | (s.go & s.slot.final)),
                         reader.move_row.eq(Mux(s.drop, s.stop_row, Mux(finds, found_row, s.after)))]

    def _expand(self, m: Module, s: _State, expander: Expander, skid: Skid) -> None:
        """Passes the slot to the expander, through the slot register if there is one, and the beat to the output."""
        if s.many:
            stage = Signal(s.slot.shape(), reset_less=True)
            stage_after = Signal(ROWS, reset_less=True)
            with m.If(s.slot_free):
                m.d.sync += [stage.eq(s.slot), stage_after.eq(s.after), s.slot_valid.eq((s.go | s.bare) & ~s.drop)]
            m.d.comb += [
                expander.slot.eq(stage),
                s.stop_row.eq(stage_after),
                s.slot_free.eq(~s.slot_valid | skid.i.ready),
            ]
        else:
            m.d.comb += [
                expander.slot.eq(s.slot),
                s.stop_row.eq(s.after),
                s.slot_free.eq(skid.i.ready),
                s.slot_valid.eq(s.go | s.bare),
            ]
        m.d.comb += [
            s.drop.eq(s.slot_valid & expander.ends & skid.i.ready),
            skid.i.valid.eq(s.slot_valid),
            skid.i.payload.data.eq(expander.data),
            skid.i.payload.keep.eq(expander.keep),
            skid.i.payload.last.eq(expander.last),
            skid.i.payload.code.eq(expander.code),
            skid.i.payload.closes.eq(expander.slot.closes),
        ]

    def _give(self, m: Module, skid: Skid) -> None:
        """Drives the output, and counts the lines of the packet."""
        line = Signal(self.LINE_BITS)
        m.d.comb += [
            self.o.valid.eq(skid.o.valid),
            skid.o.ready.eq(self.o.ready),
            self.o.payload.data.eq(skid.o.payload.data),
            self.o.payload.keep.eq(Cat(bit.replicate(min(self._sizes)) for bit in skid.o.payload.keep)),
            self.o.payload.last.eq(skid.o.payload.last),
            self.error.code.eq(skid.o.payload.code),
            self.error.line.eq(line),
        ]
        leaves = skid.o.valid & self.o.ready
        counter(m, line, leaves & skid.o.payload.closes, clear=leaves & skid.o.payload.last)
