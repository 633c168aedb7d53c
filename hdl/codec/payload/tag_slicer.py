"""Cuts rows of tags into the masks of beats."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.coding import LINE_BYTES, element_layout, select
from hdl.codec.payload.unpacking import PayloadError, order_layout
from hdl.common.bits import pick

__all__ = ["TagSlicer", "slice_layout"]

_WORDS = 8
"""Words of a row of tags: a word has one bit per byte of a beat."""


def slice_layout(beat_bytes: int, sizes: tuple[int, ...]) -> data.StructLayout:
    """The tag bits of a beat.

    ``mask`` has one bit per unit; ``first`` and ``last`` mark the block's first and last beat; ``beyond`` is set on the
    last beat if its line has a 1 for an element behind this beat. The other fields are those of the order.
    """
    units = beat_bytes // min(sizes)
    position = exact_log2(units)
    return data.StructLayout({
        "mask": units, "first": 1, "last": 1, "beyond": 1, "tail": position, "start": position, "bare": 1,
        "error": PayloadError})


class TagSlicer(wiring.Component):
    """Gives the tag bits of one beat per cycle. A row of tags lasts 8 beats for each byte of an element.

    ::

        tags  --> [row of tags] --> word --> slice --> a bit per unit --> slice
                                     ^         ^
        order --> [order] --> [beats left, word, slice of it]

    The next row and the next order are taken in the cycle in which the last slice of the one before leaves: there is
    no gap between rows and blocks. Cycles, with a block of 8 beats that ends with its row, and another one behind it::

        cycle          0        1 ...    8        9
        tags.ready     1        0        1        0
        order.ready    1        0        1        0
        valid          0        1        1        1
        slice                   beat 0   beat 7   beat 0 of the next block

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat and of a row: 16, 32 or 64.
    sizes : tuple of int
        Element sizes in bytes that blocks may choose from, in ascending order.
    block_bytes : int
        Raw bytes of the largest block.

    Members
    -------
    order : In(stream.Signature(order_layout(beat_bytes, sizes, block_bytes)))
        The blocks.
    tags : In(stream.Signature(8 * beat_bytes))
        Their rows of tags; each block begins with a new row. A row may come before its order does. ``ready`` of both
        depends on ``move``.
    move : In(1)
        The slice is taken, if there is one.
    valid : Out(1)
        There is a slice.
    slice : Out(slice_layout(beat_bytes, sizes))
        The slice. Its mask is 0 while ``valid`` is low, and for an order with an error.
    """

    order: stream.Interface
    tags: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int):
        self._beat_bytes = beat_bytes
        self._sizes = sizes
        self._block_bytes = block_bytes
        super().__init__({
            "order": In(stream.Signature(order_layout(beat_bytes, sizes, block_bytes))),
            "tags": In(stream.Signature(8 * beat_bytes)),
            "move": In(1),
            "valid": Out(1),
            "slice": Out(slice_layout(beat_bytes, sizes)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, sizes = self._beat_bytes, self._sizes
        row = Signal(8 * n, reset_less=True)
        has_row, has_order, first = Signal(), Signal(), Signal()
        order = Signal(order_layout(n, sizes, self._block_bytes), reset_less=True)
        word = Signal(_WORDS, init=1)
        part = Signal(range(max(sizes)))
        # Registered for the clock's sake: the block has no rows; this is the last beat; this slice uses up its row.
        faulty, final, closes = Signal(), Signal(), Signal()
        word_ends, goes, ends = Signal(), Signal(), Signal()
        element = Signal(element_layout(sizes))
        coming = self.order.payload
        m.d.comb += [
            word_ends.eq(select(order.element, {size: part == size - 1 for size in sizes})),
            self.valid.eq(has_order & (has_row | faulty)),
            goes.eq(self.valid & self.move),
            ends.eq(self.move & closes & has_row),
            self.tags.ready.eq(~has_row | ends),
            self.order.ready.eq(~has_order | (goes & final)),
            # The element size as a mask: none without a slice.
            Value.cast(element).eq(Mux(has_order & has_row & ~faulty, Value.cast(order.element), 0)),
        ]
        with m.If(self.tags.ready):
            m.d.sync += [has_row.eq(self.tags.valid), row.eq(self.tags.payload)]
        with m.If(self.order.ready):
            fails = coming.error != PayloadError.OK
            m.d.sync += [has_order.eq(self.order.valid), order.eq(coming), first.eq(1), faulty.eq(fails),
                         final.eq(coming.beats == 0), closes.eq(self.order.valid & ~fails & (coming.beats == 0))]
        with m.Elif(goes):
            m.d.sync += [
                order.beats.eq(order.beats - 1), first.eq(0), final.eq(order.beats == 1),
                closes.eq((order.beats == 1) | (~closes & select(order.element, {
                    size: word[-1] & (part == size - 2) if size > 1 else word[-2] for size in sizes}))),
            ]
        with m.If(ends):
            m.d.sync += [part.eq(0), word.eq(1)]
        with m.Elif(goes & ~faulty):
            m.d.sync += part.eq(Mux(word_ends, 0, part + 1))
            with m.If(word_ends):
                m.d.sync += word.eq(word.rotate_left(1))

        words = [row.word_select(k, n) for k in range(_WORDS)]
        current = Signal(n)
        m.d.comb += [
            current.eq(pick(word, words)),
            self.slice.mask.eq(self._mask(current, part, element)),
            self.slice.beyond.eq(self._beyond(m, words, word, current, part, element)),
            self.slice.first.eq(first), self.slice.last.eq(final), self.slice.tail.eq(order.tail),
            self.slice.start.eq(order.start), self.slice.bare.eq(order.bare), self.slice.error.eq(order.error),
        ]
        return m

    def _mask(self, current: Value, part: Value, element: data.View) -> Value:
        """The slice, one bit per unit, as one sum of products for all element sizes."""
        n, sizes, grain = self._beat_bytes, self._sizes, min(self._sizes)
        units = n // grain
        mask: Value = Const(0, units)
        for size in sizes:
            for number in range(size):
                here = element[f"b{size}"] & (part[:exact_log2(size)] == number if size > 1 else 1)
                bits = current[number * n // size:(number + 1) * n // size]
                mask = mask | Mux(here, Cat(bits[unit * grain // size] for unit in range(units)), 0)
        return mask

    def _beyond(self, m: Module, words: Sequence[Value], word: Value, current: Value, part: Value, element: data.View
                ) -> Value:
        """Whether the line of the slice has a 1 behind it: in its word, or in later words of its line."""
        n = self._beat_bytes
        beats = LINE_BYTES // n
        some = Signal(_WORDS)
        m.d.comb += some.eq(Cat(each.any() for each in words))
        found: dict[int, Value] = {}
        for size in self._sizes:
            # A line has `beats` slices; a word has `size`.
            inside, across = min(size, beats), max(1, beats // size)
            behind = [_any(current[(number + 1) * n // size:(number // inside + 1) * inside * n // size])
                      for number in range(size)]
            later = [_any(some[k + 1:(k // across + 1) * across]) for k in range(_WORDS)]
            which = Cat(part[:exact_log2(size)] == number for number in range(size)) if size > 1 else Const(1, 1)
            found[size] = pick(which, behind) | pick(word, later)
        return select(element, found)


def _any(bits: Value) -> Value:
    """Whether one of the bits is set; there may be none."""
    return bits.any() if len(bits) else Const(0)
