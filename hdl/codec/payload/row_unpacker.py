"""The data path of the block decompressor: words of tags and rows of data in, raw beats out."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import select
from cdma.hdl.codec.line_record import GROUP_BYTES
from cdma.hdl.codec.payload.block_result import BlockResult
from cdma.hdl.codec.payload.group_decoder import GroupDecoder
from cdma.hdl.codec.payload.group_mask import GroupMask, rest_bits
from cdma.hdl.codec.payload.row_ring import RowRing
from cdma.hdl.codec.payload.tag_slicer import TagSlicer, slice_layout
from cdma.hdl.codec.payload.unpacking import (
    data_row_layout,
    line_layout,
    order_layout,
    payload_error_layout,
    present_units,
    unit_bytes,
)
from cdma.hdl.codec.routing import Ranks, Scatter, Steer, block_counts, joined_ranks, ranks_layout, unary_count
from cdma.hdl.common.beat import beat_stream
from cdma.hdl.common.skid import Skid, Spare
from cdma.hdl.common.stage import behind

__all__ = ["RowUnpacker"]


class RowUnpacker(wiring.Component):
    """Expands blocks whose tags come first, one raw beat per cycle, and checks them.

    ::

        order, words, lines --> [slicer] --> [mask] --> ranks --> [place] --> swap bits
                                                                   ^   |          |
                                                                   +---+ lane     v
                                                         data --> [rows] --> [scatter] --> [beat] --> spare --> o, error

    Each pair of brackets is a stage with registers. *Place* adds up how many units of the rows have been used: this sum
    is the only loop over beats. A beat takes units of at most two rows. Units need no alignment before: the network
    that spreads them over the beat also undoes their rotation. Cycles of a block whose rows are there::

        cycle                     0     1     2     3     4     5
        words, order taken        x
        mask, ranks                     a     b     c     d
        place                                 a     b     c     d
        rows, scatter                               a     b     c
        o.valid                                           a     b

    With exponents there are two more stages: the mask of bytes of each group follows from the slice, and the bytes of a
    group are decoded after they have been spread::

        cycle                     0     1     2     3     4     5     6     7
        words, order, line taken  x
        slice, mask of bytes            a     b     c     d
        mask, ranks                           a     b     c     d
        place                                       a     b     c     d
        rows, scatter                                     a     b     c     d
        groups, decoding                                        a     b     c
        o.valid                                                       a     b

    In the pipeline ``fast`` the registers of *place* are a skid buffer, so that what moves in front of it follows from
    registers; there is a register in front of *scatter*; a skid buffer in place of the spare one; and with exponents a
    register on each side of the counts of a group's elements, and one behind the network of the decoder. Ranks are
    counted in each half of the beat, and added up behind a register::

        slice --> [elements] --> [counts] --> [mask] --> ranks --> [ranks] --> [place, skid] --> rows
        rows --> [window] --> [scatter] --> [rests] --> [tails] --> [beat] --> [skid]

    Latency: the first raw beat of a block leaves 4 cycles, with exponents 6, after its order and its first word of tags
    were taken. The units of a row of data are scattered in the cycle after it was taken, and leave one cycle later,
    with exponents two. In ``fast`` both take longer, by 3 and 2 cycles, with exponents by 6 and 3. Throughput: 1 raw
    beat per cycle while rows are there, for blocks of any length, without a gap between them. In a short block, each
    word of tags behind the last beat takes a cycle more.

    Errors are reported at the end of the block, when its other beats have left. The content of beats of a block with an
    error is undefined. Data that are left over are taken up to the row with ``last``, one row per cycle. Each order
    gives its number of beats, with one ``last``; then the next block works.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat and of a row: 16, 32 or 64; with exponents 32 or 64.
    element_bytes : tuple of int
        Element sizes that blocks may choose from: one or more of 1, 2, 4.
    block_bytes : int
        Raw bytes of the largest block.
    exponents : tuple of int, optional
        Those of the sizes that may have exponent coding: 2 for bfloat16, 4 for float32.
    for_lane : bool
        Whether blocks may be raw.
    pipeline : str
        ``small`` or ``fast``.

    Members
    -------
    order : In(stream.Signature(order_layout(beat_bytes, element_bytes, block_bytes, exponents, for_lane)))
        The blocks.
    words : In(stream.Signature(beat_bytes))
        The words that hold their tags: see :class:`~cdma.hdl.codec.payload.tag_slicer.TagSlicer`. What follows the tags
        in the last word of a block does not matter.
    lines : In(stream.Signature(line_layout()))
        With exponents only: the lines of blocks with exponents.
    data : In(stream.Signature(data_row_layout(beat_bytes, element_bytes, exponents)))
        Their rows of data, from the one on in which the data begin. The last row of the payload has ``last``, whatever
        the tags say.
    o : Out(beat_stream(beat_bytes))
        Raw beats. ``o.ready`` reaches no other port within a cycle.
    error : Out(payload_error_layout(block_bytes))
        Valid with the last beat of a block: its result.

    Raises
    ------
    ValueError
        With exponents, if a beat is no whole number of groups, or if one of them is not among the element sizes.

    Source: docs/formats.md, "Tags first" and "Exponents".
    """

    order: stream.Interface
    words: stream.Interface
    lines: stream.Interface
    data: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, element_bytes: tuple[int, ...], block_bytes: int,
                 exponents: tuple[int, ...] = (), for_lane: bool = False, pipeline: str = "small"):
        self._fast = pipeline == "fast"
        self._pipeline = pipeline
        self._beat_bytes = beat_bytes
        self._sizes = tuple(sorted(element_bytes))
        self._exponents = tuple(sorted(exponents))
        self._block_bytes = block_bytes
        self._for_lane = for_lane
        if self._exponents and beat_bytes % GROUP_BYTES:
            raise ValueError(f"beat_bytes must be {GROUP_BYTES} or {2 * GROUP_BYTES} with exponents, not {beat_bytes}")
        if not set(self._exponents) <= set(self._sizes) & {2, 4}:
            raise ValueError(f"exponents must be among the element sizes {self._sizes}, and 2 or 4, not {exponents}")
        self._layout = slice_layout(beat_bytes, self._sizes, self._exponents)
        super().__init__({
            "order": In(stream.Signature(order_layout(beat_bytes, self._sizes, block_bytes, self._exponents,
                                                      for_lane))),
            "words": In(stream.Signature(beat_bytes)),
            **({"lines": In(stream.Signature(line_layout()))} if self._exponents else {}),
            "data": In(stream.Signature(data_row_layout(beat_bytes, self._sizes, self._exponents))),
            "o": Out(beat_stream(beat_bytes)),
            "error": Out(payload_error_layout(block_bytes)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, grain = self._beat_bytes, unit_bytes(self._sizes, self._exponents)
        units = n // grain
        position = exact_log2(units)
        m.submodules.slicer = slicer = TagSlicer(
            n, self._sizes, self._block_bytes, self._exponents, self._for_lane, self._pipeline)
        if not self._fast:
            m.submodules.ranks = ranks = Ranks(n, grain)
        m.submodules.steer = steer = Steer(n, grain)
        m.submodules.rows = rows = RowRing(n, self._sizes, self._exponents, self._pipeline)
        m.submodules.spare = spare = (Skid if self._fast else Spare)(data.StructLayout({
            "data": 8 * n, "last": 1, "tail": position, "error": payload_error_layout(self._block_bytes)}))
        wiring.connect(m, wiring.flipped(self.order), slicer.order)
        wiring.connect(m, wiring.flipped(self.words), slicer.words)
        wiring.connect(m, wiring.flipped(self.data), rows.i)
        if self._exponents:
            wiring.connect(m, wiring.flipped(self.lines), slicer.lines)

        # The units of a beat, and how many there are.
        # In the pipeline `fast`, what is in front of the skid buffer moves by itself.
        move = Signal()
        places = Signal(name="places_move") if self._fast else move
        m.d.comb += [places.eq(rows.move), slicer.move.eq(move)]
        counted_valid, counted, faulty_tag = self._masked(m, slicer, move)
        before = Signal(ranks_layout(n, grain), reset_less=True)
        halves = Signal(data.ArrayLayout(position, 2), reset_less=True)
        if not self._fast:
            m.d.comb += ranks.mask.eq(counted.mask)

        # Its place: `lane` is that of its first unit.
        placed = Signal(self._layout, reset_less=True)
        placed_valid, wrong = Signal(), Signal(reset_less=True)
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
        if self._fast:
            ranked_valid, ranked = behind(m, move, counted_valid, "ranked_valid", init=0), behind(
                m, move, counted, "ranked")
            ranked_wrong = behind(m, move, faulty_tag, "ranked_wrong")
            # What is counted in the halves is added up behind the register.
            befores, counts = [], []
            for k in range(2):
                m.submodules[f"ranks_{k}"] = ranks = Ranks(n // 2, grain)
                m.d.comb += ranks.mask.eq(counted.mask.word_select(k, units // 2))
                befores.append(behind(m, move, ranks.before, f"ranked_before_{k}"))
                counts.append(behind(m, move, ranks.count, f"ranked_count_{k}"))
            ranked_before, ranked_lane = Signal.like(before, name="ranked_before"), Signal(position)
            low, high = befores
            joined_ranks(m, ranked_before, low, high, counts[0])
            # The beat before this one.
            goes = ranked_valid & move
            past = behind(m, goes, ranked_lane, "past_lane") + (
                behind(m, goes, counts[0], "past_count_0") + behind(m, goes, counts[1], "past_count_1"))
            found = Cat(ranked, ranked_before, counts, ranked_lane, ranked_wrong)
            m.submodules.place = place = Skid(len(found))
            m.d.comb += [
                ranked_lane.eq(Mux(ranked.first, ranked.start, past)),
                place.i.valid.eq(ranked_valid), place.i.payload.eq(found), move.eq(place.i.ready),
                placed_valid.eq(place.o.valid), place.o.ready.eq(places),
                Cat(placed, before, halves, lane, wrong).eq(place.o.payload),
            ]
        else:
            with m.If(places):
                m.d.sync += [
                    placed_valid.eq(counted_valid), placed.eq(counted), before.eq(ranks.before),
                    halves.eq(ranks.halves), lane.eq(Mux(counted.first, counted.start, total)), wrong.eq(faulty_tag),
                ]

        # Its rows, and the spread of its units.
        spread = Signal(self._layout, reset_less=True)
        bad_tag = Signal(reset_less=True)
        swap = Signal.like(steer.swap, reset_less=True)
        with m.If(places):
            m.d.sync += [spread.eq(placed), bad_tag.eq(wrong), swap.eq(steer.swap)]
        leave, shown, window = spare.i.ready, rows.shown, rows.window
        truncated, surplus = rows.truncated, rows.surplus
        if self._fast:
            shown = behind(m, leave, shown, "windowed", init=0)
            window, swap, spread, bad_tag, truncated, surplus = (
                behind(m, leave, each, f"windowed_{name}") for name, each in (
                    ("rows", window), ("swap", swap), ("beat", spread), ("bad_tag", bad_tag), ("truncated", truncated),
                    ("surplus", surplus)))
        m.submodules.scatter = scatter = Scatter(n, grain)
        m.submodules.result = result = BlockResult(n, self._block_bytes)
        m.d.comb += [
            rows.leave.eq(leave), scatter.i.eq(window), scatter.swap.eq(swap),
            result.goes.eq(shown & leave), result.last.eq(spread.last), result.known.eq(spread.error),
            result.bad_tag.eq(bad_tag), result.truncated.eq(truncated), result.surplus.eq(surplus),
        ]
        if self._exponents:
            m.d.comb += result.bad_facts.eq(spread.bad)

        # The beat.
        facts = Signal(data.StructLayout({
            "last": 1, "tail": position, "error": payload_error_layout(self._block_bytes)}), name="spread_facts")
        m.d.comb += [facts.last.eq(spread.last), facts.tail.eq(spread.tail), facts.error.eq(result.o)]
        content = Cat(Mux(spread.mask[unit], scatter.o.word_select(unit, 8 * grain), 0) for unit in range(units))
        come, decoded, passed = self._decoded(m, spread, content, facts, shown, leave)
        held = Signal()
        beat = Signal.like(spare.i.payload, name="beat", reset_less=True)
        with m.If(leave):
            m.d.sync += [held.eq(come), beat.data.eq(decoded), beat.last.eq(passed.last), beat.tail.eq(passed.tail),
                         beat.error.eq(passed.error)]
        out = spare.o.payload
        m.d.comb += [
            spare.i.valid.eq(held), spare.i.payload.eq(beat),
            self.o.valid.eq(spare.o.valid), spare.o.ready.eq(self.o.ready),
            self.o.payload.data.eq(out.data), self.o.payload.last.eq(out.last),
            self.o.payload.keep.eq(Cat(bit.replicate(grain) for bit in present_units(out.tail, units))),
            self.error.eq(out.error),
        ]
        return m

    def _masked(self, m: Module, slicer: TagSlicer, move: Value) -> tuple[Signal, Any, Value]:
        """The mask of a beat, registered, and whether it has a 1 for a missing element: that of its slice, or with
        exponents that of the bytes of its groups."""
        held, sliced = Signal(name="sliced_valid"), Signal(self._layout, name="sliced", reset_less=True)
        with m.If(move):
            m.d.sync += [held.eq(slicer.valid), sliced.eq(slicer.slice)]
        wrong = sliced.beyond | (sliced.mask & ~present_units(sliced.tail, len(sliced.mask))).any()
        if not self._exponents:
            return held, sliced, wrong
        counted_valid, counted = Signal(), Signal(self._layout, name="counted", reset_less=True)
        bad_tag = Signal(reset_less=True)
        least = self._exponents[0]
        elements = GROUP_BYTES // least
        masks: list[Value] = []
        first = sliced
        if self._fast:
            # The elements of a group are behind a register, their counts behind another, and so is what is beside them.
            for stage in ("chosen", "summed"):
                held, sliced = behind(m, move, held, f"{stage}_valid", init=0), behind(m, move, sliced, stage)
                wrong = behind(m, move, wrong, f"{stage}_wrong")
        for number in range(self._beat_bytes // GROUP_BYTES):
            slice_ = first.mask.word_select(number, GROUP_BYTES)
            coder = GroupMask(self._exponents)
            m.submodules[f"group_mask_{number}"] = coder
            ones = {size: Cat(slice_[k * size] for k in range(GROUP_BYTES // size)) for size in self._exponents}
            some = Signal(elements, name=f"elements_{number}")
            found, chosen = some, select(first.coded, ones)
            if not self._fast:
                at_least = Cat(block_counts(m, some)[0, elements] > k for k in range(elements))
            else:
                at_least = Cat(unary_count(m, some, f"ranked_elements_{number}"))
                chosen = behind(m, move, chosen, f"chosen_elements_{number}")
                found = behind(m, move, some, f"summed_elements_{number}")
                at_least = behind(m, move, at_least, f"summed_counts_{number}")
            m.d.comb += [
                some.eq(chosen), coder.elements.eq(found), coder.at_least.eq(at_least),
                coder.rest.eq(rest_bits(sliced.groups[number])), coder.element.eq(sliced.coded),
            ]
            slice_ = sliced.mask.word_select(number, GROUP_BYTES)
            masks.append(Mux(sliced.coded.as_value().any(), coder.mask, slice_))
        with m.If(move):
            m.d.sync += [counted_valid.eq(held), counted.eq(sliced), counted.mask.eq(Cat(masks)), bad_tag.eq(wrong)]
        return counted_valid, counted, bad_tag

    def _decoded(self, m: Module, spread: Any, content: Value, facts: Any, shown: Value, move: Value
                 ) -> tuple[Value, Value, Any]:
        """The beat whose units have been spread; with exponents, a cycle later, with its groups decoded."""
        if not self._exponents:
            return shown, content, facts
        held, passed = Signal(name="decoded_valid"), Signal.like(facts, name="decoded_facts", reset_less=True)
        with m.If(move):
            m.d.sync += [held.eq(shown), passed.eq(facts)]
        groups: list[Value] = []
        for number in range(self._beat_bytes // GROUP_BYTES):
            decoder = GroupDecoder(self._exponents, self._pipeline)
            m.submodules[f"decoder_{number}"] = decoder
            m.d.comb += [
                decoder.move.eq(move), decoder.data.eq(content.word_select(number, 8 * GROUP_BYTES)),
                decoder.mask.eq(spread.mask.word_select(number, GROUP_BYTES)), decoder.coded.eq(spread.coded),
                decoder.group.eq(spread.groups[number]),
            ]
            groups.append(decoder.o)
        if self._fast:
            held, passed = behind(m, move, held, "rests_valid", init=0), behind(m, move, passed, "rests_facts")
        return held, Cat(groups), passed
