"""Writes the metadata of blocks that are coded with exponents: records of lines, lengths, and rows with tags."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Shape, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES, WORD_BYTES
from cdma.hdl.codec.line_record import line_record_layout
from cdma.hdl.codec.payload.line_metadata import LineMetadata
from cdma.hdl.codec.payload.metadata_packer import SECTIONS, MetadataPacker, joining_layout
from cdma.hdl.codec.payload.tag_writer import group_counts_layout
from cdma.hdl.common.protected import protection, stream_fifo
from cdma.hdl.common.skid import Skid
from cdma.hdl.common.sram import LEAST_BITS

__all__ = ["FACT_CYCLES", "MetadataWriter", "metadata_lengths_layout"]

FACT_CYCLES = {32: 11, 64: 9}
"""Cycles from a block's last beat until the lengths of its line metadata are known, by the bytes of a beat."""

_BLOCKS = 2
"""Blocks that may have ended without their line metadata being joined."""

_MORE_LINES = 8
"""Lines beside those of the raw store: those that are not whole, and the one that is packed."""


def metadata_lengths_layout(block_bytes: int) -> data.StructLayout:
    """Lengths of a block that is coded with exponents: ``words`` of line metadata, of 4 bytes; bytes of ``rests``."""
    words = -(-SECTIONS * (block_bytes // LINE_BYTES) // WORD_BYTES)
    return data.StructLayout({"words": range(words + 1), "rests": range(block_bytes // 2 + 1)})


class MetadataWriter(wiring.Component):
    """Looks at the beats of a block on their way into the raw store, and gives what its coding needs.

    ::

                 +----------+---------------------> [FIFO] --> records
        beats -->| line     |---------------------> [sums] --> lengths
        groups ->| metadata |     +----------+
                 +----------+---->| metadata |
        joining ----------------->| packer   |--------------> rows
        tags -------------------->|          |
                                  +----------+

    =====  ==========================================================================================
    cycle  for the last beat of a block, taken in cycle 0; 32 bytes a beat
    =====  ==========================================================================================
    0      ``take``, ``data``, ``last``, ``wide``, ``empty``; ``waits`` if its last line is not whole
    2      ``groups``, from the tag writer
    7      its last record is on ``records``, at the earliest
    11     its ``lengths``
    =====  ==========================================================================================

    With beats of 64 bytes the lengths come in cycle 9. If beats are missing in the last line of the block, all but
    cycle 0 and 2 is so many cycles later. Rows come when ``joining`` has asked for them. Throughput: a beat per cycle.

    Parameters
    ----------
    beat_bytes, block_bytes : int
        Bytes of a beat, 32 or 64, and of a block at most.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.
    exponents : tuple of int
        Those that can be coded with exponents.
    lines : int
        Whole lines that may have come without their records being taken.
    pipeline : str
        ``small`` or ``fast``, of the packer of metadata; ``fast`` also has a skid buffer behind the records.
    protected : bool, optional
        With parity.

    Members
    -------
    take, data, present, last, wide, empty : In, waits : Out(1), groups : In
        As those of :class:`cdma.hdl.codec.payload.line_metadata.LineMetadata`: beats of blocks that are coded with
        exponents, and ``groups`` of the tag writer. If ``waits``, no beat of any block may be taken in the next cycle.
    records : Out(stream.Signature(line_record_layout()))
        A record for each line, in order: for all lines that have a beat.
    joining : In(stream.Signature(joining_layout(sizes, block_bytes)))
        As ``i`` of :class:`cdma.hdl.codec.payload.metadata_packer.MetadataPacker`: all blocks,
        those without line metadata as well.
    tags : In(stream.Signature(8 * beat_bytes))
        Their rows of tags.
    rows : Out(stream.Signature(8 * beat_bytes))
        Metadata, in rows: those of a block begin a row. What is behind their last word is undefined.
    lengths : Out(stream.Signature(metadata_lengths_layout(block_bytes)))
        Lengths of each block. At most two blocks may have ended without them being taken.
    inject : In(3), bad : Out(1)
        If ``protected``, for the records, for the bytes of line metadata and for the rows: as
        :func:`cdma.hdl.common.protected.protection` says.

    Source: docs/formats.md, "Exponents".
    """

    records: stream.Interface
    joining: stream.Interface
    tags: stream.Interface
    rows: stream.Interface
    lengths: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int, exponents: tuple[int, ...],
                 lines: int, pipeline: str = "small", protected: bool = False):
        self._protected = protected
        self._beat_bytes = beat_bytes
        self._block_bytes = block_bytes
        self._shape = beat_bytes, sizes, block_bytes, exponents
        self._lines = lines
        self._pipeline = pipeline
        super().__init__({
            "take": In(1), "data": In(8 * beat_bytes), "present": In(beat_bytes // 2), "last": In(1), "wide": In(1),
            "empty": In(1), "waits": Out(1),
            "groups": In(group_counts_layout(beat_bytes)),
            "joining": In(stream.Signature(joining_layout(sizes, block_bytes))),
            "tags": In(stream.Signature(8 * beat_bytes)),
            "records": Out(stream.Signature(line_record_layout())), "rows": Out(stream.Signature(8 * beat_bytes)),
            "lengths": Out(stream.Signature(metadata_lengths_layout(block_bytes))), **protection(protected, 3),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Fewer records would not make a memory, but registers.
        depth = max(self._lines + _MORE_LINES, -(-LEAST_BITS // Shape.cast(line_record_layout()).width))
        m.submodules.line = line = LineMetadata(self._beat_bytes, self._block_bytes, pipeline=self._pipeline)
        m.submodules.kept = kept = stream_fifo(line_record_layout(), 1 << (depth - 1).bit_length(), self._protected)
        m.submodules.packer = packer = MetadataPacker(*self._shape, self._pipeline, self._protected)
        if self._protected:
            m.d.comb += [Cat(kept.inject, packer.inject).eq(self.inject), self.bad.eq(kept.bad | packer.bad)]
        if self._pipeline == "fast":
            # Memories show late what they hold.
            m.submodules.shown = shown = Skid(line_record_layout())
            wiring.connect(m, kept.o, shown.i)
            wiring.connect(m, shown.o, wiring.flipped(self.records))
        else:
            wiring.connect(m, kept.o, wiring.flipped(self.records))
        wiring.connect(m, wiring.flipped(self.joining), packer.i)
        wiring.connect(m, wiring.flipped(self.tags), packer.tags)
        wiring.connect(m, packer.o, wiring.flipped(self.rows))
        m.d.comb += [
            *(getattr(line, name).eq(getattr(self, name))
              for name in ("take", "data", "present", "last", "wide", "empty", "groups")),
            kept.i.valid.eq(line.done), kept.i.payload.eq(line.record),
            packer.done.eq(line.done), packer.final.eq(line.final),
            packer.there.eq(line.there.replicate(SECTIONS) & (1 | line.has_base << 1 | line.has_widths << 2)),
            packer.bytes[0].eq(line.header), packer.bytes[1].eq(line.record.base),
            packer.bytes[2].eq(line.record.less),
        ]
        # Blocks that have ended and are not joined yet.
        ended, ends = Signal(range(_BLOCKS + 1)), Signal()
        m.d.comb += [ends.eq(self.take & self.last), self.waits.eq(line.waits | (ended + ends >= _BLOCKS))]
        m.d.sync += ended.eq(ended + ends - packer.joined)
        self._lengths(m, line)
        return m

    def _lengths(self, m: Module, line: LineMetadata) -> None:
        """Adds up the bytes of line metadata, and sends their words with the bytes of rests."""
        out = self.lengths.payload
        most = SECTIONS * (self._block_bytes // LINE_BYTES)
        count, words = Signal(range(most + 1)), Signal.like(out.words, name="words", reset_less=True)
        fresh, final = Signal(init=1), Signal()
        m.d.sync += final.eq(line.done & line.final)
        with m.If(line.done):
            more = line.there + line.has_base + line.has_widths
            m.d.sync += [count.eq(Mux(fresh, 0, count) + more), fresh.eq(line.final)]
        with m.If(final):
            m.d.sync += words.eq((count + (WORD_BYTES - 1)) >> exact_log2(WORD_BYTES))
        # While the lengths of one block are there, those of the next stay where they are: no third one has come so far.
        held, waits, moves = Signal(), Signal(), Signal()
        found = Signal.like(out, name="found", reset_less=True)
        m.d.comb += [moves.eq((line.block_done | waits) & (~held | self.lengths.ready)),
                     self.lengths.valid.eq(held), out.eq(found)]
        m.d.sync += [waits.eq((line.block_done | waits) & ~moves), held.eq(moves | (held & ~self.lengths.ready))]
        with m.If(moves):
            m.d.sync += [found.words.eq(words), found.rests.eq(line.rests)]
