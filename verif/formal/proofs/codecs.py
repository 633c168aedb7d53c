"""Bounded proofs of both directions of zero-value coding, each against the format: any data, a whole line and more.

A compressor gives exactly the stream that docs/formats.md says, and a decompressor makes of exactly such a stream the
packet that it stands for. Together they say what a round trip does, but for its timing: beats come without gaps here,
and are taken at once unless a proof says that they are not. Each is far easier than the round trip, where the solver
has to find by itself what both sides have in common.

Each proof watches one element, at a place that the solver chooses: it is where it should be. As the place is any, this
holds for all elements. Tags, lengths and ends are compared as a whole. Blocks that stay raw are sent as they came.
Round trips of lines are proved as well, of few beats.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES, RAW_CODING, SHORT, TAGS_FIRST, WORD_BYTES, tag_bytes
from cdma.hdl.codec.lines.compressor import Compressor
from cdma.hdl.codec.lines.decompressor import Decompressor
from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.codec.payload.block_compressor import BlockCompressor
from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.hdl.common.bits import length, thermometer
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof

__all__ = ["BEAT", "BLOCK", "PROOFS", "Sent", "in_time"]

BEAT = 16
"""Bytes of a beat."""

BLOCK = 512
"""Raw bytes of a block, the fewest that can be built; they size the memories."""


class Sent:
    """Beats that are sent without a gap from the first cycle on, as a packet; ``given`` of them have been taken.

    Parameters
    ----------
    h : Harness
        Where the logic goes.
    data : list of Value
        The beats.
    final, keep : Value
        The number of the last beat that is sent, and its bytes.
    """

    def __init__(self, h: Harness, data: list[Any], final: Value, keep: Value) -> None:
        self.data, self.final, self.keep = data, final, keep
        self.given = Signal(range(len(data) + 1), name="given")

    def drive(self, h: Harness, stream: Any) -> None:
        """Sends the packet."""
        last = self.given == self.final
        h.m.d.comb += [
            stream.valid.eq(h.begun & (self.given <= self.final)),
            stream.payload.data.eq(Array(self.data)[self.given]),
            stream.payload.last.eq(last), stream.payload.keep.eq(Mux(last, self.keep, -1)),
        ]
        with h.m.If(stream.valid & stream.ready):
            h.m.d.sync += self.given.eq(self.given + 1)

    def compare(self, h: Harness, stream: Any) -> Signal:
        """Asserts that a stream gives the packet, and nothing behind it; returns the number of its beats so far."""
        shown = taken(h, stream, len(self.data), self.final, self.keep)
        keep = Mux(shown == self.final, self.keep, -1)
        for number in range(len(self.keep)):
            byte = Array(self.data)[shown].word_select(number, 8)
            h.check(f"byte_{number}", ~stream.valid | ~keep[number] | (
                stream.payload.data.word_select(number, 8) == byte))
        return shown


def taken(h: Harness, stream: Any, most: int, final: Value, keep: Value) -> Signal:
    """Asserts that a packet of a stream ends with a beat, with bytes; returns the number of its beats so far."""
    shown = Signal(range(most + 1), name="shown")
    with h.m.If(stream.valid & stream.ready):
        h.m.d.sync += shown.eq(shown + 1)
    last = shown == final
    h.check("no_further_beat", ~stream.valid | (shown <= final))
    h.check("last", ~stream.valid | (stream.payload.last == last))
    h.check("keep", ~stream.valid | ~last | (stream.payload.keep == keep))
    return shown


class Packet(Sent):
    """A packet that the solver chooses: up to ``beats`` beats, whole elements, the last beat perhaps not full."""

    def __init__(self, h: Harness, beat_bytes: int, element: int, beats: int) -> None:
        data = [h.fixed(8 * beat_bytes, f"beat_{number}") for number in range(beats)]
        most = beat_bytes // element
        final, elements = h.fixed(range(beats), "final"), h.fixed(range(most + 1), "elements")
        h.assume("a_packet", (final < beats) & (elements >= 1) & (elements <= most))
        keep = Signal(beat_bytes, name="final_keep")
        whole = thermometer(elements, most)
        h.m.d.comb += keep.eq(Cat(bit.replicate(element) for bit in whole))
        super().__init__(h, data, final, keep)


def in_time(h: Harness, done: Value, within: int) -> None:
    """Asserts that something is done from a cycle on, counted from the reset."""
    cycle = Signal(range(within + 2), name="cycle")
    h.m.d.sync += cycle.eq(Mux(cycle == within + 1, cycle, cycle + 1))
    h.check("ends_in_time", (cycle < within) | done)


def _lines(h: Harness, beat_bytes: int, element: int, beats: int, within: int) -> None:
    """A packet of elements of {bits} bits comes back from compressor and decompressor ({beat_bytes}-byte beats) as it
    was, without an error and within the time stated."""
    m = h.m
    compressor = h.add("compressor", Compressor(beat_bytes, (element,)))
    decompressor = h.add("decompressor", Decompressor(beat_bytes, (element,)))
    packet = Packet(h, beat_bytes, element, beats)
    packet.drive(h, compressor.i)
    m.d.comb += compressor.i.payload.element.eq(element)
    between = compressor.o
    m.d.comb += [
        decompressor.i.valid.eq(between.valid), between.ready.eq(decompressor.i.ready),
        decompressor.i.payload.data.eq(between.payload.data), decompressor.i.payload.keep.eq(between.payload.keep),
        decompressor.i.payload.last.eq(between.payload.last), decompressor.i.payload.element.eq(element),
        decompressor.o.ready.eq(1),
    ]
    shown = packet.compare(h, decompressor.o)
    last = decompressor.o.valid & decompressor.o.payload.last
    h.check("no_error", ~last | (decompressor.error.code == ErrorCode.OK))
    in_time(h, shown > packet.final, within)
    h.cover("longest_packet_returns", shown == beats)
    h.cover("partial_line_returns", (shown > packet.final) & ~packet.keep.all())


class _Format:
    """Where everything of a packet is in its packed stream, in units of an element, by docs/formats.md.

    Parameters
    ----------
    h : Harness
        Where the logic goes.
    element, beats : int
        Bytes of an element, and raw beats of the longest packet.
    nonzero : list of Value
        Whether each element is not zero.
    tags_first : bool
        The payload of a short block, not the line stream: all tags come first, and those of missing elements are 0.
    exact : bool, optional
        Packets have all the beats, and only the elements of the last one are chosen. So the solver knows in which cycle
        a packet ends, and everything that follows from it; this makes most of the difference for a whole line.

    Attributes
    ----------
    final, elements : Value
        The last raw beat, and its elements.
    there, mask : Signal
        Elements of the packet, and those of them that are not zero.
    tags : list of (Value, Value, Value)
        Of each line: whether the packet has it, the place of its tag, its bits.
    place, spot : Signal
        The watched element, and its place in the packed stream.
    starts : list of Value
        The place of each beat's first element that is not zero.
    total : Signal
        Units of the packed stream.
    raw_keep, packed_keep, last_row : Signal
        Of the last raw beat, and of the last packed one; and the number of that.
    rows : int
        Packed beats of the longest packet.
    """

    def __init__(self, h: Harness, element: int, beats: int, nonzero: list[Value], tags_first: bool,
                 exact: bool = False) -> None:
        self._h = h
        self.per = per = BEAT // element
        self.shift = exact_log2(per)
        count, line = per * beats, LINE_BYTES // element
        lines, tag_units = -(-count // line), tag_bytes(element) // element
        self.rows = -(-(count + lines * tag_units) // per)
        self.final = Const(beats - 1, range(max(beats, 2))) if exact else h.fixed(range(max(beats, 2)), "final")
        self.elements = h.fixed(range(per + 1), "elements")
        h.assume("a_packet", h.begun | ((self.final < beats) & (self.elements >= 1) & (self.elements <= per)))
        self.place = h.fixed(range(count), "place")
        h.assume("a_place", h.begun | (self.place < count))
        in_last = thermometer(self.elements, per)
        self.there = self._h.named("there", Cat((self.final > k // per) | ((self.final == k // per) & in_last[k % per])
                                              for k in range(count)))
        self.mask = self._h.named("mask", Cat(nonzero) & self.there)

        width = (count + lines * tag_units).bit_length()
        has = [self.final >= number * LINE_BYTES // BEAT for number in range(lines)]
        at: Value = Const(0, width)
        if tags_first:
            at = Mux(has[-1], lines, lines - 1)[:width] * tag_units if lines <= 2 else at
        starts, tag_places, total = [], [], at
        for beat in range(beats):
            number, first = divmod(beat * BEAT, LINE_BYTES)
            if not first and tags_first:
                tag_places.append(Const(number * tag_units, width))
            elif not first:
                tag_places.append(at)
                at = self._h.named(f"behind_tag_{number}", (at + tag_units)[:width])
            starts.append(at)
            at = self._h.named(f"behind_{beat}", (at + _count(self.mask[beat * per:(beat + 1) * per]))[:width])
            total = Mux(self.final == beat, at, total)
        self.total, self.starts = self._h.named("total", total), starts
        spot: Value = Const(0, width)
        for k in range(count):
            before = _count(self.mask[k - k % per:k])
            spot = spot | Mux(self.place == k, (starts[k // per] + before)[:width], 0)
        self.spot = self._h.named("spot", spot)
        missing, unused = Const(0, count) if tags_first else ~self.there, lines * line - count
        bits = Cat(self.mask | missing, Const(0 if tags_first else (1 << unused) - 1, unused))
        self.tags = [(has[number], tag_places[number], bits[number * line:(number + 1) * line])
                     for number in range(lines)]
        less = self._h.named("total_less_one", (self.total - 1)[:width])
        self.last_row = self._h.named("last_row", less >> self.shift)
        self.raw_keep = self._h.named("raw_keep", Cat(bit.replicate(element) for bit in in_last))
        self.packed_keep = self._h.named("packed_keep", Cat(
            bit.replicate(element) for bit in thermometer(less[:self.shift] + 1, per)))

    def tag_units(self, element: int) -> list[tuple[str, Value, Value, Value]]:
        """Of each unit of a tag: its name, whether the packet has it, its place, its bits."""
        bits = 8 * element
        return [(f"tag_{number}_{unit}", has, self._h.named(f"place_of_tag_{number}_{unit}", (place + unit)),
                 tag[unit * bits:(unit + 1) * bits])
                for number, (has, place, tag) in enumerate(self.tags) for unit in range(len(tag) // bits)]


def _count(mask: Value) -> Value:
    return sum(mask, Const(0, 1))


def _ends(h: Harness, stream: Any, rows: int, final: Value, keep: Value, within: int | None) -> Signal:
    """Takes a packet, and asserts that it ends where it should; returns the number of its beats so far.

    It ends in time, if a time is given. Otherwise it may be stopped in any cycle.
    """
    shown = taken(h, stream, rows, final, keep)
    if within is None:
        h.keeps(stream, "taken")
        h.cover("waits", stream.valid & ~stream.ready)
    else:
        h.m.d.comb += stream.ready.eq(1)
        in_time(h, shown > final, within)
    return shown


def _covers(h: Harness, form: _Format, ends: Value) -> None:
    whole = (form.final == len(form.there) // form.per - 1) & (form.elements == form.per)
    h.cover("longest_packet", ends & whole & form.mask.all())
    h.cover("zeros", ends & whole & ~form.mask.any())
    h.cover("partial_line", ends & (form.elements != form.per) & form.mask.any())


def _compressor(h: Harness, element: int, beats: int, blocks: bool, within: int | None, exact: bool = False) -> None:
    """What leaves the compressor is {stream}, every byte where the formats say, with its end and facts, {time}."""
    m, bits = h.m, 8 * element
    dut = h.add("compressor", BlockCompressor(BEAT, (element,), BLOCK) if blocks else Compressor(BEAT, (element,)))
    per = BEAT // element
    data = [h.fixed(8 * BEAT, f"beat_{number}") for number in range(beats)]
    elements = [beat.word_select(place, bits) for beat in data for place in range(per)]
    form = _Format(h, element, beats, [value.any() for value in elements], blocks, exact)
    m.d.comb += dut.i.payload.element.eq(element)
    Sent(h, data, form.final, form.raw_keep).drive(h, dut.i)
    value, spot = Signal(bits, name="value"), form.spot
    m.d.comb += value.eq(Array(elements)[form.place])
    shown = _ends(h, dut.o, form.rows, form.last_row, form.packed_keep, within)
    row = dut.o.payload.data
    watched = dut.o.valid & (shown == spot >> form.shift) & form.mask.bit_select(form.place, 1)
    h.check("watched_element", ~watched | (row.word_select(spot[:form.shift], bits) == value))
    for name, has, place, tag in form.tag_units(element):
        there = dut.o.valid & has & (shown == place >> form.shift)
        h.check(name, ~there | (row.word_select(place[:form.shift], bits) == tag))
    if blocks:
        block = dut.block
        raw = (form.final * BEAT) + form.elements * element
        h.check("facts", ~dut.o.valid | ((block.coding == (TAGS_FIRST[element] | SHORT)) & (block.raw_bytes == raw)
                                         & (block.payload_bytes == form.total * element) & ~block.cut))
    else:
        h.check("no_error", ~dut.o.valid | ~dut.o.payload.last | (dut.error == ErrorCode.OK))
    _covers(h, form, dut.o.valid & dut.o.payload.last)


def _decompressor(h: Harness, element: int, beats: int, blocks: bool, within: int | None, exact: bool = False) -> None:
    """From {stream}, as the formats say, the decompressor makes the packet that it stands for, without an error,
    {time}."""
    m, bits = h.m, 8 * element
    dut = h.add("decompressor", BlockDecompressor(BEAT, (element,), BLOCK) if blocks
                else Decompressor(BEAT, (element,)))
    per = BEAT // element
    form = _Format(h, element, beats, list(h.fixed(per * beats, "nonzero")), blocks, exact)
    rows = [h.fixed(8 * BEAT, f"row_{number}") for number in range(form.rows)]
    units = [row.word_select(place, bits) for row in rows for place in range(per)]
    for name, has, place, tag in form.tag_units(element):
        h.assume(name, h.begun | ~has | (Array(units)[place] == tag))
    if blocks:
        m.d.comb += [dut.i.payload.coding.eq(TAGS_FIRST[element] | SHORT),
                     dut.i.payload.raw_bytes.eq(form.final * BEAT + form.elements * element)]
    else:
        m.d.comb += dut.i.payload.element.eq(element)
    Sent(h, rows, form.last_row, form.packed_keep).drive(h, dut.i)
    value = Signal(bits, name="value")
    unit = Array(units)[form.spot]
    if exact:
        watched_row = h.named("watched_row", Array(rows)[form.spot >> form.shift])
        unit = watched_row.word_select(form.spot[:form.shift], bits)
        _decompressor_lemmas(h, form, watched_row, value)
    m.d.comb += value.eq(Mux(form.mask.bit_select(form.place, 1), unit, 0))
    shown = _ends(h, dut.o, beats, form.final, form.raw_keep, within)
    lane = form.place[:form.shift]
    watched = dut.o.valid & (shown == form.place >> form.shift) & form.there.bit_select(form.place, 1)
    h.check("watched_element", ~watched | (dut.o.payload.data.word_select(lane, bits) == value))
    fine = PayloadError.OK if blocks else ErrorCode.OK
    h.check("no_error", ~dut.o.valid | ~dut.o.payload.last | (dut.error.code == fine))
    _covers(h, form, dut.o.valid & dut.o.payload.last)


def _proof(side: str, element: int, beats: int, blocks: bool, depth: int, which: str = "deep", exact: bool = False,
           stalls: bool = False) -> Proof:
    bits, line = 8 * element, LINE_BYTES // BEAT
    unit, kind = (f"payload/block_{side}", "zvc") if blocks else (f"lines/{side}", "lines")
    packets = (f"{beats} beats, the last one with 1 element or more: a whole line, or one that is partial" if exact else
               f"1 element to {'a whole line' if beats == line else f'{beats} of the {line} beats of a line'}")
    stalled = "any stalls at the output" if stalls else "no stalls"
    memories = f"; never left raw; memories of a block of {BLOCK} bytes" if blocks else ""
    return Proof(
        f"{side}_{kind}{bits}_{beats}{'_stalls' if stalls else ''}", f"hdl/codec/{unit}.py",
        {"compressor": _compressor, "decompressor": _decompressor}[side],
        {"element": element, "beats": beats, "blocks": blocks, "within": None if stalls else depth - 1, "exact": exact},
        depth, which, f"any packet of {packets}, any data, {BEAT}-byte beats, no gaps, {stalled}{memories}",
        solver="sat", words={
            "time": "and payloads stay while they wait" if stalls else "within the time stated",
            "stream": (f"the payload of a short block of zvc{bits}" if blocks else
                       f"the line stream of elements of {bits} bits")})


_ROWS = 3
"""Rows that an unpacker holds."""


def _counter(h: Harness, most: int, name: str, counts: Value, first: Value | int = 0) -> Signal:
    """A number that goes up where ``counts`` is high, shown from ``first`` on."""
    counter, shown = Signal(range(most + 2), name=f"{name}_counter"), Signal(range(2 * most + 2), name=name)
    with h.m.If(counts):
        h.m.d.sync += counter.eq(counter + 1)
    h.m.d.comb += shown.eq(counter + first)
    return shown


def _decompressor_lemmas(h: Harness, form: _Format, watched_row: Value, value: Value) -> None:
    """What is true inside a block decompressor while it unpacks a block: each fact helps to prove the next.

    The solver finds it hard that counts, places and rows of the hardware are the sums that the format says. So this is
    said here step by step, for the beat in each stage and for the element that the proof watches.

    Parameters
    ----------
    h : Harness
        Where they go.
    form : _Format
        The payload.
    watched_row, value : Value
        The packed row with the watched element, and the element.
    """
    per, shift, bits = form.per, form.shift, len(value)
    beats = len(form.starts)
    unpacker, rows = "decompressor.unpacker", "decompressor.unpacker.rows"
    move, lane_of_beat = h.inner(f"{unpacker}.move"), h.inner(f"{unpacker}.start")
    sliced_valid, sliced = h.inner(f"{unpacker}.sliced_valid"), Value.cast(h.inner(f"{unpacker}.sliced"))
    valid = h.inner(f"{unpacker}.valid")
    starts = Array([*form.starts, form.total])
    lane, row = form.spot[:shift], form.spot >> shift
    watched = form.mask.bit_select(form.place, 1)
    # Rows of data, as they come from the ring.
    comes, data = h.inner("decompressor.store.data__valid"), Value.cast(h.inner("decompressor.store.data__payload"))
    ready = h.inner(f"{unpacker}.data__ready")
    first = form.starts[0] >> shift
    loaded = _counter(h, form.rows, "loaded_row", comes & ready, first)
    at = Value.cast(h.inner("decompressor.store.ring.at"))[:-1]
    h.check("ring_reads_row_by_row", ~comes | (at == loaded + 1))
    h.check("row_comes", ~comes | ~watched | (row != loaded) | (data[:8 * BEAT] == watched_row))
    h.check("last_row_is_marked", ~comes | (data[8 * BEAT] == (loaded == form.last_row)))
    # Masks and places.
    sent = _counter(h, beats, "sliced_beat", sliced_valid & move)
    mask = Array([form.mask[k * per:(k + 1) * per] for k in range(beats)])
    h.check("beat_has_its_mask", ~sliced_valid | (sliced[:per] == mask[sent]))
    placed = _counter(h, beats, "placed_beat", valid & move)
    h.check("beat_has_its_place", ~valid | (lane_of_beat == h.named("start_of_placed", starts[placed])[:shift]))
    # The rows that the next beat sees.
    shown, window = h.inner(f"{rows}.shown"), h.inner(f"{rows}.window")
    spread = Signal(range(beats + 1), name="spread_beat")
    h.m.d.comb += spread.eq(placed - 1)
    start = Signal(len(form.spot), name="start_of_spread")
    h.m.d.comb += start.eq(starts[spread])
    for unit in range(per):
        number = Signal(len(form.spot), name=f"row_of_unit_{unit}")
        h.m.d.comb += number.eq((start >> shift) + (start[:shift] > unit) - first)
        source = h.inner(f"{rows}.source_{unit}")
        h.check(f"unit_{unit}_has_its_source", ~(shown & (placed != 0)) | (source == _turned(number)))
    # Registers of rows, which are loaded in turn; one whose turn it is loads in every cycle in which it may.
    turn, mine = h.inner(f"{rows}.turn"), h.named("mine", shown & watched & (form.place >> shift == spread))
    h.check("rows_take_turns", turn == _turned((loaded - first)[:len(loaded)]))
    at_place = _turned((row - first)[:len(row)])
    for k in range(_ROWS):
        number, here = Signal(range(2 * form.rows + 2), name=f"number_{k}"), Signal(name=f"here_{k}")
        with h.m.If(ready & turn[k]):
            h.m.d.sync += [number.eq(loaded), here.eq(comes)]
        h.check(f"row_{k}_is_of_the_last", ~here | ((number < loaded) & (number + _ROWS >= loaded)
                                                    & (_turned((number - first)[:len(number)]) == 1 << k)))
        h.check(f"row_{k}_has_its_row", ~here | ~watched | (row != number)
                | (h.inner(f"{rows}.row_{k}") == watched_row))
        h.check(f"row_{k}_stays", ~mine | ~at_place[k] | (here & (number == row)))
    sources = Array([h.inner(f"{rows}.source_{unit}") for unit in range(per)])
    h.check("element_has_its_source", ~mine | (sources[lane] == at_place))
    h.check("element_is_in_window", ~mine | (window.word_select(lane, bits) == value))
    h.check("element_is_spread", ~mine | (
        h.inner(f"{unpacker}.scatter.o").word_select(form.place[:shift], bits) == value))


def _turned(number: Value) -> Value:
    """The register of a row, one-hot; the first row of a block has register 1."""
    return Array([Const(1 << (k + 1) % _ROWS, _ROWS) for k in range(1 << len(number))])[number]


_LINE_BEATS = LINE_BYTES // BEAT
"""Beats of a whole line."""


def _raw_compressor(h: Harness, element: int, within: int) -> None:
    """A block that its coding would not make shorter leaves the compressor as it came, within the time stated."""
    m = h.m
    dut = h.add("compressor", BlockCompressor(BEAT, (element,), BLOCK))
    data = [h.fixed(8 * BEAT, f"beat_{number}") for number in range(_LINE_BEATS)]
    form = _Format(h, element, _LINE_BEATS, [beat.word_select(place, 8 * element).any() for beat in data
                                       for place in range(BEAT // element)], True, exact=True)
    raw_bytes = form.final * BEAT + form.elements * element
    coded_bytes = form.total * element
    h.assume("coding_saves_nothing", h.begun | (coded_bytes + WORD_BYTES >= raw_bytes))
    packet = Sent(h, data, form.final, form.raw_keep)
    packet.drive(h, dut.i)
    m.d.comb += [dut.i.payload.element.eq(element), dut.i.payload.fallback.eq(1), dut.o.ready.eq(1)]
    # What follows from the assumption, step by step: these help the solver.
    orders, packs = h.inner("compressor.packing__ready"), h.inner("compressor.packer.scanned_valid")
    order = Value.cast(h.inner("compressor.lengths.packing__payload"))
    h.check("block_stays_raw", ~(orders & h.inner("compressor.lengths.packing__valid")) | order[0])
    h.check("whole_beats_are_packed", ~packs | h.inner("compressor.packer.ranks.count")[-1])
    block = dut.block
    h.check("facts", ~dut.o.valid | ((block.coding == RAW_CODING) & (block.raw_bytes == raw_bytes)
                                     & (block.payload_bytes == raw_bytes) & ~block.cut))
    shown = packet.compare(h, dut.o)
    in_time(h, shown > form.final, within)
    last = dut.o.valid & dut.o.payload.last
    h.cover("longest_packet", last & form.raw_keep.all())
    h.cover("some_zeros", last & ~Cat(beat.any() for beat in data).all())
    h.cover("partial_line", last & ~form.raw_keep.all())


def _raw_decompressor(h: Harness, element: int, within: int) -> None:
    """A raw block leaves the decompressor of a lane as it came, without an error, within the time stated."""
    m = h.m
    dut = h.add("decompressor", BlockDecompressor(BEAT, (element,), BLOCK, for_lane=True))
    packet = Packet(h, BEAT, element, _LINE_BEATS)
    packet.drive(h, dut.i)
    raw_bytes = packet.final * BEAT + length(packet.keep)
    m.d.comb += [dut.i.payload.coding.eq(RAW_CODING), dut.i.payload.raw_bytes.eq(raw_bytes), dut.o.ready.eq(1)]
    shown = packet.compare(h, dut.o)
    last = dut.o.valid & dut.o.payload.last
    h.check("no_error", ~last | (dut.error.code == PayloadError.OK))
    in_time(h, shown > packet.final, within)
    h.cover("longest_packet", (shown == _LINE_BEATS) & packet.keep.all())
    h.cover("zeros", last & ~dut.o.payload.data.any())
    h.cover("partial_line", (shown > packet.final) & ~packet.keep.all())


_ROUND_TRIPS = tuple(
    Proof(f"lines_32_{BEAT}_{beats}", "hdl/codec/lines", _lines,
          {"beat_bytes": BEAT, "element": 4, "beats": beats, "within": depth - 1}, depth, "deep",
          f"any packet of 1 element to {beats} beats, {beats} beats of the {LINE_BYTES // BEAT} of a line, with "
          "any data", depth, solver=solver, words={"bits": 32})
    for beats, depth, solver in ((2, 22, "smt"), (4, 27, "sat")))

PROOFS = (
    *_ROUND_TRIPS,
    _proof("compressor", 1, 2, False, 18), _proof("decompressor", 1, 2, False, 18),
    _proof("compressor", 2, 2, False, 18, "shallow"), _proof("decompressor", 2, 2, False, 18, "shallow"),
    _proof("compressor", 2, 2, False, 18, stalls=True), _proof("decompressor", 2, 2, False, 18, stalls=True),
    _proof("compressor", 2, 8, False, 24), _proof("decompressor", 2, 8, False, 20),
    _proof("compressor", 4, 8, False, 24), _proof("decompressor", 4, 8, False, 20),
    _proof("compressor", 1, 2, True, 30), _proof("decompressor", 1, 1, True, 26),
    _proof("compressor", 2, 2, True, 30), _proof("decompressor", 2, 2, True, 28),
    _proof("compressor", 4, 2, True, 30), _proof("decompressor", 4, 2, True, 28),
    _proof("compressor", 1, 8, True, 42, exact=True), _proof("compressor", 2, 8, True, 40, exact=True),
    _proof("decompressor", 1, 8, True, 30, exact=True), _proof("decompressor", 2, 8, True, 28, exact=True),
    _proof("compressor", 4, 8, True, 40, exact=True), _proof("decompressor", 4, 8, True, 28, exact=True),
    *(Proof(f"{side}_raw32", f"hdl/codec/payload/block_{side}.py", build, {"element": 4, "within": depth - 1}, depth,
            "deep", f"any packet of {packets}, any data, {BEAT}-byte beats, no gaps, no stalls; memories of a block of "
            f"{BLOCK} bytes", solver="sat")
      for side, build, depth, packets in (
          ("compressor", _raw_compressor, 40,
           f"{_LINE_BEATS} beats that coding makes no shorter, the last one with 1 element or more"),
          ("decompressor", _raw_decompressor, 30, "1 element of 32 bits to a whole line"))),
)
"""Proofs of round trips, of both directions, and of raw blocks."""
