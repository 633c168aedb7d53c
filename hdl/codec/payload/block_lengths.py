"""The lengths of a block: what its payload takes, coded or raw, and where its data begin."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import (
    EXPONENTS,
    LINE_BYTES,
    RAW_CODING,
    SHORT,
    TAGS_FIRST,
    WORD_BYTES,
    element_layout,
    largest_payload,
    most_metadata,
    select,
    tag_rows,
    tag_words,
)
from cdma.hdl.codec.payload.block_reader import packing_layout
from cdma.hdl.codec.payload.merger import packed_block_layout
from cdma.hdl.codec.payload.metadata_writer import metadata_lengths_layout

__all__ = ["BlockLengths", "length_steps", "scanned_layout"]


def length_steps(*, exponents: bool) -> int:
    """Cycles from the one in which a block is taken until its lengths are known: one for each register they pass."""
    return 6 if exponents else 5


def scanned_layout(beat_bytes: int, sizes: tuple[int, ...], block_bytes: int, exponents: tuple[int, ...] = (),
                   for_lane: bool = False) -> data.StructLayout:
    """A block in the store.

    ``beats``: its raw beats less one; ``tail``: units of the last one, of the smallest element size; ``element``,
    ``fallback`` as in its packet; ``cut``: the packet ended within an element; ``elements``: those that are not zero.
    With exponents, ``recorded``: it is to be coded with exponents; ``lines``: lines that have a tag in the rows. For a
    lane, ``leave_raw`` and ``halved`` as in its packet.
    """
    more = {"recorded": 1, "lines": range(block_bytes // LINE_BYTES + 1)} if exponents else {}
    if for_lane:
        more |= {"leave_raw": 1, "halved": 1}
    return data.StructLayout({
        "beats": range(block_bytes // beat_bytes), "tail": range(beat_bytes // min(sizes) + 1),
        "element": element_layout(sizes), "fallback": 1, "cut": 1,
        "elements": range(block_bytes // min(sizes) + 1), **more})


class BlockLengths(wiring.Component):
    """Decides how a block is sent, once it is known how many elements and line metadata it has.

    ::

                 +-------+   +------------+   +-------+   +-----+   +--------+---> o
        i ------>| bytes |-->| data, tags |-->| coded |-->| raw |-->| block  |
        facts -->|       |   |            |   | bytes |   |     |   |        |---> packing
                 +-------+   +------------+   +-------+   +-----+   +--------+

    Each step is a register, and follows from those before it. The block stays where it is until the last one is right:
    5 cycles, with exponents 6. One block at a time.

    Parameters
    ----------
    beat_bytes, block_bytes : int
        Bytes of a beat, and of a block.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.
    exponents : tuple of int
        Those that can be coded with exponents.
    for_lane : bool
        Whether a block says that it is left raw, and that whole blocks have half of ``block_bytes``.

    Members
    -------
    i : In(stream.Signature(scanned_layout(beat_bytes, sizes, block_bytes, exponents, for_lane)))
        Blocks in the store.
    facts : In(stream.Signature(metadata_lengths_layout(block_bytes)))
        What line metadata and rests take, for each block that is ``recorded``. Only with ``exponents``.
    o : Out(stream.Signature(packed_block_layout(beat_bytes, sizes, block_bytes, exponents, for_lane)))
        The block for the merger. Both outputs transfer in the same cycle: each one's ``valid`` follows from the other
        one's ``ready``.
    packing : Out(stream.Signature(packing_layout(beat_bytes, sizes, block_bytes, exponents)))
        The block for the reader of raw beats.

    Source: docs/formats.md, "Tags first" and "Exponents".
    """

    i: stream.Interface
    facts: stream.Interface
    o: stream.Interface
    packing: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int, exponents: tuple[int, ...] = (),
                 for_lane: bool = False):
        self._beat_bytes = beat_bytes
        self._sizes = sizes
        self._block_bytes = block_bytes
        self._exponents = exponents
        self._for_lane = for_lane
        shape = beat_bytes, sizes, block_bytes, exponents
        members = {
            "i": In(stream.Signature(scanned_layout(*shape, for_lane))),
            "o": Out(stream.Signature(packed_block_layout(*shape, for_lane))),
            "packing": Out(stream.Signature(packing_layout(*shape))),
        }
        if exponents:
            members["facts"] = In(stream.Signature(metadata_lengths_layout(block_bytes)))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, sizes = self._beat_bytes, self._sizes
        block: Any = Signal.like(self.i.payload, name="block", reset_less=True)
        steps = length_steps(exponents=bool(self._exponents))
        age = Signal(range(steps + 1))
        held, settled, sends = Signal(), Signal(), Signal()
        takes, there = Signal(), Signal()
        found: Any = Signal.like(self.o.payload, name="found", reset_less=True)
        coded_bytes = Signal.like(found.payload_bytes, name="coded_bytes", reset_less=True)
        raw_bytes = found.raw_bytes
        raw, before = Signal(reset_less=True), Signal.like(self.packing.payload.before, name="before", reset_less=True)
        longer = Signal(range(largest_payload(self._block_bytes, sizes, self._exponents) + WORD_BYTES + 1),
                        reset_less=True)
        # Bytes of a whole block, and whether the block stays raw.
        whole = Mux(block.halved, self._block_bytes // 2, self._block_bytes) if self._for_lane else self._block_bytes
        short = raw_bytes != whole
        stays = block.fallback & (longer >= raw_bytes)
        if self._for_lane:
            stays = stays | block.leave_raw
            m.d.sync += found.elements.eq(block.elements)
        m.d.comb += [
            takes.eq(~held | sends),
            there.eq(self.facts.valid | ~self.i.payload.recorded if self._exponents else 1),
            self.i.ready.eq(takes & there),
            settled.eq(held & (age == steps)),
            sends.eq(settled & self.o.ready & self.packing.ready),
            self.o.valid.eq(settled & self.packing.ready), self.o.payload.eq(found),
            self.packing.valid.eq(settled & self.o.ready),
        ]
        data_bytes, metadata, coding = self._coded(m, block, takes, found, raw)
        m.d.sync += [
            raw_bytes.eq((block.beats << exact_log2(n)) + block.tail * sizes[0]),
            coded_bytes.eq(data_bytes + metadata * WORD_BYTES),
            # The word that says how long a short block is counts as well.
            longer.eq(data_bytes + (metadata + short) * WORD_BYTES),
            raw.eq(stays & (raw_bytes != 0)),
            found.coding.eq(Mux(raw, RAW_CODING, coding | Mux(short, SHORT, 0))),
            found.payload_bytes.eq(Mux(raw, raw_bytes, coded_bytes)),
            found.cut.eq(block.cut),
            before.eq(Mux(raw, 0, (metadata * WORD_BYTES >> exact_log2(n) - len(before))[:len(before)]) - 1),
        ]
        with m.If(takes):
            m.d.sync += [held.eq(self.i.valid & there), block.eq(self.i.payload), age.eq(0)]
        with m.Elif(~settled):
            m.d.sync += age.eq(age + 1)
        order: Any = self.packing.payload
        m.d.comb += [order.raw.eq(raw), order.element.eq(block.element), order.before.eq(before),
                     order.beats.eq(block.beats), order.empty.eq(block.tail == 0)]
        return m

    def _coded(self, m: Module, block: Any, takes: Signal, found: Any, raw: Signal) -> tuple[Value, Value, Value]:
        """If the block is coded: bytes of its data, words in front of them, and its coding number."""
        n, sizes, exponents = self._beat_bytes, self._sizes, self._exponents
        raw_bytes = found.raw_bytes
        data_bytes = Signal(range(self._block_bytes + 1), reset_less=True)
        # Words of tags.
        words = Signal(range(most_metadata(self._block_bytes, sizes) // WORD_BYTES + 1), reset_less=True)
        whole_lines = (raw_bytes >> exact_log2(LINE_BYTES)) + raw_bytes[:exact_log2(LINE_BYTES)].any()
        coding = select(block.element, {size: Const(TAGS_FIRST[size], 8) for size in sizes})
        elements = select(block.element, {size: block.elements * size for size in sizes})
        if not exponents:
            m.d.sync += [
                data_bytes.eq(elements),
                words.eq(tag_words(block.element, whole_lines, sizes)),
                found.metadata_words.eq(Mux(raw, 0, words)),
                found.metadata_rows.eq(select(block.element, {
                    size: (block.beats >> exact_log2(8 * size)) + 1 for size in sizes})),
            ]
            return data_bytes, words, coding

        facts: Any = Signal.like(self.facts.payload, name="held_facts", reset_less=True)
        mantissas = Signal.like(data_bytes, name="mantissas", reset_less=True)
        metadata = Signal.like(found.metadata_words, name="metadata", reset_less=True)
        rows = Signal.like(found.metadata_rows, name="rows", reset_less=True)
        recorded = block.recorded
        lines = Mux(recorded, block.lines, whole_lines)
        taken = self.i.payload.recorded
        m.d.comb += self.facts.ready.eq(takes & self.i.valid & taken)
        with m.If(takes):
            m.d.sync += [part.eq(Mux(taken, value, 0)) for part, value in (
                (facts.words, self.facts.payload.words), (facts.rests, self.facts.payload.rests))]
        m.d.sync += [
            # Mantissas have a byte less than elements.
            mantissas.eq(elements - Mux(recorded, block.elements, 0)),
            data_bytes.eq(mantissas + facts.rests),
            words.eq(tag_words(block.element, lines, sizes)),
            metadata.eq(words + facts.words),
            found.metadata_words.eq(Mux(raw, 0, metadata)),
            # Lines that have begun have a tag in the rows, also if their only beat has no whole element.
            rows.eq(tag_rows(block.element, block.lines, sizes, n)),
            found.metadata_rows.eq(Mux(recorded, (metadata + (n // WORD_BYTES - 1)) >> exact_log2(n // WORD_BYTES),
                                       rows)),
        ]
        m.d.comb += self.packing.payload.recorded.eq(recorded)
        coded = {size: Const(EXPONENTS.get(size, 0) if size in exponents else 0, 8) for size in sizes}
        return data_bytes, metadata, Mux(recorded, select(block.element, coded), coding)
