"""Proofs of malformed payloads and line streams: the verdict is the first fault of docs/formats.md."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import EXPONENTS, LINE_BYTES, TAGS_FIRST, WORD_BYTES
from cdma.hdl.codec.lines.decompressor import Decompressor
from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.hdl.common.bits import thermometer
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.codecs import BEAT, BLOCK, Sent, in_time

__all__ = ["PROOFS"]

_ALONE = (PayloadError.BAD_CODING, PayloadError.BAD_LENGTH, PayloadError.TRUNCATED_FACTS, PayloadError.TRUNCATED_TAG)
"""Faults of which a block has a single beat."""


class _Payload:
    """Any payload of so many bytes and more, of any coding and any raw length up to so many beats.

    Attributes
    ----------
    rows : list of Signal
        Its bytes, and what is behind them.
    bytes, raw, coding : Signal
        How many, the raw length, the coding.
    """

    def __init__(self, h: Harness, dut: BlockDecompressor, beats: int, most: int) -> None:
        self.rows = [h.fixed(8 * BEAT, f"row_{number}") for number in range(-(-most // BEAT) + 1)]
        final, count = h.fixed(range(len(self.rows)), "final"), h.fixed(range(BEAT + 1), "last_bytes")
        self.raw, self.coding = h.fixed(range(beats * BEAT + 1), "raw_bytes"), h.fixed(8, "coding")
        h.assume("a_packet", h.begun | (
            (final < len(self.rows)) & (count >= 1) & (count <= BEAT) & (self.raw <= beats * BEAT)))
        h.m.d.comb += [dut.i.payload.coding.eq(self.coding), dut.i.payload.raw_bytes.eq(self.raw)]
        Sent(h, self.rows, final, thermometer(count, BEAT)).drive(h, dut.i)
        self.bytes = h.named("payload_bytes", final * BEAT + count)
        self._h, self._dut, self._beats = h, dut, beats

    def judge(self, faults: tuple[tuple[PayloadError, Value], ...], early: Value | int, within: int, pairs: bool = False
              ) -> None:
        """Asserts that the verdict is the first of the faults that is met, and how many beats there are: one if no
        others are known, and with ``early``; where beats come in ``pairs``, one pair."""
        h, dut = self._h, self._dut
        verdict: Value = Const(PayloadError.OK.value, 4)
        for fault, met in reversed(faults):
            verdict = Mux(met, fault.value, verdict)
        verdict = h.named("verdict", verdict)
        unknown = h.named("length_is_unknown", Cat(verdict == fault.value for fault in _ALONE[:2]).any())
        alone = unknown | Cat(verdict == fault.value for fault in _ALONE[2:]).any() | early
        beats = h.named("last_of_all", (self.raw - 1)[:len(self.raw)] >> exact_log2(BEAT))
        one = unknown | beats[0] if pairs else Const(0)      # as many halves as the last pair
        last = h.named("last_beat", Mux(alone, one, beats))
        shown, ended = Signal(range(max(self._beats, 2) + 2), name="shown"), Signal(name="ended")
        code, ends = Value.cast(dut.error.code), dut.o.valid & dut.o.payload.last
        h.m.d.comb += dut.o.ready.eq(1)
        h.m.d.sync += [shown.eq(shown + dut.o.valid), ended.eq(ended | ends)]
        h.check("verdict_is_that_of_the_format", ~ends | (code == verdict))
        h.check("ends_with_its_last_beat", ~dut.o.valid | (~ended & (shown <= last) & (
            dut.o.payload.last == (shown == last))))
        in_time(h, ended, within)
        for fault in dict.fromkeys(fault for fault, _ in faults):
            h.cover(fault.name.lower(), ends & (code == fault.value))
        h.cover("ok", ends & (code == 0) & (shown == self._beats - 1))


def _verdict(h: Harness, element: int, beats: int, within: int) -> None:
    """Of any payload, of any coding and any raw length up to {raw} bytes, whatever its bytes and however many, the
    verdict is the first fault of docs/formats.md, with as many beats as the block has, or with one where these are not
    known, within the time stated."""
    dut = h.add("decompressor", BlockDecompressor(BEAT, (element,), BLOCK))
    tag_bytes = LINE_BYTES // element // 8
    payload = _Payload(h, dut, beats, beats * BEAT + tag_bytes)
    raw, bytes_ = payload.raw, payload.bytes

    # What the format says: a tag bit for each element of the line, those that are missing 0, then the elements.
    there = thermometer((raw >> exact_log2(element))[:8], 8 * tag_bytes)
    tag = Cat(payload.rows)[:8 * tag_bytes]
    needed = h.named("needed", tag_bytes + _ones(tag) * element)
    payload.judge((
        (PayloadError.BAD_CODING, payload.coding[:7] != TAGS_FIRST[element]),
        (PayloadError.BAD_LENGTH, (raw == 0) | raw[:exact_log2(element)].any()),
        (PayloadError.TRUNCATED_TAG, bytes_ < tag_bytes), (PayloadError.BAD_TAG, (tag & ~there).any()),
        (PayloadError.TRUNCATED_DATA, bytes_ < needed), (PayloadError.TRAILING_BYTES, bytes_ > needed)), 0, within)


def _exponents(h: Harness, element: int, beats: int, within: int) -> None:
    """The same with exponents: any line header, base, widths, tag and data, whatever the bytes and however many, of any
    raw length up to {raw} bytes, and any coding but zero-value coding."""
    dut = h.add("decompressor", BlockDecompressor(BEAT, (element,), BLOCK, exponents=(element,)))
    places = LINE_BYTES // element
    payload = _Payload(h, dut, beats, WORD_BYTES + places // 8 + beats * BEAT + beats * BEAT // element)
    raw, bytes_, all_ = payload.raw, payload.bytes, Cat(payload.rows)
    h.assume("not_zero_value_coding", h.begun | (payload.coding[:7] != TAGS_FIRST[element]))

    # What the format says: header, base, widths and zeros are a word; then come the tag, and each group's rests and
    # mantissas.
    header = all_[:8]
    width, signs, dense, widths, base = header[:3], header[3], header[4], header[6], header[7]
    zeros = header.all()
    bad = h.named("bad_header", (width == 7) & header[5:].any() & ~zeros)
    less = Mux(base, all_[16:24], all_[8:16])
    beyond = h.named("widths_beyond", ~zeros & widths & Cat(
        less.word_select(group, 2) > width for group in range(4)).any())
    tag = Mux(dense, Const((1 << places) - 1, places), all_[8 * WORD_BYTES:8 * WORD_BYTES + places])
    missing = h.named("has_missing_ones", ~zeros & (
        tag & ~thermometer((raw >> exact_log2(element))[:8], places)).any())
    first = h.named("data_begin", WORD_BYTES + Mux(zeros | dense, 0, places // 8))
    data: Value = Const(0, 8)
    for group in range(-(-beats * BEAT // element // (places // 4))):
        bits = Mux(width == 7, 8, width - Mux(widths, less.word_select(group, 2), 0))[:4]
        rest = h.named(f"rest_{group}", Mux(bits + signs == 0, 0, bits + signs - 1)[:4])
        count = h.named(f"elements_{group}", _ones(tag.word_select(group, places // 4)[:beats * BEAT // element]))
        data = h.named(f"data_to_{group}", (data + ((count * rest + 7) >> 3) + count * (element - 1))[:8])
    needed = h.named("needed", first + Mux(zeros, 0, data))
    coding_or_length = (
        (PayloadError.BAD_CODING, payload.coding[:7] != EXPONENTS[element]),
        (PayloadError.BAD_LENGTH, (raw == 0) | raw[:exact_log2(element)].any()))
    payload.judge((
        *coding_or_length, (PayloadError.BAD_FACTS, bad), (PayloadError.TRUNCATED_FACTS, bytes_ < WORD_BYTES),
        (PayloadError.TRUNCATED_TAG, bytes_ < first), (PayloadError.BAD_FACTS, beyond), (PayloadError.BAD_TAG, missing),
        (PayloadError.TRUNCATED_DATA, bytes_ < needed), (PayloadError.TRAILING_BYTES, bytes_ > needed)), bad, within,
        pairs=True)


def _lines(h: Harness, beats: int, within: int) -> None:
    """Of any line stream of 32-bit elements, of up to {bytes} bytes, whose raw length is not known, the verdict and its
    line are those of docs/formats.md: where the stream ends inside a tag, before the elements that a tag claims though
    it is no partial last line, or within an element."""
    element = tag_bytes = WORD_BYTES
    dut = h.add("decompressor", Decompressor(BEAT, (element,)))
    rows = [h.fixed(8 * BEAT, f"row_{number}") for number in range(beats)]
    final, count = h.fixed(range(max(beats, 2)), "final"), h.fixed(range(BEAT + 1), "last_bytes")
    h.assume("a_packet", h.begun | ((final < beats) & (count >= 1) & (count <= BEAT)))
    h.m.d.comb += [dut.i.payload.element.eq(element), dut.o.ready.eq(1)]
    Sent(h, rows, final, thermometer(count, BEAT)).drive(h, dut.i)
    bytes_ = h.named("packed_bytes", final * BEAT + count)

    # Line by line: each begins at a word, if the one before is whole.
    words = [row.word_select(number, 32) for row in rows for number in range(BEAT // element)]
    begins: list[Value] = [Const(1, 1), *(Const(0, 1) for _ in words)]
    verdict, at_line, number = Const(ErrorCode.OK.value, 2), Const(0, 4), Const(0, 4)
    for place, tag in enumerate(words):
        here = h.named(f"line_begins_at_{place}", begins[place] & (bytes_ > tag_bytes * place))
        torn = h.named(f"torn_{place}", bytes_ < tag_bytes * (place + 1))
        held = h.named(f"held_{place}", Mux(torn, 0, bytes_ - tag_bytes * (place + 1))[:8])
        ones, run = h.named(f"ones_{place}", _ones(tag)), h.named(f"run_{place}", _ones(Cat(
            tag[bit:].all() for bit in range(32))))
        short = h.named(f"short_{place}", held < ones * element)
        whole = h.named(f"whole_{place}", held[exact_log2(element):])
        # From the first missing element on all tag bits are ones, and it is not the first of the line.
        partial = (ones <= whole + run) & (whole.any() | ~tag[0])
        found = Mux(torn, ErrorCode.TRUNCATED_TAG.value, Mux(~short, ErrorCode.OK.value, Mux(
            ~partial, ErrorCode.TRUNCATED_DATA.value, Mux(
                held[:exact_log2(element)].any(), ErrorCode.TRAILING_BYTES.value, ErrorCode.OK.value))))
        verdict = h.named(f"verdict_to_{place}", Mux(here, found, verdict)[:2])
        at_line = h.named(f"line_to_{place}", Mux(here, number, at_line)[:4])
        number = h.named(f"lines_to_{place}", (number + here)[:4])
        for behind in range(place + 1, len(words) + 1):
            begins[behind] = begins[behind] | (here & ~torn & ~short & (ones == behind - place - 1))
    ended, code = Signal(name="ended"), Value.cast(dut.error.code)
    ends = dut.o.valid & dut.o.payload.last
    h.m.d.sync += ended.eq(ended | ends)
    h.check("verdict_is_that_of_the_format", ~ends | (code == verdict))
    h.check("line_of_the_fault", ~ends | (code == ErrorCode.OK.value) | (dut.error.line == at_line))
    h.check("nothing_behind_the_end", ~dut.o.valid | ~ended)
    in_time(h, ended, within)
    for fault in ErrorCode:
        h.cover(fault.name.lower(), ends & (code == fault.value))
    h.cover("fault_of_the_third_line", ends & (code != 0) & (dut.error.line == 2))


def _ones(mask: Value) -> Value:
    number: Value = Const(0, 1)
    for bit in mask:
        number = (number + bit)[:8]
    return number


PROOFS = (*(
    Proof(f"malformed_{name}_{beats}", "hdl/codec/payload/block_decompressor.py", harness,
          {"element": element, "beats": beats, "within": depth - 1}, depth, which,
          "one payload, beats of 16 bytes, no gaps, no stalls", solver="sat", words={"raw": beats * BEAT})
    for harness, name, element, beats, depth, which in (
        (_verdict, "zvc32", 4, 2, 28, "shallow"), (_verdict, "zvc16", 2, 2, 28, "deep"),
        (_verdict, "zvc8", 1, 1, 28, "deep"), (_verdict, "zvc32", 4, 8, 34, "deep"),
        (_exponents, "bfloat16", 2, 1, 40, "deep"),
        (_exponents, "bfloat16", 2, 2, 40, "deep"), (_exponents, "float32", 4, 2, 40, "deep"),
        (_exponents, "bfloat16", 2, 4, 44, "deep"), (_exponents, "float32", 4, 4, 44, "deep"))),
    Proof("malformed_lines32", "hdl/codec/lines/decompressor.py", _lines, {"beats": 1, "within": 43}, 44, "deep",
          "one packet, beats of 16 bytes, no gaps, no stalls", solver="sat", words={"bytes": BEAT}),
)
"""Proofs of malformed payloads and line streams."""
