"""Bounded proofs of both directions of zero-value coding, each against the format: any data, a whole line and more.

A compressor gives exactly the stream that docs/formats.md says, and a decompressor makes of exactly such a stream the
packet that it stands for. Together they say what a round trip does, but for its timing: beats come without gaps here,
and are taken at once. Each is far easier than the round trip, where the solver has to find by itself what both sides
have in common.

Each proof watches one element, at a place that the solver chooses: it is where it should be. As the place is any, this
holds for all elements. Tags, lengths and ends are compared as a whole.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.utils import exact_log2

from hdl.codec.coding import LINE_BYTES, SHORT, TAGS_FIRST, tag_bytes
from hdl.codec.lines.compressor import Compressor
from hdl.codec.lines.decompressor import Decompressor
from hdl.codec.packets import ErrorCode
from hdl.codec.payload.block_compressor import BlockCompressor
from hdl.codec.payload.block_decompressor import BlockDecompressor
from hdl.codec.payload.unpacking import PayloadError
from hdl.common.bits import thermometer
from verif.formal.harness import Harness
from verif.formal.proof import Proof
from verif.formal.proofs.codecs import BEAT, Sent

__all__ = ["PROOFS"]

_BLOCK = 512
"""Raw bytes of a block, the fewest that can be built; they size the memories."""


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

    Attributes
    ----------
    final, elements : Signal
        The last raw beat, and its elements.
    there, mask : Signal
        Elements of the packet, and those of them that are not zero.
    tags : list of (Value, Value, Value)
        Of each line: whether the packet has it, the place of its tag, its bits.
    place, spot : Signal
        The watched element, and its place in the packed stream.
    total : Signal
        Units of the packed stream.
    raw_keep, packed_keep, last_row : Signal
        Of the last raw beat, and of the last packed one; and the number of that.
    rows : int
        Packed beats of the longest packet.
    """

    def __init__(self, h: Harness, element: int, beats: int, nonzero: list[Value], tags_first: bool) -> None:
        self._m: Module = h.m
        self.per = per = BEAT // element
        self.shift = exact_log2(per)
        count, line = per * beats, LINE_BYTES // element
        lines, tag_units = -(-count // line), tag_bytes(element) // element
        self.rows = -(-(count + lines * tag_units) // per)
        self.final, self.elements = h.fixed(range(max(beats, 2)), "final"), h.fixed(range(per + 1), "elements")
        h.assume("a_packet", h.begun | ((self.final < beats) & (self.elements >= 1) & (self.elements <= per)))
        self.place = h.fixed(range(count), "place")
        h.assume("a_place", h.begun | (self.place < count))
        in_last = thermometer(self.elements, per)
        self.there = self._named("there", Cat((self.final > k // per) | ((self.final == k // per) & in_last[k % per])
                                              for k in range(count)))
        self.mask = self._named("mask", Cat(nonzero) & self.there)

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
                at = self._named(f"behind_tag_{number}", (at + tag_units)[:width])
            starts.append(at)
            at = self._named(f"behind_{beat}", (at + _count(self.mask[beat * per:(beat + 1) * per]))[:width])
            total = Mux(self.final == beat, at, total)
        self.total = self._named("total", total)
        spot: Value = Const(0, width)
        for k in range(count):
            before = _count(self.mask[k - k % per:k])
            spot = spot | Mux(self.place == k, (starts[k // per] + before)[:width], 0)
        self.spot = self._named("spot", spot)
        missing, unused = Const(0, count) if tags_first else ~self.there, lines * line - count
        bits = Cat(self.mask | missing, Const(0 if tags_first else (1 << unused) - 1, unused))
        self.tags = [(has[number], tag_places[number], bits[number * line:(number + 1) * line])
                     for number in range(lines)]
        less = self._named("total_less_one", (self.total - 1)[:width])
        self.last_row = self._named("last_row", less >> self.shift)
        self.raw_keep = self._named("raw_keep", Cat(bit.replicate(element) for bit in in_last))
        self.packed_keep = self._named("packed_keep", Cat(
            bit.replicate(element) for bit in thermometer(less[:self.shift] + 1, per)))

    def _named(self, name: str, value: Value) -> Signal:
        signal = Signal(len(value), name=name)
        self._m.d.comb += signal.eq(value)
        return signal

    def tag_units(self, element: int) -> list[tuple[str, Value, Value, Value]]:
        """Of each unit of a tag: its name, whether the packet has it, its place, its bits."""
        bits = 8 * element
        return [(f"tag_{number}_{unit}", has, self._named(f"place_of_tag_{number}_{unit}", (place + unit)),
                 tag[unit * bits:(unit + 1) * bits])
                for number, (has, place, tag) in enumerate(self.tags) for unit in range(len(tag) // bits)]


def _count(mask: Value) -> Value:
    return sum(mask, Const(0, 1))


def _ends(h: Harness, stream: Any, rows: int, final: Value, keep: Value, within: int) -> Signal:
    """Takes a packet, and asserts that it ends where it should, in time; returns the number of its beats so far."""
    h.m.d.comb += stream.ready.eq(1)
    shown, cycle = Signal(range(rows + 1), name="shown"), Signal(range(within + 2), name="cycle")
    h.m.d.sync += cycle.eq(Mux(cycle == within + 1, cycle, cycle + 1))
    with h.m.If(stream.valid & stream.ready):
        h.m.d.sync += shown.eq(shown + 1)
    last = shown == final
    h.check("no_further_beat", ~stream.valid | (shown <= final))
    h.check("last", ~stream.valid | (stream.payload.last == last))
    h.check("keep", ~stream.valid | ~last | (stream.payload.keep == keep))
    h.check("ends_in_time", (cycle < within) | (shown > final))
    return shown


def _covers(h: Harness, form: _Format, ends: Value) -> None:
    whole = (form.final == len(form.there) // form.per - 1) & (form.elements == form.per)
    h.cover("longest_packet", ends & whole & form.mask.all())
    h.cover("zeros", ends & whole & ~form.mask.any())
    h.cover("partial_line", ends & (form.elements != form.per) & form.mask.any())


def _compressor(element: int, beats: int, blocks: bool, within: int) -> Harness:
    h = Harness()
    m, bits = h.m, 8 * element
    dut = h.add("compressor", BlockCompressor(BEAT, (element,), _BLOCK) if blocks else Compressor(BEAT, (element,)))
    per = BEAT // element
    data = [h.fixed(8 * BEAT, f"beat_{number}") for number in range(beats)]
    elements = [beat.word_select(place, bits) for beat in data for place in range(per)]
    form = _Format(h, element, beats, [value.any() for value in elements], blocks)
    m.d.comb += dut.i.payload.element.eq(element)
    Sent(h, data, form.final, form.raw_keep).drive(h, dut.i)
    shown = _ends(h, dut.o, form.rows, form.last_row, form.packed_keep, within)
    row = dut.o.payload.data
    value, spot = Signal(bits, name="value"), form.spot
    m.d.comb += value.eq(Array(elements)[form.place])
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
    return h


def _decompressor(element: int, beats: int, blocks: bool, within: int) -> Harness:
    h = Harness()
    m, bits = h.m, 8 * element
    dut = h.add("decompressor", BlockDecompressor(BEAT, (element,), _BLOCK) if blocks
                else Decompressor(BEAT, (element,)))
    per = BEAT // element
    form = _Format(h, element, beats, list(h.fixed(per * beats, "nonzero")), blocks)
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
    shown = _ends(h, dut.o, beats, form.final, form.raw_keep, within)
    value = Signal(bits, name="value")
    m.d.comb += value.eq(Mux(form.mask.bit_select(form.place, 1), Array(units)[form.spot], 0))
    lane = form.place[:form.shift]
    watched = dut.o.valid & (shown == form.place >> form.shift) & form.there.bit_select(form.place, 1)
    h.check("watched_element", ~watched | (dut.o.payload.data.word_select(lane, bits) == value))
    fine = PayloadError.OK if blocks else ErrorCode.OK
    h.check("no_error", ~dut.o.valid | ~dut.o.payload.last | (dut.error.code == fine))
    _covers(h, form, dut.o.valid & dut.o.payload.last)
    return h


def _part(beats: int) -> str:
    line = LINE_BYTES // BEAT
    return "a whole line" if beats == line else f"{beats} of the {line} beats of a line"


def _proof(side: str, element: int, beats: int, blocks: bool, depth: int, which: str = "deep") -> Proof:
    bits = 8 * element
    stream = f"the payload of a short block of zvc{bits}" if blocks else f"the line stream of elements of {bits} bits"
    claim = {"compressor": f"What leaves the compressor is {stream}, every byte where the formats say, with its end "
                           "and facts, within the time stated",
             "decompressor": f"From {stream}, as the formats say, the decompressor makes the packet that it stands "
                             "for, without an error and within the time stated"}[side]
    unit = f"hdl/codec/payload/block_{side}.py" if blocks else f"hdl/codec/lines/{side}.py"
    build = {"compressor": _compressor, "decompressor": _decompressor}[side]
    memories = f"; never left raw; memories of a block of {_BLOCK} bytes" if blocks else ""
    return Proof(
        f"{side}_{'zvc' if blocks else 'lines'}{bits}_{beats}", unit, claim + ".",
        lambda: build(element, beats, blocks, depth - 1), "bounded", depth, which, solver="sat",
        coverage=f"any packet of 1 element to {_part(beats)}, any data, {BEAT}-byte beats, no gaps and stalls"
                 + memories)


PROOFS = (
    _proof("compressor", 1, 2, False, 18), _proof("decompressor", 1, 2, False, 18),
    _proof("compressor", 2, 2, False, 18, "shallow"), _proof("decompressor", 2, 2, False, 18, "shallow"),
    _proof("compressor", 2, 8, False, 24), _proof("decompressor", 2, 8, False, 20),
    _proof("compressor", 4, 8, False, 24), _proof("decompressor", 4, 8, False, 20),
    _proof("compressor", 1, 2, True, 30), _proof("decompressor", 1, 1, True, 26),
    _proof("compressor", 2, 2, True, 30), _proof("decompressor", 2, 2, True, 28),
    _proof("compressor", 4, 2, True, 30), _proof("decompressor", 4, 2, True, 28),
)
"""Proofs of both directions."""
