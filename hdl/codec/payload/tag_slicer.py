"""Cuts the words of tags into the masks of beats."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES, element_layout, select
from cdma.hdl.codec.line_record import GROUP_BYTES, GROUPS, group_layout
from cdma.hdl.codec.payload.unpacking import PayloadError, line_layout, order_layout, present_units, unit_bytes
from cdma.hdl.common.bits import pick

__all__ = ["TagSlicer", "slice_layout"]


def slice_layout(beat_bytes: int, sizes: tuple[int, ...], exponents: tuple[int, ...] = ()) -> data.StructLayout:
    """The tag bits of a beat.

    ``mask`` has one bit per unit; ``first`` and ``last`` mark the block's first and last beat; ``beyond`` is set on the
    last beat if its line has a 1 for an element behind this beat. ``tail``, ``start``, ``bare`` and ``error`` are those
    of the order. With exponents, ``coded`` is one-hot: the element size of a block that has them, 0 for zero-value
    coding; ``groups`` are those of the beat; ``bad`` is set in a line with a bad record.
    """
    units = beat_bytes // unit_bytes(sizes, exponents)
    position = exact_log2(units)
    facts = {"coded": element_layout(exponents), "bad": 1,
             "groups": data.ArrayLayout(group_layout(), beat_bytes // GROUP_BYTES)} if exponents else {}
    return data.StructLayout({
        "mask": units, "first": 1, "last": 1, "beyond": 1, "tail": position, "start": position, "bare": 1,
        "error": PayloadError, **facts})


class TagSlicer(wiring.Component):
    """Gives the tag bits of one beat per cycle. A word of tags is enough for as many beats as an element has bytes.

    ::

        words --> [word] ---> slice --> a bit per unit --> slice
                                ^             ^
        order --> [order] --> [beat]          |
        lines --> [line] ---------------------+--> groups

    A raw block has no tags: its slices are all ones, up to its last unit, and no word is taken for them.

    With exponents, a line of zeros and a dense line have no tag: their slices are all zeros and all ones, and no word
    is taken for them. ``lines`` is there in builds with exponents only.

    The next word, line and order are taken in the cycle in which the last slice of the one before leaves: there is no
    gap between words, lines and blocks. The last line of a short block may end with words that no beat uses. They are
    taken before the last slice leaves, one per cycle, because a 1 there is a fault. Cycles, with 32-byte beats and
    elements of 2 bytes, a block of one beat whose line has two words, ``a`` and ``b``, and another block behind it::

        cycle          0        1        2        3
        words          a        b        c
        words.ready    1        1        1        0
        order.ready    1        0        1        0
        valid          0        0        1        1
        slice                            beat 0   beat 0 of the next block

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat: 16, 32 or 64; with exponents 32 or 64.
    sizes : tuple of int
        Element sizes in bytes that blocks may choose from, in ascending order.
    block_bytes : int
        Raw bytes of the largest block.
    exponents : tuple of int, optional
        Those of the sizes that may have exponent coding, in ascending order.
    for_lane : bool
        Whether blocks may be raw.
    pipeline : str
        ``small``, or ``fast``: then the mask does not wait for ``valid``.

    Members
    -------
    order : In(stream.Signature(order_layout(beat_bytes, sizes, block_bytes, exponents, for_lane)))
        The blocks.
    words : In(stream.Signature(beat_bytes))
        The words of ``beat_bytes`` bits that hold tags of the block, each once. The tags of a block begin with a new
        word, or, with exponents, in its upper half if the order says so. A word may come before its order does.
        ``ready`` of all three streams depends on ``move``.
    lines : In(stream.Signature(line_layout()))
        The records of the lines of blocks with exponents.
    move : In(1)
        The slice is taken, if there is one.
    valid : Out(1)
        There is a slice.
    slice : Out(slice_layout(beat_bytes, sizes, exponents))
        The slice. Its mask is 0 while ``valid`` is low, in ``fast`` undefined, and 0 for an order with an error.

    Source: docs/formats.md, "Tags first" and "Exponents".
    """

    order: stream.Interface
    words: stream.Interface
    lines: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int, exponents: tuple[int, ...] = (),
                 for_lane: bool = False, pipeline: str = "small"):
        self._pipeline = pipeline
        self._beat_bytes = beat_bytes
        self._sizes = sizes
        self._block_bytes = block_bytes
        self._exponents = exponents
        self._for_lane = for_lane
        self._beats = LINE_BYTES // beat_bytes
        super().__init__({
            "order": In(stream.Signature(order_layout(beat_bytes, sizes, block_bytes, exponents, for_lane))),
            "words": In(stream.Signature(beat_bytes)),
            **({"lines": In(stream.Signature(line_layout()))} if exponents else {}),
            "move": In(1),
            "valid": Out(1),
            "slice": Out(slice_layout(beat_bytes, sizes, exponents)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, sizes = self._beat_bytes, self._sizes
        coming = self.order.payload
        order = Signal.like(coming, name="order_held", reset_less=True)
        word = Signal(n, reset_less=True)
        has_order, has_word, first = Signal(), Signal(), Signal()
        # Registered for the clock's sake: the block has no rows; this is the last beat.
        faulty, final = Signal(), Signal()
        # The beat in its line, and the slice in its word.
        beat = Signal(range(self._beats))
        part = beat if self._beats > 2 else Signal(2, name="part", reset_less=True)
        goes = Signal()
        # A line without a tag; a line with one, and its word is here; words behind the last beat are still to come;
        # nothing of the word is left; the word goes at the block's end though the last line has no tag.
        untagged, tagged, waits, used_up, drops = Signal(), Signal(), Signal(), Signal(), Signal()
        known, tagless, dense = self._line(m, order, has_order & ~faulty, final, beat, goes)
        every = dense.replicate(len(self.slice.mask))
        if self._for_lane:
            # Of a raw block, all units that there are.
            raw = Signal()
            m.d.comb += raw.eq(has_order & ~faulty & order.raw)
            tagless = tagless | raw
            every = every | (raw.replicate(len(every)) & (present_units(order.tail, len(every)) | (~final).replicate(
                len(every))))
        if self._exponents or self._for_lane:
            m.d.comb += untagged.eq(tagless)
        element, ends = Signal(element_layout(sizes)), Signal()
        sliced = has_order & ~faulty & ~untagged if self._pipeline == "fast" else tagged & ~waits
        m.d.comb += [
            tagged.eq(has_order & ~faulty & known & ~untagged & has_word),
            self.valid.eq((has_order & faulty) | untagged | (tagged & ~waits)),
            goes.eq(self.valid & self.move),
            used_up.eq(select(order.element, {
                size: part[:exact_log2(size)].all() if size > 1 else Const(1) for size in sizes})),
            ends.eq(self.move & ((tagged & ~waits & (final | used_up)) | drops)),
            self.words.ready.eq(~has_word | ends | (tagged & waits)),
            self.order.ready.eq(~has_order | (goes & final)),
            # The element size as a mask: none without a slice of a tag.
            Value.cast(element).eq(Mux(sliced, Value.cast(order.element), 0)),
        ]
        with m.If(~has_word | ends):
            m.d.sync += [has_word.eq(self.words.valid), word.eq(self.words.payload)]
        with m.If(self.order.ready):
            m.d.sync += [has_order.eq(self.order.valid), order.eq(coming), first.eq(1), beat.eq(0),
                         faulty.eq(coming.error != PayloadError.OK), final.eq(coming.beats == 0)]
        with m.Elif(goes):
            m.d.sync += [order.beats.eq(order.beats - 1), first.eq(0), beat.eq(beat + 1), final.eq(order.beats == 1)]
        if part is not beat:
            self._parts(m, part, goes, tagged, used_up, untagged & final, drops)

        m.d.comb += [
            self.slice.mask.eq(self._mask(word, part, element) | every),
            self.slice.beyond.eq(self._behind(word, part, beat, element) | (dense & ~beat.all())
                                 | self._later(m, order.element, part, beat, tagged & final, waits)),
            self.slice.first.eq(first), self.slice.last.eq(final), self.slice.tail.eq(order.tail),
            self.slice.start.eq(order.start), self.slice.bare.eq(order.bare), self.slice.error.eq(order.error),
        ]
        return m

    def _line(self, m: Module, order: data.View, has_block: Value, final: Value, beat: Value, goes: Value
              ) -> tuple[Value, Value, Value]:
        """Holds the line's record, if the block has exponents: whether what the slice needs of it is known; whether the
        line has no tag; and whether it is dense."""
        if not self._exponents:
            return Const(1), Const(0), Const(0)
        line, has_line, here = Signal(line_layout(), reset_less=True), Signal(), Signal()
        record, dense = line.record, Signal()
        m.d.comb += [
            here.eq(has_block & order.exponents & has_line),
            dense.eq(here & record.dense & ~record.zero),
            self.lines.ready.eq(~has_line | (goes & here & (final | beat.all()))),
            Value.cast(self.slice.coded).eq(Mux(
                order.exponents, Cat(order.element[f"b{size}"] for size in self._exponents), 0)),
            self.slice.bad.eq(here & line.bad),
        ]
        with m.If(self.lines.ready):
            m.d.sync += [has_line.eq(self.lines.valid), line.eq(self.lines.payload)]
        groups = GROUPS // self._beats
        less = record.less.as_value().word_select(beat, 2 * groups)
        for number in range(groups):
            group = self.slice.groups[number]
            m.d.comb += [group.signs.eq(record.signs), group.escape.eq(record.escape), group.base.eq(record.base),
                         group.width.eq(record.width - less.word_select(number, 2))]
        return ~order.exponents | has_line, here & (record.zero | record.dense), dense

    def _parts(self, m: Module, part: Signal, goes: Value, tagged: Value, used_up: Value, leaves: Value, drops: Signal
               ) -> None:
        """The slice of a word that lines share, with beats of half a line; ``leaves``: the last line has no tag."""
        coming = self.order.payload
        opened = Signal()
        m.d.comb += drops.eq(leaves & opened)
        with m.If(self.order.ready):
            m.d.sync += [part.eq(0), opened.eq(0)]
            if self._exponents:
                with m.If(coming.exponents & coming.half):
                    m.d.sync += part.eq(select(coming.element, {size: size // 2 for size in self._sizes}))
        with m.Elif(goes & tagged):
            m.d.sync += [part.eq(Mux(used_up, 0, part + 1)), opened.eq(~used_up)]

    def _mask(self, word: Value, part: Value, element: data.View) -> Value:
        """The slice, one bit per unit, as one sum of products for all element sizes."""
        n, units = self._beat_bytes, len(self.slice.mask)
        mask: Value = Const(0, units)
        for size in self._sizes:
            for number in range(size):
                here = element[f"b{size}"] & (part[:exact_log2(size)] == number if size > 1 else 1)
                bits = word[number * n // size:(number + 1) * n // size]
                mask = mask | Mux(here, Cat(bits[unit * n // units // size] for unit in range(units)), 0)
        return mask

    def _behind(self, word: Value, part: Value, beat: Value, element: data.View) -> Value:
        """Whether the word has a 1 of this line behind the slice."""
        n = self._beat_bytes
        found: list[Value] = []
        for size in self._sizes:
            # A line has so many slices of a word at most; where it has as many as beats, none is behind the last beat.
            inside = min(size, self._beats)
            behind = [word[(number + 1) * n // size:(number // inside + 1) * inside * n // size].any()
                      for number in range(size)]
            which = Cat(part[:exact_log2(size)] == number for number in range(size)) if size > 1 else Const(1, 1)
            found.append(pick(which, behind))
        return pick(element.as_value(), found) & ~beat.all()

    def _later(self, m: Module, element: data.View, part: Value, beat: Value, closes: Value, waits: Signal) -> Value:
        """Has the line's words behind the one of the last slice taken; whether there was a 1 in them.

        A line that begins inside a word ends in the first half of the next one.
        """
        words: dict[int, Value] = {size: (~beat)[exact_log2(size):] for size in self._sizes}
        halves = self._beats == 2 and 2 in self._exponents
        if halves:
            words[2] = part[0] & ~beat
        most = max(len(count) for count in words.values())
        if not most:
            return Const(0)
        seen, found = Signal(most), Signal()
        coming = self.words.payload
        some = Mux(element.b2, coming[:len(coming) // 2].any(), coming.any()) if halves else coming.any()
        m.d.comb += waits.eq(closes & (select(element, words) != seen))
        with m.If(self.order.ready):
            m.d.sync += [seen.eq(0), found.eq(0)]
        with m.Elif(waits & self.words.valid):
            m.d.sync += [seen.eq(seen + 1), found.eq(found | some)]
        return found
