"""The zero-value compressor: raw beats in, tags and non-zero elements out."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES, element_layout, one_hot_element, select, tag_bytes
from cdma.hdl.codec.lines.packer import Packer, end_layout
from cdma.hdl.codec.packets import ErrorCode, coded_beat_stream
from cdma.hdl.codec.routing import Gather, Ranks, Steer, swap_layout
from cdma.hdl.codec.scan import Scan
from cdma.hdl.common.beat import beat_stream
from cdma.hdl.common.bits import thermometer

__all__ = ["Compressor"]


def _found_layout() -> data.StructLayout:
    """State of a beat: ``tagged``: a tag goes before it; ``none``: its packet has no whole element; ``ragged``: it ends
    inside an element."""
    return data.StructLayout({"tagged": 1, "none": 1, "ragged": 1})


class _Stages:
    """The stages of a build for a beat, a set of element sizes and ``small`` or ``fast``, and the registers that every
    stage has.

    ``counted``, ``routed``, ``gathered``, ``waits`` and ``final`` are numbers of stages: stage ``counted`` holds the
    counts, ``routed`` the swap bits, ``gathered`` the bytes on their lanes; in ``waits`` the first beat of a line
    waits for its tag; ``final`` is the last stage. With ``many`` units, counts and the tag are registered separately,
    which adds a stage. Of the beat in stage 0 there are the bytes that are ``present``, and whether it ``opens`` its
    line, and is the first of its packet (``fresh``).
    """

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], pipeline: str) -> None:
        self.units, self.beats = beat_bytes // min(sizes), LINE_BYTES // beat_bytes
        self.many = self.units > 8 and pipeline == "fast"
        self.counted, self.routed, self.gathered = (2, 3, 4) if self.many else (1, 2, 3)
        self.final = max(self.gathered, self.beats if self.many else self.beats - 1)
        self.waits = self.final - 1 if self.many else self.final
        marks = data.StructLayout({"element": element_layout(sizes), "closes": 1, "last": 1})
        stages = range(self.final + 1)
        self.valid = [Signal(name=f"valid_{k}") for k in stages]
        self.free = [Signal(name=f"free_{k}") for k in stages]
        self.body = [Signal(8 * beat_bytes, name=f"body_{k}", reset_less=True) for k in stages]
        self.mark: list[Any] = [Signal(marks, name=f"mark_{k}", reset_less=True) for k in stages]
        self.present = Signal(beat_bytes, name="present", reset_less=True)
        self.opens, self.fresh = (Signal(name=name, reset_less=True) for name in ("opens", "fresh"))
        self.tags = [Signal(self.units, name=f"tags_{k}", reset_less=True) for k in stages]


class Compressor(wiring.Component):
    """Compresses packets by zero-value coding, one raw beat per cycle.

    ::

             +-------+   +------+   +-------+   +--------+        +--------+   +--------+
        i -->| input |-->| scan |-->| route |-->| gather |--...-->| packer |-->| output |--> o, error
             +-------+   +------+   +-------+   +--------+        +--------+   +--------+
                0           1           2          3       delay   last           rows
                            |                                        ^
                            +---- slices of the tag, kept beat by beat, joined here

    A tag goes before its line's first element but is known only when the line's last beat has been scanned. The
    pipeline is as long as a line: when the first beat reaches the packer, the last one has just been scanned. The wait
    for the tag therefore costs neither a buffer nor a cycle. Stages close gaps, so a source that idles in mid-line
    does not delay lines that are complete.

    Stages by cycle, for a line of four beats ``a`` to ``d`` (beats of 32 bytes, pipeline ``small``)::

        cycle                0    1    2    3    4    5    6    7
        taken                a    b    c    d
        0 input                   a    b    c    d
        1 mask                         a    b    c    d
        2 swap bits                         a    b    c    d
        3 on their lanes                         a    b    c    d     to the packer
                                                 d is scanned in this cycle: the tag is complete, a may leave

    Latency: the first packed beat of a line leaves 3 cycles after the line's last raw beat was taken if the bytes
    packed by then fill it. A beat that is not full leaves when the packet ends or the next line fills it, at most the
    number of stages plus one cycles after the last raw beat. Throughput: 1 raw beat per cycle, unless the packed side
    is full.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat on both sides: 16, 32 or 64.
    element_bytes : tuple of int
        Element sizes that packets may choose from: one or more of 1, 2, 4.
    pipeline : str
        ``small`` or ``fast``: ``fast`` adds a stage for counting, except where a beat has at most 8 units.

    Members
    -------
    i : In(coded_beat_stream(beat_bytes))
        Raw beats. An element size that is not built counts as the largest one built.
    o : Out(beat_stream(beat_bytes))
        Packed beats: lines back to back, each a tag and its non-zero elements.
    error : Out(ErrorCode)
        Valid beside the last beat of ``o``: ``OK``, or ``TRAILING_BYTES`` when the packet was not a multiple of the
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
        n, grain = self._beat_bytes, min(self._sizes)
        p = _Stages(n, self._sizes, self._pipeline)
        m.submodules.scan = scan = Scan(n, self._sizes)
        m.submodules.ranks = ranks = Ranks(n, grain)
        m.submodules.steer = steer = Steer(n, grain)
        m.submodules.gather = gather = Gather(n, grain)
        m.submodules.packer = packer = Packer(n, grain)
        wiring.connect(m, wiring.flipped(self.o), packer.o)
        m.d.comb += self.error.eq(packer.error)

        ready = Signal()
        self._input(m, p, ready)
        found, mask = self._scanned(m, p, scan)
        m.d.comb += ranks.mask.eq(mask)
        swap, spot = self._routed(m, p, steer, ranks, found)
        self._gathered(m, p, gather, swap, spot)
        coming = spot[p.final - 1]
        passes = Signal()
        tag, complete = self._line_tag(m, p)
        rows = self._packed(m, p, packer, coming, passes, tag, complete)
        fills = self._flow(m, p, packer, passes, ready & self.i.valid)
        m.d.sync += ready.eq(~fills | (packer.room_next >= Mux(p.free[p.final], coming.rows, rows)))
        return m

    def _input(self, m: Module, p: _Stages, ready: Value) -> None:
        """Stage 0: registers the beat and its place in the line."""
        index = Signal(exact_log2(p.beats))
        between = Signal(init=1)
        m.d.comb += self.i.ready.eq(ready)
        with m.If(ready):
            m.d.sync += [
                p.body[0].eq(self.i.payload.data),
                p.present.eq(self.i.payload.keep),
                p.mark[0].last.eq(self.i.payload.last),
                p.mark[0].closes.eq(self.i.payload.last | (index == p.beats - 1)),
                p.opens.eq(index == 0),
                p.fresh.eq(between),
            ]
            with m.If(between):
                m.d.sync += p.mark[0].element.eq(one_hot_element(self.i.payload.element, self._sizes))
            with m.If(self.i.valid):
                m.d.sync += [
                    index.eq(Mux(self.i.payload.last, 0, index + 1)),
                    between.eq(self.i.payload.last),
                ]

    def _scanned(self, m: Module, p: _Stages, scan: Scan) -> tuple[Any, Signal]:
        """Stage 1: registers the mask of non-zero units and the slice of the tag."""
        m.d.comb += [
            scan.data.eq(p.body[0]),
            scan.present.eq(p.present | (~p.mark[0].last).replicate(self._beat_bytes)),
            scan.element.eq(p.mark[0].element),
            p.tags[0].eq(scan.slice),
        ]
        found = Signal(_found_layout(), reset_less=True)
        mask = Signal(p.units, reset_less=True)
        with m.If(p.free[1]):
            m.d.sync += [
                mask.eq(scan.mask),
                found.tagged.eq(p.opens & scan.some),
                found.none.eq(p.fresh & ~scan.some),
                found.ragged.eq(scan.ragged),
            ]
        return found, mask

    def _routed(self, m: Module, p: _Stages, steer: Steer, ranks: Ranks,
                found: Any) -> tuple[Any, dict[int, Any]]:
        """Where the bytes go: the swap bits and the place in the rows, passed on to the later stages.

        ``head`` is the last used unit of the open row. A full row stays open until the next byte arrives. A packet
        begins as if the row before it were full: ``head`` is then the last unit.
        """
        n, sizes, grain = self._beat_bytes, self._sizes, min(self._sizes)
        position = exact_log2(p.units)
        before, count = ranks.before, ranks.count
        if p.many:
            before, halves = Signal.like(ranks.before, reset_less=True), Signal.like(ranks.halves, reset_less=True)
            first_found, found = found, Signal(_found_layout(), name="found_2", reset_less=True)
            with m.If(p.free[p.counted]):
                m.d.sync += [before.eq(ranks.before), halves.eq(ranks.halves), found.eq(first_found)]
            count = halves[0] + halves[1]
        mark = p.mark[p.counted]
        head = Signal(position, init=p.units - 1)
        tag_units = Signal(range(tag_bytes(grain) // grain + 1))
        total = Signal(position + 2)
        m.d.comb += [
            tag_units.eq(Mux(found.tagged, select(mark.element, {
                size: Const(tag_bytes(size) // grain, len(tag_units)) for size in sizes}), 0)),
            steer.before.eq(before),
            steer.start.eq(head + tag_units + 1),
            # The critical loop: `head` is added last.
            total.eq(head + (tag_units + count)),
        ]
        swap = Signal(swap_layout(n, grain), reset_less=True)
        spot_layout = data.StructLayout({
            "head": position, "tag_units": len(tag_units), "rows": 2, "end": end_layout(n, grain)})
        spot = {k: Signal(spot_layout, name=f"spot_{k}", reset_less=True) for k in range(p.routed, p.final)}
        with m.If(p.free[p.routed]):
            m.d.sync += [
                swap.eq(steer.swap),
                spot[p.routed].head.eq(head),
                spot[p.routed].tag_units.eq(tag_units),
                spot[p.routed].rows.eq(total[position:] | found.none),
                spot[p.routed].end.last.eq(mark.last),
                spot[p.routed].end.units.eq(total + 1),
                spot[p.routed].end.none.eq(found.none),
                spot[p.routed].end.ragged.eq(found.ragged),
            ]
            with m.If(p.valid[p.counted]):
                m.d.sync += head.eq(total[:position] | mark.last.replicate(position))
        return swap, spot

    def _gathered(self, m: Module, p: _Stages, gather: Gather, swap: Signal, spot: dict[int, Any]) -> None:
        """Moves the bytes to their lanes; later stages only delay them until the tag is known."""
        m.d.comb += [gather.i.eq(p.body[p.routed]), gather.swap.eq(swap)]
        for k in range(1, p.final + 1):
            with m.If(p.free[k]):
                m.d.sync += [
                    p.body[k].eq(gather.o if k == p.gathered else p.body[k - 1]),
                    p.mark[k].eq(p.mark[k - 1]),
                    p.tags[k].eq(p.tags[k - 1]),
                ]
                if k in spot and k > p.routed:
                    m.d.sync += spot[k].eq(spot[k - 1])

    def _line_tag(self, m: Module, p: _Stages) -> tuple[Value, Value]:
        """The tag of the line in stage ``waits``, joined from the slices of its beats, and whether all have come."""
        n, beats, waits = self._beat_bytes, p.beats, p.waits
        line = [p.mark[waits - k].closes for k in range(beats)]
        complete = Cat(line[k] & Cat(Const(1), *p.valid[waits - k:waits]).all() for k in range(beats)).any()
        absent = Signal(beats)
        tag = Signal(8 * tag_bytes(min(self._sizes)))
        m.d.comb += [
            absent.eq(Cat(Cat(line[:k]).any() for k in range(beats))),
            tag.eq(select(p.mark[waits].element, {
                size: Cat(p.tags[waits - k][:n // size] | absent[k].replicate(n // size) for k in range(beats))
                for size in self._sizes})),
        ]
        return tag, complete

    def _packed(self, m: Module, p: _Stages, packer: Packer, coming: Any, passes: Signal, tag: Value,
                complete: Value) -> Signal:
        """The last stage: drives the packer; lane masks are decoded one stage earlier. Returns the rows it needs."""
        final, grain, position = p.final, min(self._sizes), exact_log2(p.units)
        below = Signal(p.units, reset_less=True)
        on_tag = Signal(p.units, reset_less=True)
        tagged = Signal(reset_less=True)
        rows = Signal(2, reset_less=True)
        end = Signal(end_layout(self._beat_bytes, grain), reset_less=True)
        tag_end = Signal(position + 1)
        older = Signal(p.units)
        until = Signal(p.units)
        m.d.comb += [
            tag_end.eq(coming.head + coming.tag_units),
            older.eq(Cat(Const(1), thermometer(coming.head, p.units - 1))),
            until.eq(Cat(Const(1), thermometer(tag_end[:position], p.units - 1))),
        ]
        with m.If(p.free[final]):
            m.d.sync += [
                # The packer requires all ones when there is no beat.
                below.eq(older | (~passes).replicate(p.units)),
                on_tag.eq(Mux(tag_end[position], ~older | until, ~older & until)
                          & (coming.tag_units != 0).replicate(p.units)),
                tagged.eq(coming.tag_units != 0),
                rows.eq(coming.rows),
                end.eq(coming.end),
            ]
        if p.many:
            whole_tag, tag = tag, Signal.like(tag, name="tag_final", reset_less=True)
            with m.If(p.free[final]):
                m.d.sync += tag.eq(whole_tag)
            m.d.comb += [
                passes.eq(p.valid[p.waits] & ((coming.tag_units == 0) | complete)),
                packer.i.valid.eq(p.valid[final]),
            ]
        else:
            m.d.comb += [
                passes.eq(p.valid[final - 1]),
                packer.i.valid.eq(p.valid[final] & (~tagged | complete)),
            ]
        # Counted in units, a tag as long as a unit needs no rotation.
        turn = Signal(position, reset_less=True)
        with m.If(p.free[final]):
            m.d.sync += turn.eq(coming.head + 1)
        for rank in range(exact_log2(tag_bytes(grain) // grain)):
            turned = Signal.like(tag, name=f"tag_turned_{rank}")
            m.d.comb += turned.eq(Mux(turn[rank], tag.rotate_left(8 * grain << rank), tag))
            tag = turned
        m.d.comb += [
            packer.i.payload.lanes.eq(p.body[final]),
            packer.i.payload.below.eq(below),
            packer.i.payload.tag.eq(tag),
            packer.i.payload.on_tag.eq(on_tag),
            packer.i.payload.rows.eq(rows),
            packer.i.payload.end.eq(end),
        ]
        return rows

    def _flow(self, m: Module, p: _Stages, packer: Packer, passes: Value, arrives: Value) -> Value:
        """Moves beats from stage to stage; returns whether all stages are full in the next cycle.

        A stage loads from the one before it when it is empty or its own beat moves on. `ready` is registered: it
        predicts whether the first stage will be free, which it is unless all stages are full and the packer has no
        room. Gaps close, so it is enough to know whether all stages will be full; no path runs through all of them.
        """
        valid, free, final = p.valid, p.free, p.final
        leaves = packer.i.valid & packer.i.ready
        moves = [valid[k] & free[k + 1] for k in range(final - 1)] + [passes & free[final], leaves]
        for k, comes in enumerate([arrives, *moves[:-1]]):
            # Whether the last stages move settles late in the cycle, so earlier stages do not depend on it.
            m.d.comb += free[k].eq(~Cat(valid[k:final - 1]).all() | free[final - 1] if k < final - 1 else
                                   ~valid[k] | moves[k])
            m.d.sync += valid[k].eq(comes | (valid[k] & ~moves[k]))
        full = Cat(valid).all()
        almost = Cat(~valid[k] & Cat(valid[:k], valid[k + 1:]).all() for k in range(final + 1)).any()
        return Mux(leaves, full & arrives, full | (almost & arrives))
