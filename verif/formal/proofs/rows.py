"""Proofs of what joins, frames, merges and cuts: rows against the parts and the formats that they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES, WORD_BYTES, largest_payload, most_metadata
from cdma.hdl.codec.payload.merger import Merger, packed_block_layout
from cdma.hdl.codec.payload.tag_slicer import TagSlicer
from cdma.hdl.codec.payload.unpacking import PayloadError, order_layout
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.hdl.engine.lanes.framer import Framer, framed_block_layout
from cdma.hdl.engine.link.barrel_shifter import BarrelShifter
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.parts import moves

__all__ = ["PROOFS"]

_WORD = 8 * WORD_BYTES


def _barrel_shifter(h: Harness, words: int, sides: int) -> None:
    """Rows of {words} words are the words of all parts one behind the other, without a gap, one part of any length in a
    cycle{also}."""
    m = h.m
    dut = h.add("dut", BarrelShifter(words, sides))
    advance, beat, ends = (h.free(1, name) for name in ("advance", "beat", "ends"))
    side, pair = (h.free(1, name) if sides == 2 else Const(0) for name in ("side", "pair"))
    given = [h.free(_WORD * words, f"data_{number}") for number in range(sides)]
    counts = [h.free(range(words + 1), f"words_{number}") for number in range(sides)]

    # The row that is not full yet: its words, and how many there are.
    filled = Signal(exact_log2(words), name="filled")
    opened = Signal(_WORD * words, name="opened", reset_less=True)
    first, second = Mux(side, counts[-1], counts[0]), Mux(side, counts[0], counts[-1])
    behind = Signal(exact_log2(words) + 1, name="behind")       # words up to the end of the first part
    total = Signal(range(3 * words), name="total")
    m.d.comb += [behind.eq(filled + first), total.eq(behind + Mux(pair, second, 0)),
                 dut.advance.eq(advance), dut.beat.eq(beat), dut.side.eq(side), dut.pair.eq(pair),
                 dut.short.eq(~pair & (total < words))]
    for number, part in enumerate(dut.parts):
        m.d.comb += [part.data.eq(given[number]), part.place.eq(Mux(pair & (side != number), behind, filled))]
        for word in range(words):
            h.assume(f"zero_behind_word_{word}_of_{number}",
                     (word < counts[number]) | ~given[number].word_select(word, _WORD).any())
    h.assume("parts_have_words", Cat(count.any() & (count <= words) for count in counts).all())
    # A second part comes if the first one does not fill the row. It is a beat with others of its block behind it.
    h.assume("second_in_the_row", ~pair | (beat & (behind < words)))
    h.assume("second_is_full", ~pair | (second == words))

    # All words, as the format has them: what is open, then the first part, then the second one.
    joined: Value = Mux(side, given[-1], given[0]) << (_WORD * filled)
    row = Signal(_WORD * words, name="expected", reset_less=True)
    made = Signal(name="made")
    after = Mux(side, given[0], given[-1]) << (_WORD * behind)
    known = Cat(Mux(filled > word, opened.word_select(word, _WORD), 0) for word in range(words))
    both = Signal(2 * _WORD * words, name="both")
    m.d.comb += both.eq(known | Mux(beat, joined, 0) | Mux(pair, after, 0))
    with m.If(advance):
        m.d.sync += [row.eq(both), made.eq(1)]
        with m.If(beat):
            m.d.sync += [opened.eq(Mux(total >= words, both[_WORD * words:], both)), filled.eq(total)]
        with m.If(ends):
            m.d.sync += filled.eq(0)
    for word in range(words):
        same = h.inner("dut.rest").word_select(word, _WORD) == opened.word_select(word, _WORD)
        h.check(f"row_{word}", ~made | (dut.row.word_select(word, _WORD) == row.word_select(word, _WORD)))
        h.check(f"rest_{word}", (filled <= word) | same)
    h.cover("full_with_rest", h.past(advance & beat & (total > words), "spills") & (filled > 1))
    h.cover("short_behind_short", h.past(advance & beat & (total < words) & (filled != 0), "grows") & (filled > 2))
    if sides == 2:
        h.cover("pair_with_rest", h.past(advance & pair & (total > words), "pairs") & (filled != 0))


_SHIFTERS = tuple(
    Proof(f"barrel_shifter_{words}_{sides}", "hdl/engine/link/barrel_shifter.py", _barrel_shifter,
          {"words": words, "sides": sides}, set="deep",
          words={"also": ", or a full one behind it, too" if sides == 2 else ""})
    for words, sides in ((4, 1), (4, 2), (8, 2)))


_HEADER, _FIELD = 4, 4      # bytes of a header, and of the length field of a short block
_SHORT = 7                  # the bit of a coding that marks a short block
_BEATS = 8                  # bits of the number of a payload's beats


def _front(h: Harness, block: Any) -> tuple[Value, Value]:
    """What stands in front of a payload, by the format: its bytes, and how many there are."""
    short = block.coding[_SHORT]
    payload_bytes, raw_bytes = Signal(16, name="payload_bytes"), Signal(8 * _FIELD, name="raw_bytes")
    h.m.d.comb += [payload_bytes.eq(block.payload_bytes + Mux(short, _FIELD, 0)), raw_bytes.eq(block.raw_bytes)]
    return Cat(payload_bytes, block.coding, block.sequence, raw_bytes), Mux(short, _HEADER + _FIELD, _HEADER)


def _block(h: Harness, dut: Framer, fresh: Value) -> Any:
    """The block beside the beats, which is the same for all beats of a payload, and while one waits."""
    layout = framed_block_layout(dut._config)
    given, held, block = h.free(layout.size, "block"), Signal(layout.size, name="held"), Signal(layout, name="here")
    h.m.d.comb += [Value.cast(dut.block).eq(given), Value.cast(block).eq(Mux(fresh, given, held))]
    h.m.d.sync += held.eq(block)
    waited = h.past(dut.i.valid & ~dut.i.ready, "waited")
    h.assume("block_stays", ~dut.i.valid | (fresh & ~waited) | (given == held))
    return block


def _framer(h: Harness, config: EngineConfig) -> None:
    """Every byte of a block's rows is what the format says, header, length field, payload and zeros, and its last row
    is the one with its end; payloads of up to {most} beats (beats of {n} bytes, rows of {row})."""
    m = h.m
    n, parts = config.beat_bytes, config.link_beat_bytes // config.beat_bytes
    shift, wide = exact_log2(n), exact_log2(config.link_beat_bytes)
    bits = _BEATS + shift
    dut = h.add("dut", Framer(config))
    h.drive(dut.i, "i")
    h.keeps(dut.o, "o")
    beat = dut.i.payload
    h.assume("kept_come_first", Cat(before | ~after for before, after in pairwise(beat.keep)).all())

    # Beats of the block that were taken, and whether its last one is among them: the end of the block is in the carry.
    beats, ended = Signal(_BEATS, name="beats"), Signal(name="ended")
    fresh = (beats == 0) & ~ended
    front, size = _front(h, _block(h, dut, fresh))
    h.assume("payload_fits", ~dut.i.valid | beat.last | (beats < (1 << _BEATS) - 2))
    total, end = Signal(bits + 1, name="total"), Signal(bits + 1, name="end")
    kept = sum((bit for bit in beat.keep), start=Value.cast(0))
    m.d.comb += end.eq(Mux(ended, total, size + (beats << shift) + kept))

    # The byte, once it is known; 0 before.
    at = h.fixed(bits, "at")
    behind = Signal(bits, name="behind")
    m.d.comb += behind.eq(at - size)
    value, shown, comes = Signal(8, name="value"), Signal(8, name="shown"), Signal(name="comes")
    there = beat.keep | (~beat.last).replicate(n)
    m.d.comb += comes.eq(dut.i.valid & ~ended & (at >= size) & (behind[shift:] == beats))
    byte = beat.data.word_select(behind[:shift], 8) & there.bit_select(behind[:shift], 1).replicate(8)
    m.d.comb += shown.eq(Mux(comes, byte, Mux(fresh, Mux(at < size, front.word_select(at[:3], 8), 0), value)))
    gives, closes = moves(dut.o), moves(dut.o) & dut.o.payload.last
    with m.If(moves(dut.i)):
        m.d.sync += [beats.eq(beats + 1), ended.eq(beat.last), total.eq(end), value.eq(shown)]
    with m.If(closes):
        m.d.sync += [beats.eq(0), ended.eq(0)]

    row, part = beats >> (wide - shift), beats[:wide - shift]
    out = dut.o.payload
    h.check("byte", ~dut.o.valid | (at[wide:] != row) | (out.data.word_select(at[:wide], 8) == shown))
    h.check("last_row", ~dut.o.valid | (out.last == ((ended | beat.last) & (end <= (row + 1) << wide))))
    h.check("rows_have_bytes", ~dut.o.valid | ~ended | (end > (row << wide)))
    h.check("rows_are_full", ~dut.o.valid | out.last | part.all())
    h.check("end_waits_for_no_beat", ~ended | dut.o.valid)

    # What the registers mean, for the induction.
    carry = h.inner("dut.carry")
    h.check("first_is_fresh", h.inner("dut.first") == (beats == 0))
    h.check("ended_is_spill", h.inner("dut.spill") == ended)
    h.check("length_is_kept", (beats == 0) | (h.inner("dut.held_long") == (size != _HEADER)))
    h.check("beats_fit", ended | (beats < (1 << _BEATS) - 1))
    h.check("ended_has_beats", ~ended | (beats != 0))
    h.check("end_is_in_carry", ~ended | ((total > (beats << shift)) & (total <= (beats << shift) + size)))
    h.check("nothing_is_known_early", (beats == 0) | (at < size) | (behind[shift:] < beats) | (value == 0))
    first = Signal(bits + 1, name="first_of_carry")
    place = Signal(bits + 1, name="place_in_carry")
    m.d.comb += [first.eq((beats << shift) + size - len(carry) // 8), place.eq(at - first)]
    inside = (beats != 0) & (at >= size) & (at + size < (beats << shift) + 2 * size) & (at >= first)
    h.check("carry", ~inside | (carry.word_select(place[:3], 8) == value))
    if parts > 1:
        held = h.inner("dut.row")
        h.check("parts", h.inner("dut.part") == part)
        h.check("row", (at[wide:] != row) | (at[shift:wide] >= part) | (held.word_select(at[:wide], 8) == value))
    h.cover("short_block_ends", closes & (size != _HEADER) & ended)
    h.cover("byte_of_carry", gives & (at[wide:] == row) & (beats > 1) & ~comes & (shown != 0))
    h.cover("length_field", gives & (at[wide:] == row) & (at >= _HEADER) & (at < size) & (shown != 0))


def _framer_proof(parts: int, which: str = "shallow") -> Proof:
    tiny = load_engine("tiny")
    n, row = tiny.beat_bytes, parts * tiny.beat_bytes
    return Proof(f"framer_{n}_{row}", "hdl/engine/lanes/framer.py", _framer,
                 {"config": replace(tiny, link_beat_bytes=row)}, set=which,
                 words={"most": (1 << _BEATS) - 1, "n": n, "row": row})


_FRAMERS = (_framer_proof(1), _framer_proof(2, "deep"))


def _merger(h: Harness, n: int = 16, sizes: tuple[int, ...] = (1, 2, 4), block_bytes: int = 512) -> None:
    """A payload is the block's metadata, then its data, word by word, and ends with its last byte; metadata that it
    does not have are dropped, and no others."""
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


_SIZES = (1, 2, 4)
_BLOCK_BYTES = 512


def _chosen(element: Value, choices: Sequence[Value]) -> Value:
    """The choice for a one-hot element size."""
    total: Value = Const(0)
    for bit, choice in zip(element, choices, strict=True):
        total = total | Mux(bit, choice, 0)
    return total


def _slicer(h: Harness, n: int, for_lane: bool) -> None:
    """The mask of each beat is its bits of the block's tags, a bit for all units of an element, whatever the gaps
    between words;{also} no word is lost or taken twice, and ones behind the last beat are told (beats of {n} bytes,
    elements of 1, 2 and 4 bytes, no exponents)."""
    # Slices against the words of tags, counted from the block's first one on. A unit is a byte.
    m = h.m
    dut = h.add("dut", TagSlicer(n, _SIZES, _BLOCK_BYTES, for_lane=for_lane))
    h.drive(dut.order, "order")
    h.drive(dut.words, "words")
    m.d.comb += dut.move.eq(h.free(1, "move"))
    layout = order_layout(n, _SIZES, _BLOCK_BYTES, for_lane=for_lane)
    coming = dut.order.payload
    raw_comes = coming.raw if for_lane else Const(0)
    elements = Value.cast(coming.element)
    h.assume("one_element_size", ~dut.order.valid | Mux(raw_comes, elements == 0, Cat(
        elements == 1 << number for number in range(len(_SIZES))).any()))
    h.assume("errors_are_told", ~dut.order.valid | (Value.cast(coming.error) <= max(int(each.value) for each in
                                                                                     PayloadError)))
    # The block, the number of its beat, and the words that were taken since it began.
    have, block = Signal(name="have_block"), Signal(layout, name="block", reset_less=True)
    number = Signal(range(_BLOCK_BYTES // n + 1), name="beat_number")
    taken = Signal(range(_BLOCK_BYTES // n + 2), name="words_taken")
    word, later = Signal(n, name="word", reset_less=True), Signal(name="later_ones")
    element = Value.cast(block.element)
    faulty, raw = Value.cast(block.error) != 0, block.raw if for_lane else Const(0)
    tagged = ~faulty & ~raw
    last = number == block.beats

    def place(beat: Value, sizes: Value = element) -> Value:
        """The number of the word that has a beat's tags."""
        return _chosen(sizes, [beat >> exact_log2(size) for size in _SIZES])

    in_line = LINE_BYTES // n
    lines = (number >> exact_log2(in_line)) + 1
    needed = Signal(taken.shape(), name="words_needed")
    m.d.comb += needed.eq(Mux(have & tagged, _chosen(element, [lines * (in_line // size) for size in _SIZES]), 0))
    goes, fires = dut.valid & dut.move, dut.words.valid & dut.words.ready
    closes = goes & last
    # The number of a word that comes, and of that whose bits are needed next.
    comes = Mux(closes, taken - needed, taken)[:len(taken)]
    wanted = Mux(closes | ~have | ~tagged, 0, place((number + goes)[:len(number)]))
    m.d.sync += taken.eq(comes + fires)
    with m.If(fires & (comes == wanted)):
        m.d.sync += word.eq(dut.words.payload)
    m.d.sync += later.eq(~closes & (later | (fires & (comes != wanted) & dut.words.payload.any())))
    with m.If(dut.order.ready):
        m.d.sync += [have.eq(dut.order.valid), block.eq(coming), number.eq(0)]
    with m.Elif(goes):
        m.d.sync += number.eq(number + 1)

    shown = dut.slice
    h.check("order_is_taken", dut.order.ready == (~have | closes))
    h.check("slice_of_a_block", ~dut.valid | have)
    h.check("first_and_last", ~dut.valid | ((shown.first == (number == 0)) & (shown.last == last)))
    for name in ("tail", "start", "bare", "error"):
        h.check(f"{name}_is_told", ~dut.valid | (Value.cast(shown[name]) == Value.cast(block[name])))
    h.check("word_by_number", ~dut.valid | ~tagged | Mux(last, taken == needed, taken == place(number) + 1))
    h.check("words_that_are_needed", ~fires | closes | (comes == wanted) | (last & (comes < needed)))
    parts = [number[:exact_log2(size)] if size > 1 else Const(0, 1) for size in _SIZES]
    masks = [Cat(bit.replicate(size) for bit in word.word_select(part, n // size))
             for size, part in zip(_SIZES, parts, strict=True)]
    behind = [(word >> ((part + 1) * (n // size))).any() for size, part in zip(_SIZES, parts, strict=True)]
    whole = Cat(~last | (block.tail == 0) | (unit < block.tail) for unit in range(n))
    h.check("mask", shown.mask == Mux(dut.valid & ~faulty, Mux(raw, whole, _chosen(element, masks)), 0))
    h.check("beyond", ~dut.valid | ~last | faulty | raw | (shown.beyond == (later | _chosen(element, behind))))

    # What the registers mean, for the induction.
    has_word, has_order, is_faulty, seen = (h.inner(f"dut.{name}") for name in (
        "has_word", "has_order", "faulty", "seen"))
    held = data.View(layout, h.inner("dut.order_held"))
    here = taken > place(number)
    h.check("block_is_held", (has_order == have) & (~have | (
        (held.beats == block.beats - number) & (number <= block.beats) & (is_faulty == faulty))))
    for name in (name for name in layout.members if name != "beats"):
        h.check(f"{name}_is_held", ~have | (Value.cast(held[name]) == Value.cast(block[name])))
    h.check("element_is_one", ~have | Mux(raw, element == 0, Cat(
        element == 1 << bit for bit in range(len(_SIZES))).any()))
    h.check("beat_of_the_line", ~have | (h.inner("dut.beat") == number[:exact_log2(in_line)]))
    h.check("first_is_known", ~have | (h.inner("dut.first") == (number == 0)))
    h.check("final_is_known", ~have | (h.inner("dut.final") == last))
    h.check("no_word_of_another", have & tagged | (taken <= 1))
    h.check("no_word_is_ahead", ~have | ~tagged | (taken <= Mux(last, needed, place(number) + 1)))
    h.check("no_word_is_missing", ~have | ~tagged | (taken >= place(number)))
    h.check("word_is_there", has_word == Mux(have & tagged, here, taken == 1))
    h.check("word_is_held", ~has_word | (h.inner("dut.word") == word))
    h.check("later_words", Mux(have & tagged & last & here, (seen == taken - place(number) - 1) & (
        h.inner("dut.found") == later), ~have | ((seen == 0) & ~h.inner("dut.found"))))
    h.check("no_later_words", (have & tagged & last & here) | ~later)
    h.cover("last_line_has_more", closes & later & (block.beats > in_line))
    closed = Signal(name="closed")
    m.d.sync += closed.eq(closed | closes)
    h.cover("second_block_ends", closed & closes & tagged & (block.beats != 0))


_SLICERS = tuple(Proof(f"tag_slicer_{name}", "hdl/codec/payload/tag_slicer.py", _slicer, {"n": n, "for_lane": for_lane},
                     cover_depth=20, words={"also": also})
               for name, n, for_lane, also in (("16_lane", 16, True, " raw blocks have all their units;"),
                                               ("32", 32, False, "")))

PROOFS = (*_SHIFTERS, *_FRAMERS, Proof("merger_16", "hdl/codec/payload/merger.py", _merger), *_SLICERS)
"""Proofs of rows."""
