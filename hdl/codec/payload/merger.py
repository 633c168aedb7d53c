"""Puts the rows of a block in order: its metadata, which is line metadata and tags, then its data."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import WORD_BYTES, largest_payload, most_metadata
from cdma.hdl.codec.payload.row_packer import packed_row_layout
from cdma.hdl.common.beat import beat_stream
from cdma.hdl.common.bits import thermometer

__all__ = ["Merger", "packed_block_layout"]


def packed_block_layout(beat_bytes: int, sizes: tuple[int, ...], block_bytes: int, exponents: tuple[int, ...] = (),
                        for_lane: bool = False) -> data.StructLayout:
    """A block that is packed.

    ``coding``, ``raw_bytes`` and ``payload_bytes`` as in its header; ``cut``: its packet ended within an element, whose
    bytes were dropped. ``metadata_words``: words of 4 bytes of metadata in the payload. ``metadata_rows``: rows
    of them that were written for it, whether they are in the payload or not. The word with the length of a short block
    is not counted: it belongs to the header here. For a lane, ``elements``: those that are not zero, of raw blocks too.
    """
    counted = {"elements": range(block_bytes // min(sizes) + 1)} if for_lane else {}
    largest = largest_payload(block_bytes, sizes, exponents)
    metadata = most_metadata(block_bytes, sizes, exponents)
    return data.StructLayout({
        "coding": 8, "raw_bytes": range(block_bytes + 1), "payload_bytes": range(largest + 1), "cut": 1,
        "metadata_words": range(metadata // WORD_BYTES + 1), "metadata_rows": range(-(-metadata // beat_bytes) + 1),
        **counted})


class Merger(wiring.Component):
    """Sends the rows of a block's metadata, then those of its data.

    ::

        metadata ---+--> [row by row] --> o, block
        rows -------+

    Metadata and data follow each other without a gap: data are packed for their place. A row leaves in each cycle in
    which all is there that it takes: rows of metadata, then the last metadata with the first data, rows of data.

    A block with 19 words of metadata, and data, in rows of 8 words; ``m0`` is the first row of metadata::

        cycle            0      1      2      3                        4
        metadata taken          m0     m1     m2
        rows taken                            d0                       d1
        i, taken         x
        o                       m0     m1     m2.0 to m2.2, d0.3 to 7  d1

    Rows of metadata that are not in the payload, because the block stays raw, are dropped while its rows leave.

    Parameters
    ----------
    beat_bytes, block_bytes : int
        Bytes of a row, and of a block.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.
    exponents : tuple of int
        Those that can be coded with exponents.
    for_lane : bool
        Whether elements are counted beside a block.
    pipeline : str
        ``small`` or ``fast``: in ``fast``, rows of metadata are counted without waiting for whether one leaves.

    Members
    -------
    i : In(stream.Signature(packed_block_layout(beat_bytes, sizes, block_bytes, exponents, for_lane)))
        The blocks, in order.
    i_metadata : In(stream.Signature(8 * beat_bytes))
        Rows of metadata, as many as ``metadata_rows`` says.
    rows : In(stream.Signature(packed_row_layout(beat_bytes)))
        Rows of data; the first one has its data behind the metadata, if these end within a row.
    o : Out(beat_stream(beat_bytes))
        Payloads, each a packet.
    block : Out(packed_block_layout(beat_bytes, sizes, block_bytes, exponents, for_lane))
        Beside every beat of ``o``: its block.
    """

    i: stream.Interface
    i_metadata: stream.Interface
    rows: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int, exponents: tuple[int, ...] = (),
                 for_lane: bool = False, pipeline: str = "small"):
        self._pipeline = pipeline
        self._beat_bytes = beat_bytes
        layout = packed_block_layout(beat_bytes, tuple(sorted(sizes)), block_bytes, exponents, for_lane)
        super().__init__({
            "i": In(stream.Signature(layout)), "i_metadata": In(stream.Signature(8 * beat_bytes)),
            "rows": In(stream.Signature(packed_row_layout(beat_bytes))), "o": Out(beat_stream(beat_bytes)),
            "block": Out(layout),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self._beat_bytes
        shift, words = exact_log2(n), exact_log2(n // WORD_BYTES)
        coming = self.i.payload
        block = Signal.like(coming, name="block", reset_less=True)
        # A block is at hand; its payload has left, but rows of metadata are still to be dropped.
        active, sent = Signal(), Signal()
        # Rows with metadata that are still to leave, and those of its rows that are still to be taken.
        left = Signal(len(coming.metadata_words + ((1 << words) - 1) >> words), name="left", reset_less=True)
        untaken = Signal.like(coming.metadata_rows, name="untaken", reset_less=True)
        behind = Signal(range((1 << len(coming.payload_bytes)) >> shift), reset_less=True)
        final, has_data, has_bytes = (Signal(name=name, reset_less=True) for name in ("final", "has_data", "has_bytes"))
        takes, goes, pops = Signal(), Signal(), Signal()
        gone, less = untaken <= pops, untaken - pops
        if self._pipeline == "fast":
            gone, less = (untaken == 0) | ((untaken == 1) & pops), Mux(pops, untaken - 1, untaken)
        # The row has metadata; it has data behind them. Both are registered.
        on_metadata, mixed, reads = Signal(), Signal(), Signal()
        part, tail = block.metadata_words[:words], block.payload_bytes[:shift]
        m.d.comb += [
            self.block.eq(block),
            reads.eq((~on_metadata | mixed) & has_data),
            self.o.valid.eq(active & ~sent & (~on_metadata | self.i_metadata.valid) & (~reads | self.rows.valid)),
            goes.eq(self.o.valid & self.o.ready),
            self.rows.ready.eq(goes & reads),
            # Those that do not leave are dropped.
            self.i_metadata.ready.eq(Mux(on_metadata & ~sent, goes, active & (untaken != 0))),
            pops.eq(self.i_metadata.valid & self.i_metadata.ready),
            takes.eq(~active | ((sent | (goes & final)) & gone)),
            self.i.ready.eq(takes),
            self.o.payload.last.eq(final),
            self.o.payload.keep.eq(Mux(final & ((tail != 0) | ~has_bytes), Cat(thermometer(tail, n)), (1 << n) - 1)),
        ]
        tagged = Cat(thermometer(part, n // WORD_BYTES))
        for word in range(n // WORD_BYTES):
            place = slice(8 * WORD_BYTES * word, 8 * WORD_BYTES * (word + 1))
            m.d.comb += self.o.payload.data[place].eq(Mux(
                on_metadata & (~mixed | tagged[word]), self.i_metadata.payload[place], self.rows.payload.data[place]))
        m.d.sync += untaken.eq(Mux(takes, coming.metadata_rows, less))
        whole = coming.metadata_words >> words
        some = coming.metadata_words[:words].any()
        with m.If(takes):
            m.d.sync += [
                active.eq(self.i.valid), sent.eq(0), block.eq(coming),
                left.eq(whole + some), on_metadata.eq(coming.metadata_words != 0), mixed.eq((whole == 0) & some),
                behind.eq((coming.payload_bytes - 1) >> shift), final.eq(coming.payload_bytes <= n),
                has_data.eq(coming.payload_bytes > coming.metadata_words * WORD_BYTES),
                has_bytes.eq(coming.payload_bytes != 0),
            ]
        with m.Elif(goes):
            m.d.sync += [left.eq(left - on_metadata), on_metadata.eq(left > 1), mixed.eq((left == 2) & (part != 0)),
                         behind.eq(behind - 1), final.eq(behind == 1), sent.eq(final)]
        return m
