"""Bounded proofs of exponent coding in the block cores, each against docs/formats.md.

Which elements are zero is given for each proof, and so are the facts of its line: so the solver knows how many bytes
each group takes. It would have to find all sums at once otherwise. The proofs of zero-value coding have any elements
that are zero, and those of groups any facts. What a compressor gets has exponents of a few values in each group, of
which it has to find the largest and the smallest one; of what a decompressor gets, everything but the facts is free.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value

from cdma.hdl.codec.coding import EXPONENTS, LINE_BYTES, SHORT, WORD_BYTES
from cdma.hdl.codec.line_record import GROUP_BYTES, GROUPS
from cdma.hdl.codec.payload.block_compressor import BlockCompressor
from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.hdl.common.bits import thermometer
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.codecs import BEAT, Sent, in_time
from cdma.verif.formal.proofs.exponents_format import Facts, Places, facts_word
from cdma.verif.formal.proofs.packed import BLOCK

__all__ = ["PROOFS"]

_BEATS = LINE_BYTES // BEAT
"""Beats of a line."""


@dataclass(frozen=True)
class _Line:
    """A line that proofs are about.

    Parameters
    ----------
    zeros : str
        Which elements are not zero; repeated to the end of the line.
    largest : int
        The largest exponent, that of the first element; it is negative.
    groups : tuple of (int, int, int)
        Of each group: the smallest exponent, that of an element; and that of the others but for so many lowest bits.
    tiny : bool
        Whether the last element of each group has the exponent 0.
    width, less : int, tuple of int
        What follows of the facts: bits of a distance, and those that each group has less.
    """

    zeros: str
    largest: int
    groups: tuple[tuple[int, int, int], ...]
    tiny: bool
    width: int
    less: tuple[int, ...]

    def live(self, size: int) -> list[bool]:
        """Whether each element of a line is not zero."""
        count = LINE_BYTES // size
        return [bit == "1" for bit in (self.zeros * count)[:count]]

    def elements(self, h: Harness, size: int) -> list[Value]:
        """The elements. The lowest bit of a mantissa is 1 where one is not zero: so the solver knows which ones are."""
        bits, live = 8 * size, self.live(size)
        each = GROUP_BYTES // size
        found: list[Value] = []
        for k, some in enumerate(live):
            smallest, others, free = self.groups[k // each]
            mine = [number for number in range(k // each * each, (k // each + 1) * each) if live[number]]
            exponent: Value = Cat(h.fixed(free, f"exponent_{k}"), Const(others >> free, 8 - free))
            if not any(live[:k]):
                exponent = Const(self.largest, 8)
            elif k == mine[1]:
                exponent = Const(smallest, 8)
            elif self.tiny and k == mine[-1]:
                exponent = Const(0, 8)
            sign = h.fixed(1, f"sign_{k}") if any(live[:k]) else Const(1, 1)
            mantissa = Cat(Const(1, 1), h.fixed(bits - 10, f"mantissa_{k}"))
            found.append(Cat(mantissa, exponent, sign) if some else Const(0, bits))
        return found


_LINES = {
    "sparse": _Line("0110100110010110", 0x85, ((0x7E, 0x80, 2), (0x84, 0x84, 1), (0x80, 0x80, 2), (0x78, 0x78, 3)),
                    True, 4, (0, 2, 1, 0)),
}
"""Lines by names: groups of distances of different lengths, an exponent of 0 in each."""


def _compressor(size: int, line: _Line, within: int) -> Harness:
    h = Harness()
    m, bits, live = h.m, 8 * size, line.live(size)
    dut = h.add("compressor", BlockCompressor(BEAT, (size,), BLOCK, exponents=(size,)))
    elements = line.elements(h, size)
    facts = Facts(h, size, elements, live)
    places = Places(h, size, live, facts.width, facts.less, facts.signs)
    per = BEAT // size
    m.d.comb += [dut.i.payload.element.eq(size), dut.i.payload.exponents.eq(1), dut.o.ready.eq(1)]
    Sent(h, [Cat(elements[k:k + per]) for k in range(0, len(elements), per)], Const(_BEATS - 1, 3),
         Const(-1, BEAT)).drive(h, dut.i)

    _lemmas(h, facts, places)
    final = h.named("final_row", (places.total - 1)[:8] >> 4)
    shown, row = Signal(range(16), name="shown"), dut.o.payload.data
    with m.If(dut.o.valid):
        m.d.sync += shown.eq(shown + 1)
    block = dut.block
    h.check("facts_of_block", ~dut.o.valid | (
        (block.coding == (EXPONENTS[size] | SHORT)) & (block.raw_bytes == LINE_BYTES)
        & (block.payload_bytes == places.total) & ~block.cut))
    h.check("no_further_beat", ~dut.o.valid | (shown <= final))
    h.check("last", ~dut.o.valid | (dut.o.payload.last == (shown == final)))
    keep = Cat(thermometer(h.named("final_bytes", (places.total - 1)[:4] + 1), BEAT))
    h.check("keep", ~dut.o.valid | (shown != final) | (dut.o.payload.keep == keep))
    opens = dut.o.valid & (shown == 0)
    h.check("facts_of_line", ~opens | (row[:8 * WORD_BYTES] == facts.word()))
    if places.tag is not None:
        h.check("tag", ~opens | (row[32:32 + len(live)] == places.tag))
    # The watched element: its mantissa, byte by byte, and its rest, bit by bit.
    value = h.named("value", Array([elements[k] for k in places.numbers])[places.watched])
    group_width = h.named("group_width", Array(places.group_widths)[places.group])
    distance = h.named("distance", Mux((value[-9:-1] == 0) & facts.escape, (1 << group_width)[:8] - 1,
                                         facts.base - value[-9:-1])[:8])
    tail = h.named("tail", Mux(facts.signs, Cat(value[-1], distance), distance))
    low = tail[0] & (facts.signs | group_width.any())
    mantissa = Cat(value[:bits - 9], low)
    for byte in range(size - 1):
        place = h.named(f"place_of_byte_{byte}", (places.mantissa_place + byte)[:8])
        h.check(f"mantissa_{byte}", ~dut.o.valid | (shown != place >> 4) | (
            row.word_select(place[:4], 8) == mantissa[8 * byte:8 * byte + 8]))
    rest = h.named("rest", Array(places.rest_bits)[places.group])
    for bit in range(8):
        place = h.named(f"place_of_bit_{bit}", (places.rest_place + bit)[:11])
        h.check(f"rest_{bit}", ~dut.o.valid | (shown != place >> 7) | (rest <= bit)
                | (row.bit_select(place[:7], 1) == tail[1 + bit]))
    in_time(h, shown > final, within)
    ends = dut.o.valid & dut.o.payload.last
    h.cover("line_leaves", ends)
    h.cover("facts_as_given", ends & (facts.width == line.width) & facts.signs & (facts.escape == line.tiny)
            & (Cat(facts.less) == Cat(Const(each, 2) for each in line.less)))
    return h


def _lemmas(h: Harness, facts: Facts, places: Places) -> None:
    """What the compressor finds out about the line, and where its packer puts each group: these help the solver."""
    line, packer = "compressor.core.facts.line", "compressor.core.packer"
    record = Cat(Const(0, 1), Const(facts.dense, 1), facts.signs, facts.escape, facts.base, facts.width, *facts.less)
    done = h.inner(f"{line}.done")
    h.check("record_of_line", ~done | (Value.cast(h.inner(f"{line}.record")) == record))
    h.check("header_of_line", ~done | (h.inner(f"{line}.header") == facts.word()[:8]))
    h.check("bytes_of_rests", ~h.inner(f"{line}.block_done") | (h.inner(f"{line}.rests") == places.rests))
    comes, moves = h.inner(f"{packer}.counted_valid"), h.inner(f"{packer}.moves")
    counted = Signal(range(GROUPS + 1), name="counted_groups")
    with h.m.If(comes & moves):
        h.m.d.sync += counted.eq(counted + 1)
    start = h.named("start_of_counted", Array([*places.starts, places.total])[counted])
    h.check("packer_moves", moves | ~comes)
    h.check("group_has_its_place", ~comes | (h.inner(f"{packer}.start") == start[:5]))


def _decompressor(size: int, line: _Line, within: int) -> Harness:
    h = Harness()
    m, bits, live = h.m, 8 * size, line.live(size)
    dut = h.add("decompressor", BlockDecompressor(BEAT, (size,), BLOCK, exponents=(size,)))
    width, signs, escape = Const(line.width, 4), Const(1, 1), Const(line.tiny, 1)
    less = [Const(each, 2) for each in line.less]
    base, has_base, has_widths = h.fixed(8, "base"), Const(1, 1), Const(any(line.less), 1)
    places = Places(h, size, live, width, less, signs)
    count = -(-(WORD_BYTES + len(live) // 8 + LINE_BYTES) // BEAT)
    rows = [h.fixed(8 * BEAT, f"row_{number}") for number in range(count)]
    dense = all(live)
    # Facts and the tag are known places; the rest of the rows is anything.
    opening = [facts_word(width, signs, dense, escape, has_widths, has_base, base, less)]
    if places.tag is not None:
        opening.append(Const(places.tag, len(live)))
    first = Cat(*opening, rows[0][sum(map(len, opening)):])
    sent = [first, *rows[1:]]
    final = h.named("final_row", (places.total - 1)[:8] >> 4)
    keep = h.named("final_keep", Cat(thermometer(h.named("final_bytes", (places.total - 1)[:4] + 1), BEAT)))
    m.d.comb += [dut.i.payload.coding.eq(EXPONENTS[size] | SHORT), dut.i.payload.raw_bytes.eq(LINE_BYTES),
                 dut.o.ready.eq(1)]
    Sent(h, sent, final, keep).drive(h, dut.i)

    content = h.named("content", Cat(sent))
    group_width = h.named("group_width", Array(places.group_widths)[places.group])
    p = h.named("rest_bits", Array(places.rest_bits)[places.group])
    rest = h.named("rest", Cat(content.bit_select((places.rest_place + bit)[:11], 1) & (p > bit)
                                 for bit in range(8)))
    mantissa = h.named("mantissa", content.bit_select(Cat(Const(0, 3), places.mantissa_place), bits - 8))
    tail = h.named("tail", Cat(mantissa[-1] & (signs | group_width.any()), rest))
    distance = h.named("distance", Mux(signs, tail[1:], tail)[:8])
    escaped = escape & (distance == ((1 << group_width)[:8] - 1)[:8])
    exponent = Mux(escaped, 0, (base - distance)[:8])
    value = h.named("value", Cat(mantissa[:-1], exponent, tail[0] & signs))
    shown, per = Signal(range(_BEATS + 1), name="shown"), BEAT // size
    with m.If(dut.o.valid):
        m.d.sync += shown.eq(shown + 1)
    number = h.named("number", Array([Const(k, 8) for k in places.numbers])[places.watched])
    row = dut.o.payload.data
    h.check("watched_element", ~dut.o.valid | (shown != number // per) | (
        row.word_select(number % per, bits) == value))
    for k, nonzero in enumerate(live):
        if not nonzero:
            h.check(f"zero_{k}", ~dut.o.valid | (shown != k // per) | ~row.word_select(k % per, bits).any())
    h.check("no_further_beat", ~dut.o.valid | (shown < _BEATS))
    h.check("last", ~dut.o.valid | (dut.o.payload.last == (shown == _BEATS - 1)))
    ends = dut.o.valid & dut.o.payload.last
    h.check("whole_beats", ~ends | dut.o.payload.keep.all())
    h.check("no_error", ~ends | (dut.error.code == PayloadError.OK))
    in_time(h, shown == _BEATS, within)
    h.cover("line_leaves", ends)
    h.cover("negative_element", ends & value[-1])
    h.cover("exponent_of_0" if line.tiny else "exponent", ends & ((value[-9:-1] == 0) == line.tiny))
    return h


def _proof(side: str, name: str, size: int, kind: str, depth: int) -> Proof:
    line = _LINES[kind]
    build = {"compressor": _compressor, "decompressor": _decompressor}[side]
    claim = {
        "compressor": f"What leaves the compressor is the payload of a short block of {name}, facts, rests and "
                      "mantissas where the formats say, with its end and facts, within the time stated",
        "decompressor": f"From the payload of a short block of {name}, as the formats say, the decompressor makes the "
                        "line that it stands for, without an error and within the time stated",
    }[side]
    free = {"compressor": "exponents of which one to three lowest bits are free, any signs behind the first, any "
                          "mantissas whose lowest bit is 1",
            "decompressor": "any base, rests and mantissas"}[side]
    widths = ", ".join(str(line.width - less) for less in line.less)
    return Proof(
        f"{side}_{name}_{kind}", f"hdl/codec/payload/block_{side}.py", claim + ".",
        lambda: build(size, line, depth - 1), "bounded", depth, "deep", solver="sat",
        coverage=f"a whole line; not zero are elements as in {line.zeros}, repeated; signs, in the groups distances "
                 f"of {widths} bits{', exponents of 0' if line.tiny else ''}; {free}; {BEAT}-byte beats, no gaps, no "
                 f"stalls; never left raw; memories of a block of {BLOCK} bytes")


PROOFS = (
    _proof("compressor", "bfloat16", 2, "sparse", 60), _proof("decompressor", "bfloat16", 2, "sparse", 50),
    _proof("compressor", "float32", 4, "sparse", 60), _proof("decompressor", "float32", 4, "sparse", 50),
)
"""Proofs of exponent coding in the block cores."""
