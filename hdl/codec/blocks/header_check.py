"""Checks a block's header: coding, sequence, length."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.blocks.header import header_layout
from hdl.codec.coding import LINE_BYTES, RAW_CODING, largest_payload, tag_bytes

__all__ = ["HeaderCheck"]


class HeaderCheck(wiring.Component):
    """Checks the coding, sequence and length of headers.

    The payload of a raw block is exactly its raw bytes. The payload of a coded block is at least as long as all its
    tags, and at most as long as all its tags and all its elements. The check is combinational; the limits are
    registered, computed once per transfer in the two cycles from ``start`` on.

    Parameters
    ----------
    sizes : tuple of int
        Element sizes in bytes that coded blocks may have.
    block_bytes : int
        Raw bytes of a block.

    Members
    -------
    start : In(1)
        One cycle, after ``element`` and ``tail_bytes`` were set. Headers are checked from two cycles later on.
    element : In(3)
        Element size in bytes of coded blocks.
    tail_bytes : In(range(block_bytes + 1))
        Raw bytes of the last block, after narrowing.
    halved : In(1)
        All other blocks have half of ``block_bytes`` because their values were narrowed.
    header : In(header_layout())
        The header to check.
    sequence : In(8)
        The sequence it must have.
    final : In(1)
        It is the header of the last block.
    bad : Out(1)
        The header is malformed.
    bad_coding, bad_sequence, bad_length : Out(1)
        What is wrong. When several are set, the first in this order is the one to report.

    Source: the block stream of docs/formats.md.
    """

    def __init__(self, sizes: tuple[int, ...], block_bytes: int):
        self._sizes = tuple(sorted(sizes))
        self._block_bytes = block_bytes
        super().__init__({
            "start": In(1), "element": In(3), "tail_bytes": In(range(block_bytes + 1)), "halved": In(1),
            "header": In(header_layout()), "sequence": In(8), "final": In(1), "bad": Out(1),
            "bad_coding": Out(1), "bad_sequence": Out(1), "bad_length": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size, sizes = self._block_bytes, self._sizes

        def tags(lines: Value | int) -> Value:
            """Bytes of the tags of that many lines; ``element`` is one of ``sizes``."""
            result: Value | None = None
            for element in sizes:
                value = Value.cast(lines) << exact_log2(tag_bytes(element))
                result = value if result is None else Mux(self.element == element, value, result)
            assert result is not None
            return result

        lines = Signal(range(size // LINE_BYTES + 1))
        tail = self.tail_bytes
        full = Mux(self.halved, size // 2, size)
        m.d.comb += lines.eq((tail + (LINE_BYTES - 1)) >> exact_log2(LINE_BYTES))
        full_tags = Signal(range(largest_payload(size, sizes) + 1), reset_less=True)
        tail_tags = Signal.like(full_tags, reset_less=True)
        full_most = Signal.like(full_tags, reset_less=True)
        tail_most = Signal.like(full_tags, reset_less=True)
        with m.If(self.start):
            m.d.sync += [full_tags.eq(tags(full[exact_log2(LINE_BYTES):])), tail_tags.eq(tags(lines))]
        m.d.sync += [full_most.eq(full_tags + full), tail_most.eq(tail_tags + tail)]

        header = self.header
        raw = Signal()
        low, high = Signal.like(full_tags), Signal.like(full_tags)
        whole = Mux(self.final, tail, full)
        m.d.comb += [
            raw.eq(header.coding == RAW_CODING),
            low.eq(Mux(raw, whole, Mux(self.final, tail_tags, full_tags))),
            high.eq(Mux(raw, whole, Mux(self.final, tail_most, full_most))),
            self.bad_coding.eq(~raw & (header.coding != self.element)),
            self.bad_sequence.eq(header.sequence != self.sequence),
            self.bad_length.eq((header.payload_bytes < low) | (header.payload_bytes > high)),
            self.bad.eq(self.bad_coding | self.bad_sequence | self.bad_length),
        ]
        return m
