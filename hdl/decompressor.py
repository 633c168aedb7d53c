"""The zero-value decompressor: tags and non-zero elements in, raw beats out."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.beat import ErrorCode, beat_stream, coded_beat_stream
from hdl.coding import element_layout, one_hot_element, select, tag_bytes
from hdl.config import LINE_BYTES
from hdl.expander import Expander, slot_layout
from hdl.ring import Ring, pick, row_facts, turn
from hdl.routing import Ranks, quads
from hdl.skid import Skid

__all__ = ["Decompressor"]


class Decompressor(wiring.Component):
    """Expands packets of zero-value coding, one raw beat per cycle, and checks them on the way.

    ::

             +------+ segment  +-----+ mask   +-------+
             |      |--------->| tag |------->| ranks |--+
        i -->| ring |          +-----+        +-------+  |   +----------+   +------+
             |      |--------------------------------------->| expander |-->| skid |--> o, error
             +------+ window                                 +----------+   +------+
               rows                          (slot register where units are many)

    Four rows of packed bytes are held; the tag of a line is read from wherever it lies while the last beat of the
    line before it is made, so tags cost no cycle. Bytes are never shifted to a common start: the network that spreads
    them over the beat also undoes their rotation.

    Latency: the first raw beat leaves 3 cycles after the packed beat that holds its tag and data was taken, 4 in builds
    with more than 8 units in a beat, which count in a stage of their own. Throughput: 1 raw beat per cycle unless the
    packed side is empty; a packet that ends in mid-line costs up to 2 cycles more.

    All errors of a line stream show at the end of its packet. What was right has gone out before; a beat with ``last``
    closes the packet, and the next packet is taken.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat on both sides: 16, 32 or 64.
    element_bytes : tuple of int
        Element sizes that packets may choose from: one or more of 1, 2, 4.

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

    def __init__(self, beat_bytes: int, element_bytes: tuple[int, ...]):
        self._beat_bytes = beat_bytes
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
        tag_bits = 8 * tag_bytes(grain)
        many = units > 8
        every = Ring.ROWS

        m.submodules.ring = ring = Ring(n, grain)
        m.submodules.ranks = ranks = Ranks(n, grain)
        m.submodules.expander = expander = Expander(n, sizes)
        out_layout = data.StructLayout({
            "data": 8 * n, "keep": units, "last": 1, "code": ErrorCode, "closes": 1})
        m.submodules.skid = skid = Skid(out_layout)

        # Rows as they come in.
        valid = Signal(every)
        write = Signal(every, init=1)
        ready, between = Signal(), Signal(init=1)
        element = Signal(element_layout(sizes), reset_less=True)
        coming = Signal(row_facts(n, sizes))
        facts = [Signal(row_facts(n, sizes), name=f"facts_{k}", reset_less=True) for k in range(every)]
        pushed = Signal(every)
        keep = self.i.payload.keep
        whole = Signal(units)
        m.d.comb += [
            self.i.ready.eq(ready),
            ring.data.eq(self.i.payload.data),
            ring.write.eq(Mux(ready, write, 0)),
            pushed.eq(Mux(ready & self.i.valid, write, 0)),
            whole.eq(Cat(keep[(k + 1) * grain - 1] for k in range(units))),
            coming.last.eq(self.i.payload.last),
            coming.units.eq(Mux(self.i.payload.last, _length(whole), units)),
            coming.ragged.eq(self.i.payload.last & Cat(
                keep[k * grain] & ~keep[(k + 1) * grain - 1] for k in range(units)).any()),
            coming.element.eq(Mux(between, one_hot_element(self.i.payload.element, sizes), element)),
        ]
        with m.If(ready & self.i.valid):
            m.d.sync += [
                write.eq(turn(write)),
                between.eq(self.i.payload.last),
                element.eq(coming.element),
            ]
        for k in range(every):
            with m.If(ring.write[k]):
                m.d.sync += facts[k].eq(coming)

        # Where reading stands: data at `row` and `lane`, the next tag at `tag_row` and `tag_lane`. Without a tag in
        # hand both are the same.
        row, tag_row = Signal(every, init=1), Signal(every, init=1)
        lane, tag_lane = Signal(position), Signal(position)
        here, there = _Row(m, "here", row, valid, facts), _Row(m, "there", turn(row), valid, facts)
        beyond = Signal()

        # The tag in hand: what is left of it, ones shifted in.
        held = Signal()
        tag = Signal(tag_bits, reset_less=True)
        index = Signal(exact_log2(beats), reset_less=True)
        size = Signal(element_layout(sizes), reset_less=True)
        slot = Signal(slot_layout(n, sizes))
        closes = index == beats - 1

        def spread(bits: Value, element_bytes: int) -> Value:
            return Cat(bits[unit * grain // element_bytes] for unit in range(units))

        following = Signal(units)
        following_count = Signal(position + 1)
        m.d.comb += [
            slot.mask.eq(select(size, {b: spread(tag[:n // b], b) for b in sizes})),
            following.eq(select(size, {b: spread(tag[n // b:2 * n // b], b) for b in sizes})),
            ranks.mask.eq(slot.mask),
            ranks.quads.eq(quads(slot.mask)),
            following_count.eq(_count(following)),
            slot.before.eq(ranks.before),
            slot.count.eq(ranks.count),
            slot.rest.eq(select(size, {b: tag[n // b:tag_bits * grain // b].all() for b in sizes})),
            slot.start.eq(lane),
            slot.element.eq(size),
            slot.opens.eq(index == 0),
            slot.closes.eq(closes),
            ring.row.eq(row),
            ring.lane.eq(lane),
            slot.window.eq(ring.window),
        ]

        # The end of the packet, if it is near. `beyond`: its last row has been used up and passed.
        after = Signal(every)
        limit = Signal(position + 2)
        m.d.comb += [
            slot.bounded.eq(beyond | here.last | there.last),
            limit.eq(Mux(here.last, here.units, there.units + units)),
            slot.left.eq(Mux(beyond, 0, limit - lane)),
            slot.ragged.eq(~beyond & Mux(here.last, here.ragged, there.ragged)),
            after.eq(Mux(beyond, row, Mux(here.last, turn(row), turn(row, 2)))),
        ]
        final = Signal()
        same, onward = Signal(), Signal()
        m.d.comb += [same.eq((tag_row & row).any()), onward.eq(~same)]
        with m.If(beyond):
            m.d.comb += final.eq(same & (tag_lane == 0))
        with m.Elif(here.last):
            m.d.comb += final.eq(~here.ragged & Mux(
                here.units[position], onward & (tag_lane == 0), same & (tag_lane == here.units[:position])))
        with m.Else():
            m.d.comb += final.eq(there.last & ~there.ragged & onward & (tag_lane != 0)
                                 & (tag_lane == there.units))
        m.d.comb += slot.final.eq(held & closes & final)

        # The next tag: behind this line's data, or at the start of the next packet.
        from_row = Signal(every)
        from_lane = Signal(position)
        m.d.comb += [
            from_row.eq(Mux(slot.final, after, tag_row)),
            from_lane.eq(Mux(slot.final, 0, tag_lane)),
            ring.tag_row.eq(from_row),
            ring.tag_lane.eq(from_lane),
        ]
        begin, run_on = _Row(m, "begin", from_row, valid, facts), _Row(m, "run_on", turn(from_row), valid, facts)
        tag_end = Signal(position + 1)
        fits, over, whole_tag, torn_tag = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            tag_end.eq(from_lane + select(begin.element, {
                b: Const(tag_bytes(b) // grain, position + 1) for b in sizes})),
            fits.eq(tag_end <= begin.units),
            over.eq(~begin.last & (tag_end > units) & run_on.valid),
            whole_tag.eq(begin.valid & (fits | (over & (tag_end - units <= run_on.units)))),
            torn_tag.eq(begin.valid & ~fits & (begin.last | (over & (tag_end - units > run_on.units)))),
        ]
        loaded = Signal(tag_bits)
        turned: Value = ring.segment
        for rank in range(exact_log2(tag_bytes(grain) // grain)):
            step = Signal(tag_bits, name=f"turned_{rank}")
            m.d.comb += step.eq(Mux(from_lane[rank], turned.rotate_right(8 * grain << rank), turned))
            turned = step
        unused = select(begin.element, {
            b: Const((1 << tag_bits) - (1 << tag_bits * grain // b), tag_bits) for b in sizes})
        m.d.comb += loaded.eq(turned | unused)

        # What happens in this cycle.
        slot_free, slot_valid, blocked, ends = Signal(), Signal(), Signal(), Signal()
        go, fetch, bare, kill = Signal(), Signal(), Signal(), Signal()
        waited, needs_none, needs_one = Signal(), Signal(), Signal()
        reach, tag_reach = Signal(position + 1), Signal(position + 2)
        m.d.comb += [
            # With two rows, or the end of the packet, in sight the data is there. Else it takes a look at the count,
            # which is too late in the cycle: the next one uses it.
            go.eq(held & slot_free & ~blocked & (
                beyond | here.last | (here.valid & there.valid)
                | (waited & (needs_none | (needs_one & here.valid))))),
            bare.eq(~held & slot_free & ~blocked & torn_tag),
            fetch.eq(whole_tag & ~blocked & ~ends & Mux(
                held, go & closes & (slot.final | (~beyond & ~(here.last & onward))), 1)),
            reach.eq(lane + ranks.count),
            tag_reach.eq(lane + ranks.count + following_count),
            slot.bare.eq(~held),
            slot.torn.eq((from_lane != begin.units) | begin.ragged | ~begin.last),
        ]
        m.d.sync += [
            waited.eq(held & ~go & ~kill),
            needs_none.eq(ranks.count == 0),
            needs_one.eq(reach <= units),
        ]

        # Rows that reading has left. The count of a slot comes late, so its row is let go a cycle later.
        left, left_next, left_now, valid_next = Signal(every), Signal(every), Signal(every), Signal(every)
        stop_row = Signal(every)
        m.d.comb += valid_next.eq((valid & ~left & ~left_now) | pushed)
        m.d.sync += [valid.eq(valid_next), left.eq(left_next), ready.eq(~valid_next.all())]

        def leave(target: Value) -> Value:
            """Rows from ``row`` up to ``target``, without it."""
            return Mux((target & row).any(), 0, row) | Mux((target & turn(row, 2)).any(), turn(row), 0)

        with m.If(kill):
            m.d.comb += left_now.eq(leave(stop_row))
            m.d.sync += [
                held.eq(0), beyond.eq(0),
                row.eq(stop_row), lane.eq(0), tag_row.eq(stop_row), tag_lane.eq(0),
            ]
        with m.Elif(fetch):
            m.d.comb += left_now.eq(leave(from_row) | Mux(tag_end >= units, from_row, 0))
            m.d.sync += [
                held.eq(1), beyond.eq(begin.last & (tag_end >= units)), index.eq(0),
                tag.eq(loaded), size.eq(begin.element),
                row.eq(Mux(tag_end >= units, turn(from_row), from_row)), lane.eq(tag_end),
            ]
        with m.Elif(go):
            m.d.sync += [
                held.eq(~closes), index.eq(index + 1),
                tag.eq(select(size, {b: Cat(tag[n // b:], Const(-1, n // b)) for b in sizes})),
                beyond.eq(beyond | (here.last & reach[position])),
                row.eq(Mux(reach[position], turn(row), row)), lane.eq(reach),
            ]
            m.d.comb += left_next.eq(Mux(reach[position], row, 0))
            with m.If(~closes):
                m.d.sync += [
                    tag_row.eq(Mux(tag_reach[position + 1], turn(row, 2), Mux(tag_reach[position], turn(row), row))),
                    tag_lane.eq(tag_reach),
                ]
            with m.Elif(slot.final):
                m.d.comb += [left_now.eq(leave(after)), left_next.eq(0)]
                m.d.sync += [beyond.eq(0), row.eq(after), lane.eq(0), tag_row.eq(after), tag_lane.eq(0)]

        # The slot, registered where counting takes a stage of its own, and the beat made of it. A packet that ends in
        # mid-line is noticed here: what was read on behind it is dropped.
        if many:
            stage = Signal(slot_layout(n, sizes), reset_less=True)
            stage_after = Signal(every, reset_less=True)
            with m.If(slot_free):
                m.d.sync += [stage.eq(slot), stage_after.eq(after), slot_valid.eq(go | bare)]
            m.d.comb += [
                expander.slot.eq(stage),
                stop_row.eq(stage_after),
                slot_free.eq(~slot_valid | skid.i.ready),
                blocked.eq(slot_valid & expander.ends),
            ]
        else:
            m.d.comb += [
                expander.slot.eq(slot),
                stop_row.eq(after),
                slot_free.eq(skid.i.ready),
                slot_valid.eq(go | bare),
                ends.eq(slot_valid & expander.ends),
            ]
        m.d.comb += [
            kill.eq(slot_valid & expander.ends & skid.i.ready),
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
        with m.If(skid.o.valid & self.o.ready):
            with m.If(skid.o.payload.last):
                m.d.sync += line.eq(0)
            with m.Elif(skid.o.payload.closes):
                m.d.sync += line.eq(line + 1)
        return m


class _Row:
    """The facts of the row that a one-hot signal points at."""

    def __init__(self, m: Module, name: str, where: Value, valid: Signal, facts: list[Signal]):
        self.valid, self.last, self.ragged = (Signal(name=f"{name}_{what}") for what in ("valid", "last", "ragged"))
        self.units = Signal.like(facts[0].units, name=f"{name}_units")
        self.element = Signal.like(facts[0].element, name=f"{name}_element")
        m.d.comb += [
            self.valid.eq((where & valid).any()),
            self.last.eq((where & valid & Cat(fact.last for fact in facts)).any()),
            self.ragged.eq((where & Cat(fact.ragged for fact in facts)).any()),
            self.units.eq(pick(where, [fact.units for fact in facts])),
            self.element.as_value().eq(pick(where, [fact.element.as_value() for fact in facts])),
        ]


def _length(kept: Value) -> Value:
    """Number of bits set in a mask whose set bits come first."""
    width = exact_log2(len(kept))
    bits: list[Value] = []
    for rank in range(width):
        step = 1 << rank
        bits.append(Cat(kept[k - 1] & ~kept[k + step - 1] for k in range(step, len(kept), 2 * step)).any())
    return Cat(*bits, kept[-1])


def _count(bits: Value) -> Value:
    """Number of bits set, as a tree of adders."""
    terms: list[Value] = list(bits)
    while len(terms) > 1:
        terms = [terms[k] + terms[k + 1] for k in range(0, len(terms), 2)]
    return terms[0]
