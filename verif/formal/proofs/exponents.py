"""Proofs of exponent coding: of block cores against docs/formats.md, bounded, and of groups that are coded and decoded.

Which elements are zero is given for each proof of a block core, and so are the facts of its line: so the solver knows
how many bytes each group takes. It would have to find all sums at once otherwise. The proofs of zero-value coding have
any elements that are zero, and those of groups any facts. What a compressor gets has exponents of a few values in each
group, of which it has to find the largest and the smallest one; of what a decompressor gets, everything but the facts
is free.
"""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value

from cdma.hdl.codec.coding import EXPONENTS, LINE_BYTES, SHORT, WORD_BYTES, tag_bytes
from cdma.hdl.codec.line_record import GROUP_BYTES, GROUPS, WHOLE_BASE, WHOLE_WIDTH
from cdma.hdl.codec.payload.block_compressor import BlockCompressor
from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.codec.payload.group_coder import GroupCoder
from cdma.hdl.codec.payload.group_decoder import GroupDecoder
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.hdl.common.bits import thermometer
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.codecs import BEAT, BLOCK, Sent, in_time

__all__ = ["PROOFS"]

_MOST_WIDTH = 6
"""Bits of the longest distance that is no whole exponent."""

_BEATS = LINE_BYTES // BEAT
"""Beats of a line."""


_ZEROS = "0110100110010110"
"""Which elements of the line are not zero; repeated to its end."""

_LARGEST = 0x85
"""The largest exponent, that of the first element; it is negative."""

_GROUPS = ((0x7E, 0x80, 2), (0x84, 0x84, 1), (0x80, 0x80, 2), (0x78, 0x78, 3))
"""Of each group: the smallest exponent, that of an element; and that of the others but for so many lowest bits. So
groups have distances of different lengths. The last element of each has the exponent 0."""

_LINE_WIDTH, _LINE_LESS = 4, (0, 2, 1, 0)
"""What follows of the facts: bits of a distance, and those that each group has less."""


def _live(size: int) -> list[bool]:
    """Whether each element of the line is not zero."""
    count = LINE_BYTES // size
    return [bit == "1" for bit in (_ZEROS * count)[:count]]


def _elements(h: Harness, size: int) -> list[Value]:
    """The elements. The lowest bit of a mantissa is 1 where one is not zero: so the solver knows which ones are."""
    bits, live = 8 * size, _live(size)
    each = GROUP_BYTES // size
    found: list[Value] = []
    for k, some in enumerate(live):
        smallest, others, free = _GROUPS[k // each]
        mine = [number for number in range(k // each * each, (k // each + 1) * each) if live[number]]
        exponent: Value = Cat(h.fixed(free, f"exponent_{k}"), Const(others >> free, 8 - free))
        if not any(live[:k]):
            exponent = Const(_LARGEST, 8)
        elif k in (mine[1], mine[-1]):
            exponent = Const(smallest if k == mine[1] else 0, 8)
        sign = h.fixed(1, f"sign_{k}") if any(live[:k]) else Const(1, 1)
        mantissa = Cat(Const(1, 1), h.fixed(bits - 10, f"mantissa_{k}"))
        found.append(Cat(mantissa, exponent, sign) if some else Const(0, bits))
    return found


def _compressor(h: Harness, size: int, within: int) -> None:
    """What leaves the compressor is the payload of a short block of {name}, facts, rests and mantissas where the
    formats say, with its end and facts, within the time stated."""
    m, bits, live = h.m, 8 * size, _live(size)
    dut = h.add("compressor", BlockCompressor(BEAT, (size,), BLOCK, exponents=(size,)))
    elements = _elements(h, size)
    facts = _Facts(h, size, elements, live)
    places = _Places(h, size, live, facts.width, facts.less, facts.signs)
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
    h.cover("facts_as_given", ends & (facts.width == _LINE_WIDTH) & facts.signs & facts.escape
            & (Cat(facts.less) == Cat(Const(each, 2) for each in _LINE_LESS)))


def _lemmas(h: Harness, facts: _Facts, places: _Places) -> None:
    """What the compressor finds out about the line, and where its packer puts each group: these help the solver."""
    line, packer = "compressor.core.facts.line", "compressor.core.packer"
    record = Cat(Const(0, 1), Const(0, 1), facts.signs, facts.escape, facts.base, facts.width, *facts.less)
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


def _decompressor(h: Harness, size: int, within: int) -> None:
    """From the payload of a short block of {name}, as the formats say, the decompressor makes the line that it stands
    for, without an error and within the time stated."""
    m, bits, live = h.m, 8 * size, _live(size)
    dut = h.add("decompressor", BlockDecompressor(BEAT, (size,), BLOCK, exponents=(size,)))
    width, signs, escape = Const(_LINE_WIDTH, 4), Const(1, 1), Const(1, 1)
    less = [Const(each, 2) for each in _LINE_LESS]
    base, has_base, has_widths = h.fixed(8, "base"), Const(1, 1), Const(1, 1)
    places = _Places(h, size, live, width, less, signs)
    count = -(-(WORD_BYTES + len(live) // 8 + LINE_BYTES) // BEAT)
    rows = [h.fixed(8 * BEAT, f"row_{number}") for number in range(count)]
    # Facts and the tag are known places; the rest of the rows is anything.
    opening = Cat(_facts_word(width, signs, escape, has_widths, has_base, base, less), Const(places.tag, len(live)))
    sent = [Cat(opening, rows[0][len(opening):]), *rows[1:]]
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
    h.cover("exponent_of_0", ends & (value[-9:-1] == 0))


_WHOLE = 7
"""The width of whole exponents in a line header."""

_LESS = 3
"""Most bits that a group may have less than its line."""


class _Places:
    """Where everything of a line is in the payload of a short block that has one line, its facts being known.

    Parameters
    ----------
    h : Harness
        Where the logic goes.
    size : int
        Bytes of an element.
    live : sequence of bool
        Whether each element is not zero; some of each group are not.
    width, less, signs : Value
        Bits of a distance, 8 for whole exponents; those that each group has less; whether signs are stored.

    Attributes
    ----------
    tag : int
        The tag of the line.
    group_widths, rest_bits : list of Signal
        Bits of a distance, and of a rest, of each group.
    starts : list of Value
        The first byte of each group.
    rests, total : Signal
        Bytes of all rests, and of the payload.
    watched : Signal
        The number of the watched element among those that are not zero.
    group, rest_place, mantissa_place : Signal
        Of that element: its group, the first bit of its rest, and the first byte of its mantissa.
    """

    def __init__(self, h: Harness, size: int, live: Sequence[bool], width: Value, less: Sequence[Value],
                 signs: Value) -> None:
        each = GROUP_BYTES // size
        self.numbers = [k for k in range(len(live)) if live[k]]
        self.tag = sum(1 << k for k in self.numbers)
        at: Value = Const(WORD_BYTES + tag_bytes(size), 8)
        self.group_widths, self.rest_bits, mantissas = [], [], []
        starts: list[Value] = []
        for group in range(GROUPS):
            count = sum(live[group * each:(group + 1) * each])
            bits = h.named(f"width_of_{group}", (width - less[group])[:4])
            rest = h.named(f"rest_of_{group}", Mux(signs, bits, bits - bits.any())[:4])
            self.group_widths.append(bits)
            self.rest_bits.append(rest)
            starts.append(at)
            rests = Array([Const(-(-count * number // 8), 8) for number in range(1 << len(rest))])[rest]
            behind = h.named(f"mantissas_of_{group}", (at + rests)[:8])
            mantissas.append(behind)
            at = h.named(f"behind_{group}", (behind + count * (size - 1))[:8])
        self.starts, self.total = starts, at
        self.rests = h.named("rests", sum((end - start for start, end in zip(starts, mantissas, strict=True)),
                                          Const(0))[:8])
        watched = h.fixed(range(len(self.numbers)), "watched")
        h.assume("an_element", h.begun | (watched < len(self.numbers)))
        self.watched = watched
        rest_places, mantissa_places, groups = [], [], []
        for number in self.numbers:
            group = number // each
            rank = sum(live[group * each:number])
            groups.append(Const(group, 2))
            rest_places.append((starts[group] * 8 + self.rest_bits[group] * rank)[:11])
            mantissa_places.append((mantissas[group] + rank * (size - 1))[:8])
        self.group = h.named("group", Array(groups)[watched])
        self.rest_place = h.named("rest_place", Array(rest_places)[watched])
        self.mantissa_place = h.named("mantissa_place", Array(mantissa_places)[watched])


class _Facts:
    """The facts that the compressors choose for a line of elements, by docs/formats.md.

    Parameters
    ----------
    h : Harness
        Where the logic goes.
    size : int
        Bytes of an element.
    elements : sequence of Value
        The elements.
    live : sequence of bool
        Which of them are not zero; some of each group are not, and not all.

    Attributes
    ----------
    width, less, signs, escape, base : Value
        As in :func:`cdma.hdl.codec.line_record.line_record_layout`.
    has_base, has_widths : Signal
        Whether there is a byte of base, and one of widths.
    """

    def __init__(self, h: Harness, size: int, elements: Sequence[Value], live: Sequence[bool]) -> None:
        each = GROUP_BYTES // size
        exponents, signs = [element[-9:-1] for element in elements], [element[-1] for element in elements]
        numbers = [k for k in range(len(live)) if live[k]]
        largest: Value = Const(0, 8)
        for k in numbers:
            largest = h.named(f"largest_{k}", Mux(exponents[k] > largest, exponents[k], largest))
        tiny = Cat(exponents[k] == 0 for k in numbers).any()
        escape = h.named("escape", tiny & largest.any())
        widths = []
        for group in range(GROUPS):
            smallest: Value = Const(255, 8)
            mine = [k for k in numbers if k // each == group]
            for k in mine:
                smaller = exponents[k].any() & (exponents[k] < smallest)
                smallest = h.named(f"smallest_{k}", Mux(smaller, exponents[k], smallest))
            some = Cat(exponents[k].any() for k in mine).any()
            distance = h.named(f"distance_{group}", (largest - smallest + escape)[:8])
            widths.append(h.named(f"wanted_{group}", Mux(some, _bits(distance), 0)[:3]))
        longest: Value = Const(0, 3)
        for group, width in enumerate(widths):
            longest = h.named(f"longest_{group}", Mux(width > longest, width, longest))
        whole = h.named("whole", longest == _WHOLE)
        narrower = Cat(width != longest for width in widths).any() & ~whole
        self.less = []
        for group, width in enumerate(widths):
            short = longest - width
            self.less.append(h.named(f"less_{group}", Mux(narrower, Mux(short > _LESS, _LESS, short), 0)[:2]))
        self.signs = h.named("signs", Cat(signs[k] for k in numbers).any())
        self.width = h.named("width", Mux(whole, WHOLE_WIDTH, longest))
        self.base = h.named("base", Mux(whole, WHOLE_BASE, largest)[:8])
        self.escape = h.named("stored_escape", escape & ~whole)
        self.has_base = h.named("has_base", ~whole & largest.any())
        self.has_widths = h.named("has_widths", narrower)

    def word(self) -> Value:
        """Header, base, widths and filler."""
        return _facts_word(self.width, self.signs, self.escape, self.has_widths, self.has_base, self.base, self.less)


def _facts_word(width: Value, signs: Value, escape: Value, has_widths: Value, has_base: Value, base: Value,
                less: Sequence[Value]) -> Value:
    """The facts of a line that is not all zeros: line header, base, widths, and zeros to a multiple of 4 bytes."""
    bits = width[:3] | width[3].replicate(3)
    header = Cat(bits, signs, Const(0, 1), escape, has_widths, has_base)
    widths = Mux(has_widths, Cat(less), 0)
    return Cat(header, Mux(has_base, Cat(base, widths), widths)[:16], Const(0, 8))


def _bits(distance: Value) -> Value:
    """Bits that a distance needs; 7 if it needs more than 6."""
    found: Value = Const(_WHOLE, 3)
    for bits in reversed(range(_MOST_WIDTH + 1)):
        found = Mux(distance < 1 << bits, bits, found)
    return found


def _fits(element: Value, width: Value, base: Value, signs: Value, escape: Value) -> Value:
    """Whether an element that is not zero can be coded so, by docs/formats.md."""
    exponent, sign = element[-9:-1], element[-1]
    distance = (base - exponent)[:8]
    most = (1 << width)[:8] - 1
    near = Mux(escape, (exponent == 0) | (distance < most), distance <= most)
    return ((width == WHOLE_WIDTH) | near) & (signs | ~sign)


def _group(h: Harness, size: int) -> None:
    """A group of {name} that is coded with exponents, or passes as it is, comes back from the decoder of groups bit for
    bit, whatever base, width, signs and escape describe it rightly."""
    m = h.m
    coder, decoder = h.add("coder", GroupCoder((size,))), h.add("decoder", GroupDecoder((size,)))
    raw, coded = h.free(8 * GROUP_BYTES, "raw"), h.free(1, "coded")
    width, base = h.free(4, "width"), h.free(8, "base")
    signs, escape = h.free(1, "signs"), h.free(1, "escape")
    elements = [raw.word_select(k, 8 * size) for k in range(GROUP_BYTES // size)]
    live = Signal(len(elements), name="live")
    m.d.comb += live.eq(Cat(element.any() for element in elements))
    h.assume("widths_that_there_are", (width <= _MOST_WIDTH) | (
        (width == WHOLE_WIDTH) & (base == WHOLE_BASE) & ~escape))
    h.assume("elements_fit", Cat(~element.any() | _fits(element, width, base, signs, escape)
                                 for element in elements).all())
    group = {"width": width, "base": base, "signs": signs, "escape": escape}
    m.d.comb += [
        coder.move.eq(1), decoder.move.eq(1), coder.data.eq(raw), coder.coded.eq(coded), coder.live.eq(live),
        coder.mask.eq(Cat(bit.replicate(size) for bit in live)), coder.element.eq(1),
        *(coder.group[name].eq(value) for name, value in group.items()),
        # The decoder gets the group a cycle later, and bytes that are not there as 0.
        decoder.coded.eq(h.past(coded, "coded")), decoder.mask.eq(coder.o_mask),
        decoder.data.eq(coder.o & Cat(bit.replicate(8) for bit in coder.o_mask)),
        *(decoder.group[name].eq(h.past(value, name)) for name, value in group.items()),
    ]
    before = h.past(h.past(raw, "raw"), "raw_before")
    comes = h.past(h.past(h.begun, "begun"), "begun_before")
    for k in range(len(elements)):
        h.check(f"element_{k}", ~comes | (decoder.o.word_select(k, 8 * size) == before.word_select(k, 8 * size)))
    was_coded = comes & h.past(h.past(coded, "coded_once"), "coded_twice")
    widths = h.past(h.past(width, "width_once"), "width_twice")
    h.cover("short_distances", was_coded & (widths == 3) & before.any())
    h.cover("whole_exponents", was_coded & (widths == WHOLE_WIDTH) & before.any())
    h.cover("escape", was_coded & h.past(h.past(escape, "escape_once"), "escape_twice") & before.any())
    h.cover("not_coded", comes & ~was_coded & before.any())


PROOFS = tuple(
    Proof(f"{side}_{name}_sparse", f"hdl/codec/payload/block_{side}.py", build,
          {"size": size, "within": depth - 1}, depth, "deep",
          f"a whole line; not zero are elements as in {_ZEROS}, repeated; signs, in the groups distances of "
          f"{', '.join(str(_LINE_WIDTH - less) for less in _LINE_LESS)} bits, exponents of 0; {free}; {BEAT}-byte "
          f"beats, no gaps, no stalls; never left raw; memories of a block of {BLOCK} bytes",
          solver="sat", words={"name": name})
    for name, size in (("bfloat16", 2), ("float32", 4)) for side, build, depth, free in (
        ("compressor", _compressor, 60, ("exponents of which one to three lowest bits are free, any signs behind the "
                                         "first, any mantissas whose lowest bit is 1")),
        ("decompressor", _decompressor, 50, "any base, rests and mantissas"))) + tuple(
    Proof(f"group_{name}", "hdl/codec/payload/group_coder.py", _group, {"size": size}, 4, "deep",
          "a group of any content behind any other; no register keeps more than the group before", solver="sat",
          words={"name": name}) for name, size in (("bfloat16", 2), ("float32", 4)))
"""Proofs of exponent coding in the block cores, and of groups."""
