"""Finds the line metadata: its record, header, base and widths, and how many bytes its rests take."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.codec.line_record import GROUP_BYTES, GROUPS, WHOLE_WIDTH, line_record_layout
from cdma.hdl.codec.payload.exponent_range import ExponentRange
from cdma.hdl.codec.payload.tag_writer import group_counts_layout
from cdma.hdl.common.bits import length, pick

__all__ = ["LineMetadata"]

_WHOLE = 7
"""Bits of a distance that are too many: the line takes whole exponents. This is the width in the header, too."""

_LESS = 3
"""Most bits that a group may have less than its line."""


class LineMetadata(wiring.Component):
    """Looks at the groups of a line, and says at its end how it is coded.

    ::

                 +--------+   +---------+   +------------+   +--------+
        data --->| ranges |-->| 4 groups|-->| bits wanted|-->| record |--> done, record, header
                 +--------+   +---------+   +------------+   +--------+
        groups -------------------^               |
                                                  v
                                      [p] --> [m * p / 8] --> [sum] --> block_done, rests

    A line always takes as many cycles as it has beats, also if its block ends within it: groups that are missing are
    counted as zeros by themselves, and no beat may come meanwhile (``waits``). The largest exponent of a line is known
    with its last group, so its groups wait in registers until then. What their distances need is found for all four at
    once, and how many bytes their rests take for the groups of a beat in each cycle.

    =====  =====================================================================================
    cycle  for the last beat of a line, taken in cycle 0; 32 bytes a beat (64)
    =====  =====================================================================================
    0      ``take``, ``data``, ``last``, ``wide``, ``empty``
    2      its ranges are found; ``groups``
    3      all groups are registered
    4      bits that each group wants
    5      ``done`` with ``record``, ``header`` and the flags of the line
    10     (8) ``block_done`` with ``rests``, if the line was the last of its block
    =====  =====================================================================================

    If beats are missing in the last line of a block, it is so many cycles more.

    Parameters
    ----------
    beat_bytes, block_bytes : int
        Bytes of a beat, 32 or 64, and of a block at most.
    pipeline : str
        ``small`` or ``fast``.

    Members
    -------
    take : In(1)
        A beat of a block that is coded with exponents is transferred.
    data : In(8 * beat_bytes)
        The beat.
    present : In(beat_bytes // 2)
        Which 2 bytes of it belong to whole elements, without gaps from bit 0 on; the others may be anything.
    last : In(1)
        The beat is the block's last.
    wide : In(1)
        float32 instead of bfloat16.
    empty : In(1)
        The beat has no whole element: the packet has none, or has ended within an element.
    waits : Out(1)
        No beat, of any coding, may be taken in the next cycle. Follows from ``take`` and ``last`` within the cycle.
    groups : In(group_counts_layout(beat_bytes))
        Elements that are not zero in each group of a beat, two cycles after it.
    done : Out(1)
        A line has ended; the following are valid, and stay until the next line is done.
    record : Out(line_record_layout())
        The line, for those who pack its values.
    header : Out(8)
        Its byte of header.
    there : Out(1)
        The line belongs to the block. It does not if it began with a beat that has no whole element; then it has a
        record all the same, but no header.
    has_base, has_widths : Out(1)
        The line has a byte of base, ``record.base``, or of widths, ``record.less``.
    final : Out(1)
        It is the block's last line.
    block_done : Out(1)
        The data of the block have been counted.
    rests : Out(range(block_bytes // 2 + 1))
        Bytes that the rests of the block take, with ``block_done``. Its mantissas take a byte less than an element for
        each element that is not zero.

    Source: docs/formats.md, "Exponents".
    """

    def __init__(self, beat_bytes: int, block_bytes: int, pipeline: str = "small"):
        self._beat_bytes = beat_bytes
        self._pipeline = pipeline
        super().__init__({
            "take": In(1), "data": In(8 * beat_bytes), "present": In(beat_bytes // 2), "last": In(1), "wide": In(1),
            "empty": In(1), "waits": Out(1),
            "groups": In(group_counts_layout(beat_bytes)),
            "done": Out(1), "record": Out(line_record_layout()), "header": Out(8), "there": Out(1),
            "has_base": Out(1), "has_widths": Out(1), "final": Out(1),
            "block_done": Out(1), "rests": Out(range(block_bytes // 2 + 1)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        complete, groups, counts, common = self._line(m)
        step, widths, facts = self._measured(m, complete, groups, common)
        width = self._record(m, step, widths, counts, facts)
        self._sum(m, step, widths, counts, width, facts)
        return m

    def _line(self, m: Module) -> tuple[Signal, Any, Any, Any]:
        """The groups of a line, with what they have in common, once all are there."""
        beats, side = LINE_BYTES // self._beat_bytes, self._beat_bytes // GROUP_BYTES
        # Where the next beat is in its line, and cycles for which beats are still missing.
        position, missing = Signal(range(beats)), Signal(range(beats))
        short = Signal()
        more = missing > 1 if beats > 2 else Const(0)
        m.d.comb += [short.eq(self.take & self.last & ~position.all()), self.waits.eq(short | more)]
        with m.If(self.take):
            m.d.sync += position.eq(Mux(self.last, 0, position + 1))
        m.d.sync += missing.eq(Mux(short, ~position, missing - missing.any()))

        beat: Any = Signal(data.StructLayout({"last": 1, "wide": 1, "empty": 1}))
        m.d.comb += [beat.last.eq(self.last), beat.wide.eq(self.wide), beat.empty.eq(self.empty)]
        came: Value = self.take
        for stage in range(2):
            (came, earlier), (beat, before) = (Signal(name=f"came_{stage}"), came), (
                Signal.like(beat, name=f"beat_{stage}", reset_less=True), beat)
            m.d.sync += [came.eq(earlier), beat.eq(before)]
        found = []
        for group in range(side):
            m.submodules[f"range_{group}"] = part = ExponentRange(self._pipeline)
            m.d.comb += [part.data.eq(self.data.word_select(group, 8 * GROUP_BYTES)),
                         part.present.eq(self.present.word_select(group, GROUP_BYTES // 2)), part.wide.eq(self.wide)]
            found.append(part.found)

        place, fills = Signal(range(beats)), Signal()
        takes, begins, complete = Signal(), Signal(), Signal()
        m.d.comb += [takes.eq(came | fills), begins.eq(place == 0)]
        m.d.sync += complete.eq(takes & place.all())
        with m.If(takes):
            m.d.sync += [place.eq(place + 1), fills.eq((fills | beat.last) & ~place.all())]
        groups = Signal(data.ArrayLayout(data.StructLayout({"smallest": 8, "live": 1}), GROUPS), reset_less=True)
        # Counts come a cycle later to their places, and are read a cycle later.
        counts = Signal(data.ArrayLayout(self.groups.shape().elem_shape, GROUPS), reset_less=True)
        counted = Signal.like(self.groups, name="counted", reset_less=True)
        counts_at, counts_come = Signal.like(place, name="counts_at", reset_less=True), Signal()
        m.d.sync += [counted.eq(self.groups.as_value() & came.replicate(len(self.groups.as_value()))),
                     counts_at.eq(place), counts_come.eq(takes)]
        common = Signal(data.StructLayout({"largest": 8, "live": 1, "signs": 1, "tiny": 1, "some": 1, "dense": 1,
                                           "there": 1, "final": 1}), reset_less=True)
        for group in range(GROUPS):
            part = found[group % side]
            with m.If(takes & (place == group // side)):
                m.d.sync += [groups[group].smallest.eq(part.smallest), groups[group].live.eq(part.live & came)]
            with m.If(counts_come & (counts_at == group // side)):
                m.d.sync += counts[group].eq(counted[group % side])
        largest = Mux(begins, 0, common.largest)
        for part in found:
            largest = _larger(m, largest, Mux(came, part.largest, 0))
        with m.If(takes):
            m.d.sync += [
                common.largest.eq(largest),
                *(common[name].eq((common[name] & ~begins) | (came & Cat(part[name] for part in found).any()))
                  for name in ("live", "signs", "tiny")),
                common.some.eq((common.some & ~begins) | (came & Cat(self.groups).any())),
                common.dense.eq((common.dense | begins) & came & Cat(
                    Mux(beat.wide, count[-2], count[-1]) for count in self.groups).all()),
                common.final.eq(fills | beat.last),
            ]
            with m.If(begins):
                m.d.sync += common.there.eq(~beat.empty)
        return complete, groups, counts, common

    def _measured(self, m: Module, complete: Signal, groups: Any, common: Any) -> tuple[Signal, Any, Any]:
        """Bits that the distances of each group want, for as many cycles as the line has beats: the next groups first
        in each."""
        beats, side = LINE_BYTES // self._beat_bytes, self._beat_bytes // GROUP_BYTES
        step = Signal(beats)
        widths = Signal(data.ArrayLayout(3, GROUPS), reset_less=True)
        facts = Signal(data.StructLayout({"largest": 8, "escape": 1, "signs": 1, "some": 1, "dense": 1, "there": 1,
                                          "final": 1}), reset_less=True)
        escape = common.tiny & common.live
        m.d.sync += step.eq(Mux(complete, 1, step << 1))
        for group in range(GROUPS):
            distance = Signal(8, name=f"distance_{group}")
            m.d.comb += distance.eq(common.largest - groups[group].smallest + escape)
            m.d.sync += widths[group].eq(Mux(complete, _bits(distance) & groups[group].live.replicate(3),
                                             widths[(group + side) % GROUPS]))
        with m.If(complete):
            m.d.sync += [facts.escape.eq(escape),
                         *(facts[name].eq(common[name])
                           for name in ("largest", "signs", "some", "dense", "there", "final"))]
        return step, widths, facts

    def _record(self, m: Module, step: Signal, widths: Any, counts: Any, facts: Any) -> Signal:
        """Registers the record of the line; its width."""
        width, whole, narrower, stores = Signal(3), Signal(), Signal(), Signal()
        # The base of the last line that had one, if the block has had any.
        base, had = Signal(8, reset_less=True), Signal()
        fast = self._pipeline == "fast"
        pairs = [] if fast else [_larger(m, widths[k], widths[k + 1]) for k in (0, 2)]
        less = [Mux(short[2], _LESS, short[:2] | short[2].replicate(2))
                for short in (_difference(m, width, each) for each in widths)]
        kept = narrower & ~whole
        m.d.comb += [
            width.eq(length(Cat(_largest(widths), 0))[:3] if fast else _larger(m, *pairs)),
            whole.eq(width == _WHOLE),
            narrower.eq(Cat((each != width) & count.any() for each, count in zip(widths, counts, strict=True)).any()),
            stores.eq(facts.some & ~whole),
            self.record.base.eq(base | self.record.width[3].replicate(8)),
            self.has_widths.eq(self.record.less.as_value().any()),
            self.header.eq(Cat(self.record.width[:3] | self.record.width[3].replicate(3), self.record.signs,
                               self.record.dense, self.record.escape, self.has_widths, self.has_base)
                           | self.record.zero.replicate(8)),
        ]
        m.d.sync += self.done.eq(step[0])
        with m.If(step[0]):
            m.d.sync += [
                self.record.zero.eq(~facts.some), self.record.dense.eq(facts.dense), self.record.signs.eq(facts.signs),
                self.record.escape.eq(facts.escape & ~whole),
                self.record.width.eq(Mux(whole, WHOLE_WIDTH, width)),
                *(self.record.less[k].eq(less[k] & kept.replicate(2)) for k in range(GROUPS)),
                self.has_base.eq(stores & (facts.largest != (base & had.replicate(8)))),
                self.there.eq(facts.there), self.final.eq(facts.final),
                had.eq((had | stores) & ~facts.final),
            ]
        with m.If(step[0] & stores):
            m.d.sync += base.eq(facts.largest)
        return width

    def _sum(self, m: Module, step: Signal, widths: Any, counts: Any, width: Signal, facts: Any) -> None:
        """Adds up the bytes of the rests, the groups of a beat in each cycle."""
        side = self._beat_bytes // GROUP_BYTES
        rest_bytes = []
        for group in range(side):
            bits, rest = Signal(4, name=f"bits_{group}"), Signal(4, name=f"rest_{group}", reset_less=True)
            elements = Signal.like(counts[group], name=f"elements_{group}", reset_less=True)
            taken = Signal.like(elements, name=f"bytes_{group}", reset_less=True)
            if self._pipeline == "fast":
                own, line = _steps(widths[group]), _largest(widths)
                flags = Cat(own | line[_LESS:], 0) | line[-1].replicate(WHOLE_WIDTH)
                m.d.comb += bits.eq(length(flags))
                less = length(Cat(flags[1:], 0))
            else:
                least = Mux(width > _LESS, width - _LESS, 0)
                m.d.comb += bits.eq(Mux(width == _WHOLE, WHOLE_WIDTH, _larger(m, widths[group], least[:3])))
                less = bits - bits.any()
            product = (Mux(rest[0], elements, 0) + Mux(rest[1], elements << 1, 0)) + Mux(rest[2], elements << 2, 0)
            m.d.sync += [rest.eq(Mux(facts.signs, bits, less)),
                         elements.eq(pick(step, [Value.cast(counts[k]) for k in range(group, GROUPS, side)])),
                         taken.eq(Mux(rest[3], elements, (product + 7) >> 3))]
            rest_bytes.append(taken)
        flags = Signal(2)
        m.d.comb += flags.eq(Cat(step.any(), step[-1] & facts.final))
        for stage in range(2):
            flags, earlier = Signal(2, name=f"flags_{stage}"), flags
            m.d.sync += flags.eq(earlier)
        adds, ends = flags
        fresh = Signal(init=1)
        m.d.sync += self.block_done.eq(ends)
        with m.If(adds):
            m.d.sync += [self.rests.eq(Mux(fresh, Const(0), self.rests) + sum(rest_bytes, Const(0))), fresh.eq(ends)]


def _larger(m: Module, a: Value, b: Value) -> Value:
    """The larger one of two numbers of the same width."""
    found = Signal(max(len(Value.cast(a)), len(Value.cast(b))), name="larger")
    m.d.comb += found.eq(Mux(a > b, a, b))
    return found


def _steps(number: Value) -> Value:
    """A flag for each of 1, 2, 3, ... that the number reaches, by logic: tools for FPGAs compare with a carry chain,
    which takes longer for a few bits."""
    steps: list[Value] = []
    for bit in number:
        steps = [*(bit | step for step in steps), bit, *(bit & step for step in steps)]
    return Cat(steps)


def _largest(numbers: Any) -> Value:
    """The flags of :func:`_steps` of the largest number."""
    return reduce(or_, map(_steps, numbers))


def _difference(m: Module, a: Value, b: Value) -> Signal:
    """How much the first number is above the second one, which is not larger."""
    found = Signal(len(a), name="difference")
    m.d.comb += found.eq(a - b)
    return found


def _bits(distance: Signal) -> Value:
    """Bits that a distance needs; 7 if it needs more than 6."""
    top = [distance[k] & ~distance[k + 1:].any() for k in range(6)]
    many = distance[6:].any()
    return Cat(Cat(top[0], top[2], top[4]).any(), Cat(top[1], top[2], top[5]).any(),
               Cat(top[3], top[4], top[5]).any()) | many.replicate(3)
