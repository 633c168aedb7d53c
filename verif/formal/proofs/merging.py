"""Proofs of what puts the rows of a block in order, or cuts them: against the format of a payload."""

from __future__ import annotations

from types import SimpleNamespace

from amaranth.hdl import Cat, Mux, Signal, Value
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import WORD_BYTES, largest_payload, most_metadata
from cdma.hdl.codec.payload.merger import Merger, packed_block_layout
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.waiting import moves

__all__ = ["PROOFS"]

_WORD = 8 * WORD_BYTES


def _merger(n: int, sizes: tuple[int, ...], block_bytes: int) -> Harness:
    """Beats of each block: words of its metadata by number, then words of its data by number."""
    h = Harness()
    m = h.m
    dut = h.add("dut", Merger(n, sizes, block_bytes))
    for stream, name in ((dut.i, "i"), (dut.i_metadata, "metadata"), (dut.rows, "rows")):
        h.drive(stream, name)
    beat = dut.o.payload
    # Bytes that are not kept mean nothing.
    known = beat.data & Cat(bit.replicate(8) for bit in beat.keep)
    h.keeps(SimpleNamespace(valid=dut.o.valid, ready=dut.o.ready, payload=Cat(known, beat.keep, beat.last)), "o")
    words, shift = n // WORD_BYTES, exact_log2(n)
    low = exact_log2(words)
    layout = packed_block_layout(n, sizes, block_bytes)
    coming = dut.i.payload
    offered = dut.i.valid
    h.assume("payload_has_its_metadata", ~offered | (coming.payload_bytes >= coming.metadata_words * WORD_BYTES))
    h.assume("rows_have_the_metadata", ~offered | (coming.metadata_rows >= (coming.metadata_words + words - 1) >> low))
    h.assume("as_long_as_may_be", ~offered | (
        (coming.payload_bytes <= largest_payload(block_bytes, sizes)) & (coming.metadata_rows <= -(
            -most_metadata(block_bytes, sizes) // n))))

    # The block that was taken last, and its beats and rows so far.
    open_, block = Signal(name="block_is_open"), Signal(layout, name="block_here", reset_less=True)
    beats, metadata, rows = (Signal(range(largest_payload(block_bytes, sizes) // n + 2), name=name)
                             for name in ("beats", "metadata", "rows"))
    done = Signal(name="payload_is_done")
    sends, ends = moves(dut.o), moves(dut.o) & beat.last
    with m.If(dut.i.ready):
        m.d.sync += [open_.eq(dut.i.valid), block.eq(coming), *(count.eq(0) for count in (beats, metadata, rows, done))]
    with m.Else():
        m.d.sync += [beats.eq(beats + sends), metadata.eq(metadata + moves(dut.i_metadata)),
                     rows.eq(rows + moves(dut.rows)), done.eq(done | ends)]
    h.check("block_beside_beats", ~dut.o.valid | (Value.cast(dut.block) == Value.cast(block)))
    h.check("only_of_a_block", ~(dut.o.valid | dut.i_metadata.ready | dut.rows.ready) | open_)
    h.check("one_payload", ~dut.o.valid | ~done)

    # What a beat is made of.
    length, first_row = block.payload_bytes, block.metadata_words >> low
    here = beats << low
    takes_metadata, takes_rows = Signal(name="takes_metadata"), Signal(name="takes_rows")
    m.d.comb += [takes_metadata.eq(here < block.metadata_words),
                 takes_rows.eq((((beats + 1) << low) > block.metadata_words) & (length > block.metadata_words * 4))]
    for word in range(words):
        index = here + word
        shown, other = (Value.cast(value).word_select(word, _WORD) for value in (
            beat.data, Mux(index < block.metadata_words, dut.i_metadata.payload, dut.rows.payload.data)))
        h.check(f"word_{word}", ~dut.o.valid | (index * WORD_BYTES >= length) | (shown == other))
    h.check("metadata_by_number", ~dut.o.valid | ~takes_metadata | (dut.i_metadata.valid & (metadata == beats)))
    h.check("rows_by_number", ~dut.o.valid | ~takes_rows | (dut.rows.valid & (rows + first_row == beats)))
    h.check("metadata_go_with_their_beat", ~sends | ~takes_metadata | dut.i_metadata.ready)
    h.check("rows_go_with_their_beat", dut.rows.ready == (sends & takes_rows))
    h.check("last_is_at_the_end", ~dut.o.valid | (beat.last == (length <= (beats + 1) << shift)))
    h.check("beats_have_bytes", ~dut.o.valid | (beats == 0) | (length > beats << shift))
    kept = Cat(length > (beats << shift) + place for place in range(n))
    h.check("bytes_of_last", ~dut.o.valid | ~beat.last | (beat.keep == kept))
    whole = metadata + moves(dut.i_metadata) == block.metadata_rows
    h.check("metadata_are_taken_whole", ~open_ | ~dut.i.ready | (whole & (done | ends)))

    # What the registers mean, for the induction.
    active, on_metadata, mixed = (h.inner(f"dut.{name}") for name in ("active", "on_metadata", "mixed"))
    sent, untaken, left, final, behind, has_data, has_bytes = (h.inner(f"dut.{name}") for name in (
        "sent", "untaken", "left", "final", "behind", "has_data", "has_bytes"))
    going = open_ & ~done
    h.check("open_is_active", (active == open_) & (~open_ | (sent == done)))
    h.check("block_is_kept", ~open_ | (Value.cast(h.inner("dut.block")) == Value.cast(block)))
    h.check("block_is_whole", ~open_ | ((length >= block.metadata_words * WORD_BYTES) & (block.metadata_rows >= (
        block.metadata_words + words - 1) >> low)))
    h.check("lengths_are_told", ~open_ | ((has_bytes == (length != 0)) & (
        has_data == (length > block.metadata_words * WORD_BYTES))))
    h.check("beat_is_inside", ~going | (beats == 0) | (length > beats << shift))
    h.check("metadata_left", ~going | (left == Mux(
        takes_metadata, first_row + block.metadata_words[:low].any() - beats, 0)))
    h.check("metadata_are_on", ~going | (on_metadata == takes_metadata))
    h.check("both_in_a_beat", ~going | (mixed == (takes_metadata & (((beats + 1) << low) > block.metadata_words))))
    h.check("beats_left", ~going | (length == 0) | (behind == ((length - 1) >> shift) - beats))
    h.check("final_is_last", ~going | (final == (length <= (beats + 1) << shift)))
    h.check("untaken_are_left", ~open_ | (
        (untaken + metadata == block.metadata_rows) & (untaken <= block.metadata_rows)))
    h.check("metadata_so_far", ~going | ~takes_metadata | (metadata == beats))
    h.check("rows_so_far", ~going | Mux(has_data & (beats > first_row), rows + first_row == beats, rows == 0))
    h.cover("metadata_and_data_in_a_beat", sends & takes_metadata & takes_rows)
    h.cover("dropped", open_ & done & ~dut.i.ready & moves(dut.i_metadata))
    h.cover("second_block_ends", ends & (block.metadata_words != 0) & h.past(ends, "ended"))
    return h


PROOFS = (
    Proof("merger_16", "hdl/codec/payload/merger.py", "A payload is the block's metadata, then its data, word by word, "
          "and ends with its last byte; metadata that it does not have are dropped, and no others.",
          lambda: _merger(16, (1, 2, 4), 512), "induction", 1),
)
"""Proofs of what moves rows."""
