"""The zero-value compressor: raw beats in, tags and non-zero elements out."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.coding import LINE_BYTES, element_layout, one_hot_element, select, tag_bytes
from hdl.codec.lines.packer import Packer, end_layout
from hdl.codec.packets import ErrorCode, coded_beat_stream
from hdl.codec.routing import Gather, Ranks, Steer, swap_layout
from hdl.codec.scan import Scan
from hdl.common.beat import beat_stream
from hdl.common.bits import thermometer

__all__ = ["Compressor"]


class Compressor(wiring.Component):
    """Compresses packets by zero-value coding, one raw beat per cycle.

    ::

             +-------+   +------+   +-------+   +--------+        +--------+   +--------+
        i -->| input |-->| scan |-->| route |-->| gather |--...-->| packer |-->| output |--> o, error
             +-------+   +------+   +-------+   +--------+        +--------+   +--------+
                0           1           2          3       delay   last           rows
                            |                                        ^
                            +---- slices of the tag, kept beat by beat, joined here

    A tag goes out in front of its line's first element but is known only when the line's last beat has been scanned.
    The beats wait for it on their way through the pipeline, which is as long as a line: where the first beat meets
    the packer the last one has just been scanned, so the wait costs neither a buffer nor a cycle. Stages close gaps,
    so a source that idles in mid-line does not hold up what is complete.

    Latency: the first packed beat of a line leaves 3 cycles after the line's last raw beat was taken if what is packed
    by then fills it. What is less leaves when the packet ends or the next line fills it up, at most as many cycles
    after the last raw beat as the pipeline has stages, and one. Throughput: 1 raw beat per cycle, unless the packed
    side is full.

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
        Raw beats. An element size that is not built counts as the largest one built.
    o : Out(beat_stream(beat_bytes))
        Packed beats: lines back to back, each a tag and its non-zero elements.
    error : Out(ErrorCode)
        Valid beside the last beat of ``o``: ``OK``, or ``TRAILING_BYTES`` when the packet was no multiple of the
        element size and its last bytes were dropped.

    Source: Rhu et al., HPCA 2018, section V-B; the line format of docs/formats.md.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, element_bytes: tuple[int, ...], pipeline: str = "small"):
        self._beat_bytes = beat_bytes
        self._pipeline = pipeline
        self._sizes = tuple(sorted(element_bytes))
        super().__init__({
            "i": In(coded_beat_stream(beat_bytes)),
            "o": Out(beat_stream(beat_bytes)),
            "error": Out(ErrorCode),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, sizes, grain = self._beat_bytes, self._sizes, min(self._sizes)
        units = n // grain
        beats = LINE_BYTES // n
        position = exact_log2(units)
        # Many units take long to count, and their tag long to turn: the counts and the tag then get registers of their
        # own. `waits` is the stage where the first beat of a line waits for its tag.
        many = units > 8 and self._pipeline == "fast"
        counted, routed, gathered = (2, 3, 4) if many else (1, 2, 3)
        final = max(gathered, beats if many else beats - 1)
        waits = final - 1 if many else final
        depth = final + 1

        m.submodules.scan = scan = Scan(n, sizes)
        m.submodules.ranks = ranks = Ranks(n, grain)
        m.submodules.steer = steer = Steer(n, grain)
        m.submodules.gather = gather = Gather(n, grain)
        m.submodules.packer = packer = Packer(n, grain)
        wiring.connect(m, wiring.flipped(self.o), packer.o)
        m.d.comb += self.error.eq(packer.error)

        valid = [Signal(name=f"valid_{k}") for k in range(depth)]
        free = [Signal(name=f"free_{k}") for k in range(depth)]
        body = [Signal(8 * n, name=f"body_{k}", reset_less=True) for k in range(depth)]
        mark = [Signal(data.StructLayout({"element": element_layout(sizes), "closes": 1, "last": 1}),
                       name=f"mark_{k}", reset_less=True) for k in range(depth)]
        tags = [Signal(units, name=f"tags_{k}", reset_less=True) for k in range(depth)]

        # Stage 0: the beat as it came, and its place in the line.
        present = Signal(n, reset_less=True)
        opens = Signal(reset_less=True)
        fresh = Signal(reset_less=True)
        index = Signal(exact_log2(beats))
        between = Signal(init=1)
        ready = Signal()
        m.d.comb += self.i.ready.eq(ready)
        with m.If(ready):
            m.d.sync += [
                body[0].eq(self.i.payload.data),
                present.eq(self.i.payload.keep),
                mark[0].last.eq(self.i.payload.last),
                mark[0].closes.eq(self.i.payload.last | (index == beats - 1)),
                opens.eq(index == 0),
                fresh.eq(between),
            ]
            with m.If(between):
                m.d.sync += mark[0].element.eq(one_hot_element(self.i.payload.element, sizes))
            with m.If(self.i.valid):
                m.d.sync += [
                    index.eq(Mux(self.i.payload.last, 0, index + 1)),
                    between.eq(self.i.payload.last),
                ]

        # Stage 1: zeros found, slice of the tag known.
        m.d.comb += [
            scan.data.eq(body[0]),
            scan.present.eq(present | (~mark[0].last).replicate(n)),
            scan.element.eq(mark[0].element),
            tags[0].eq(scan.slice),
        ]
        found_layout = data.StructLayout({"tagged": 1, "none": 1, "ragged": 1})
        found = Signal(found_layout, reset_less=True)
        mask = Signal(units, reset_less=True)
        with m.If(free[1]):
            m.d.sync += [
                mask.eq(scan.mask),
                found.tagged.eq(opens & scan.some),
                found.none.eq(fresh & ~scan.some),
                found.ragged.eq(scan.ragged),
            ]
        m.d.comb += ranks.mask.eq(mask)
        before, count = ranks.before, ranks.count
        if many:
            before, halves = Signal.like(ranks.before, reset_less=True), Signal.like(ranks.halves, reset_less=True)
            first_found, found = found, Signal(found_layout, name="found_2", reset_less=True)
            with m.If(free[counted]):
                m.d.sync += [before.eq(ranks.before), halves.eq(ranks.halves), found.eq(first_found)]
            count = halves[0] + halves[1]

        # Routed: where the bytes go. `head` is the last used unit of the open row: a full row stays open until a byte
        # behind it arrives, so every packet begins behind a full row, the last one of the packet before it.
        head = Signal(position, init=units - 1)
        tag_units = Signal(range(tag_bytes(grain) // grain + 1))
        total = Signal(position + 2)
        m.d.comb += [
            tag_units.eq(Mux(found.tagged, select(mark[counted].element, {
                size: Const(tag_bytes(size) // grain, len(tag_units)) for size in sizes}), 0)),
            steer.before.eq(before),
            steer.start.eq(head + tag_units + 1),
            # The head is late: it hangs on itself.
            total.eq(head + (tag_units + count)),
        ]
        swap = Signal(swap_layout(n, grain), reset_less=True)
        spot_layout = data.StructLayout({
            "head": position, "tag_units": len(tag_units), "rows": 2, "end": end_layout(n, grain)})
        spot = {k: Signal(spot_layout, name=f"spot_{k}", reset_less=True) for k in range(routed, final)}
        with m.If(free[routed]):
            m.d.sync += [
                swap.eq(steer.swap),
                spot[routed].head.eq(head),
                spot[routed].tag_units.eq(tag_units),
                spot[routed].rows.eq(total[position:] | found.none),
                spot[routed].end.last.eq(mark[counted].last),
                spot[routed].end.units.eq(total + 1),
                spot[routed].end.none.eq(found.none),
                spot[routed].end.ragged.eq(found.ragged),
            ]
            with m.If(valid[counted]):
                m.d.sync += head.eq(total[:position] | mark[counted].last.replicate(position))

        # Gathered: bytes on their lanes; stages behind that one only wait for the tag.
        m.d.comb += [gather.i.eq(body[routed]), gather.swap.eq(swap)]
        for k in range(1, depth):
            with m.If(free[k]):
                m.d.sync += [
                    body[k].eq(gather.o if k == gathered else body[k - 1]),
                    mark[k].eq(mark[k - 1]),
                    tags[k].eq(tags[k - 1]),
                ]
                if k in spot and k > routed:
                    m.d.sync += spot[k].eq(spot[k - 1])

        # The tag, from the slices of the beats that stand behind each other when the line is complete.
        line = [mark[waits - k].closes for k in range(beats)]
        complete = Cat(line[k] & Cat(Const(1), *valid[waits - k:waits]).all() for k in range(beats)).any()
        absent = Signal(beats)
        tag = Signal(8 * tag_bytes(grain))
        m.d.comb += [
            absent.eq(Cat(Cat(line[:k]).any() for k in range(beats))),
            tag.eq(select(mark[waits].element, {
                size: Cat(tags[waits - k][:n // size] | absent[k].replicate(n // size) for k in range(beats))
                for size in sizes})),
        ]

        # Last stage: the piece for the packer; lane masks are decoded one stage ahead.
        below = Signal(units, reset_less=True)
        on_tag = Signal(units, reset_less=True)
        tagged = Signal(reset_less=True)
        rows = Signal(2, reset_less=True)
        end = Signal(end_layout(n, grain), reset_less=True)
        coming = spot[final - 1]
        passes = Signal()
        tag_end = Signal(position + 1)
        older = Signal(units)
        until = Signal(units)
        m.d.comb += [
            tag_end.eq(coming.head + coming.tag_units),
            older.eq(Cat(Const(1), thermometer(coming.head, units - 1))),
            until.eq(Cat(Const(1), thermometer(tag_end[:position], units - 1))),
        ]
        with m.If(free[final]):
            m.d.sync += [
                # All ones without a beat, as the packer asks.
                below.eq(older | (~passes).replicate(units)),
                on_tag.eq(Mux(tag_end[position], ~older | until, ~older & until)
                          & (coming.tag_units != 0).replicate(units)),
                tagged.eq(coming.tag_units != 0),
                rows.eq(coming.rows),
                end.eq(coming.end),
            ]
        if many:
            whole_tag, tag = tag, Signal.like(tag, name="tag_final", reset_less=True)
            with m.If(free[final]):
                m.d.sync += tag.eq(whole_tag)
            m.d.comb += [
                passes.eq(valid[waits] & ((coming.tag_units == 0) | complete)),
                packer.i.valid.eq(valid[final]),
            ]
        else:
            m.d.comb += [
                passes.eq(valid[final - 1]),
                packer.i.valid.eq(valid[final] & (~tagged | complete)),
            ]
        # Counted in units, a tag as long as a unit needs no turning.
        turn = Signal(position, reset_less=True)
        with m.If(free[final]):
            m.d.sync += turn.eq(coming.head + 1)
        for rank in range(exact_log2(tag_bytes(grain) // grain)):
            turned = Signal.like(tag, name=f"tag_turned_{rank}")
            m.d.comb += turned.eq(Mux(turn[rank], tag.rotate_left(8 * grain << rank), tag))
            tag = turned
        m.d.comb += [
            packer.i.payload.lanes.eq(body[final]),
            packer.i.payload.below.eq(below),
            packer.i.payload.tag.eq(tag),
            packer.i.payload.on_tag.eq(on_tag),
            packer.i.payload.rows.eq(rows),
            packer.i.payload.end.eq(end),
        ]

        # Flow: a stage takes what the one before it holds when it is empty or passes on its own. `ready` foresees
        # whether the first stage will be free: always, unless all are full and the packer has no room. Gaps close, so
        # the number of full stages tells, without the way through all of them.
        arrives, leaves = ready & self.i.valid, packer.i.valid & packer.i.ready
        moves = [valid[k] & free[k + 1] for k in range(final - 1)] + [passes & free[final], leaves]
        for k, comes in enumerate([arrives, *moves[:-1]]):
            # Whether the last stages move comes late.
            m.d.comb += free[k].eq(~Cat(valid[k:final - 1]).all() | free[final - 1] if k < final - 1 else
                                   ~valid[k] | moves[k])
            m.d.sync += valid[k].eq(comes | (valid[k] & ~moves[k]))
        full = Cat(valid).all()
        almost = Cat(~valid[k] & Cat(valid[:k], valid[k + 1:]).all() for k in range(depth)).any()
        fills = Mux(leaves, full & arrives, full | (almost & arrives))
        m.d.sync += ready.eq(~fills | (packer.room_next >= Mux(free[final], coming.rows, rows)))
        return m
