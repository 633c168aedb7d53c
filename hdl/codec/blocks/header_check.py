"""Checks a block's header: coding, sequence, short or whole, length."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES, RAW_CODING, SHORT, WORD_BYTES, header_layout, largest_payload, tag_bytes

__all__ = ["HeaderCheck"]

_SHORT_BIT = exact_log2(SHORT)


class HeaderCheck(wiring.Component):
    """Checks the coding, sequence and length of headers.

    The payload of a raw block is exactly its raw bytes. A payload of zero-value coding is at least as long as its tags,
    and at most as long as tags and raw bytes. A payload of exponent coding is at least as long as its line headers,
    padded to words, and at most as long as these, tags and raw bytes. A length field is not counted. The check is
    combinational; the limits are registered, computed once per transfer in the three cycles from ``start`` on.

    Parameters
    ----------
    sizes : tuple of int
        Element sizes in bytes that blocks with zero-value coding may have.
    block_bytes : int
        Raw bytes of a block.
    exponents : tuple of int
        Those that blocks with exponent coding may have; each is one of ``sizes``, too.

    Members
    -------
    start : In(1)
        One cycle, after ``element``, ``exponents``, ``tail_bytes`` and ``halved`` were set. Headers are checked from
        three cycles later on.
    element : In(3)
        Element size in bytes of coded blocks.
    exponents : In(1)
        Coded blocks have exponent coding, else zero-value coding.
    tail_bytes : In(range(block_bytes + 1))
        Raw bytes of the last block, after narrowing.
    halved : In(1)
        All other blocks have half of ``block_bytes`` because their values were narrowed.
    header : In(header_layout())
        The header to check. Its payload bytes do not count a length field.
    sequence : In(8)
        The sequence it must have.
    final : In(1)
        It is the header of the last block.
    coding : Out(7)
        The coding that coded blocks must have, without the bit of a short block; registered one cycle after ``start``.
    bad : Out(1)
        The header is malformed.
    bad_coding, bad_sequence, bad_short, bad_length : Out(1)
        What is wrong; ``bad_short``: a whole block is marked as short, or the other way round. When several are set,
        the first in this order is the one to report.

    Source: the block stream of docs/formats.md.
    """

    def __init__(self, sizes: tuple[int, ...], block_bytes: int, exponents: tuple[int, ...] = ()):
        self._sizes = tuple(sorted(sizes))
        self._exponents = tuple(sorted(exponents))
        self._block_bytes = block_bytes
        super().__init__({
            "start": In(1), "element": In(3), "exponents": In(1), "tail_bytes": In(range(block_bytes + 1)),
            "halved": In(1), "header": In(header_layout()), "sequence": In(8), "final": In(1),
            "coding": Out(_SHORT_BIT), "bad": Out(1), "bad_coding": Out(1), "bad_sequence": Out(1), "bad_short": Out(1),
            "bad_length": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self._block_bytes
        steps = Signal(2)
        tail_lines = Signal(range(size // LINE_BYTES + 1))
        full = Mux(self.halved, size // 2, size)
        full_lines = Mux(self.halved, size // 2 // LINE_BYTES, size // LINE_BYTES)
        short_tail = Signal(reset_less=True)

        def limit(name: str) -> Signal:
            return Signal(range(largest_payload(size, self._sizes, self._exponents) + 1), name=name, reset_less=True)

        full_least, full_most = limit("full_least"), limit("full_most")
        tail_least, tail_most = limit("tail_least"), limit("tail_most")
        m.d.comb += tail_lines.eq((self.tail_bytes + (LINE_BYTES - 1)) >> exact_log2(LINE_BYTES))
        m.d.sync += steps.eq(Cat(self.start, steps[0]))
        with m.If(self.start):
            m.d.sync += [
                # Bit 4 is zero-value coding, bit 5 exponent coding.
                self.coding.eq(Cat(self.element, Const(0, 1), ~self.exponents, self.exponents)),
                short_tail.eq(self.tail_bytes != full),
            ]
        for lines, raw, least, most in ((full_lines, full, full_least, full_most),
                                        (tail_lines, self.tail_bytes, tail_least, tail_most)):
            tags = self._tags(lines)
            heads = (lines + (WORD_BYTES - 1)) >> exact_log2(WORD_BYTES) << exact_log2(WORD_BYTES)
            # The longest payload is summed up in two cycles, one sum in each.
            with m.If(self.start):
                m.d.sync += [least.eq(Mux(self.exponents, heads, tags)), most.eq(Mux(self.exponents, tags, 0))]
            with m.Elif(steps.any()):
                m.d.sync += most.eq(most + Mux(steps[0], raw, least))

        header = self.header
        raw = Signal()
        low, high = Signal.like(full_least), Signal.like(full_least)
        whole = Mux(self.final, self.tail_bytes, full)
        m.d.comb += [
            raw.eq(header.coding == RAW_CODING),
            low.eq(Mux(raw, whole, Mux(self.final, tail_least, full_least))),
            high.eq(Mux(raw, whole, Mux(self.final, tail_most, full_most))),
            self.bad_coding.eq(~raw & (header.coding[:_SHORT_BIT] != self.coding)),
            self.bad_sequence.eq(header.sequence != self.sequence),
            self.bad_short.eq(~raw & (header.coding[_SHORT_BIT] != (self.final & short_tail))),
            self.bad_length.eq((header.payload_bytes < low) | (header.payload_bytes > high)),
            self.bad.eq(self.bad_coding | self.bad_sequence | self.bad_short | self.bad_length),
        ]
        return m

    def _tags(self, lines: Value) -> Value:
        """Bytes of the tags of that many lines."""
        result = lines * tag_bytes(self._sizes[0])
        for element in self._sizes[1:]:
            result = Value.cast(Mux(self.element == element, lines * tag_bytes(element), result))
        return result
