"""Bounded proofs of both directions of zero-value coding, each against the format: any data, a whole line and more.

A compressor gives exactly the stream that docs/formats.md says, and a decompressor makes of exactly such a stream the
packet that it stands for. Together they say what a round trip does, but for its timing: beats come without gaps here,
and are taken at once unless a proof says that they are not. Each is far easier than the round trip, where the solver
has to find by itself what both sides have in common.

Each proof watches one element, at a place that the solver chooses: it is where it should be. As the place is any, this
holds for all elements. Tags, lengths and ends are compared as a whole.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Mux, Signal, Value

from cdma.hdl.codec.coding import LINE_BYTES, SHORT, TAGS_FIRST
from cdma.hdl.codec.lines.compressor import Compressor
from cdma.hdl.codec.lines.decompressor import Decompressor
from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.codec.payload.block_compressor import BlockCompressor
from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.block_lemmas import decompressor_lemmas
from cdma.verif.formal.proofs.codecs import BEAT, Sent, in_time
from cdma.verif.formal.proofs.packed_format import Format

__all__ = ["BLOCK", "PROOFS"]

BLOCK = 512
"""Raw bytes of a block, the fewest that can be built; they size the memories."""


def _ends(h: Harness, stream: Any, rows: int, final: Value, keep: Value, within: int | None) -> Signal:
    """Takes a packet, and asserts that it ends where it should; returns the number of its beats so far.

    It ends in time, if a time is given. Otherwise it may be stopped in any cycle.
    """
    shown = Signal(range(rows + 1), name="shown")
    with h.m.If(stream.valid & stream.ready):
        h.m.d.sync += shown.eq(shown + 1)
    last = shown == final
    h.check("no_further_beat", ~stream.valid | (shown <= final))
    h.check("last", ~stream.valid | (stream.payload.last == last))
    h.check("keep", ~stream.valid | ~last | (stream.payload.keep == keep))
    if within is None:
        h.keeps(stream, "taken")
        h.cover("waits", stream.valid & ~stream.ready)
    else:
        h.m.d.comb += stream.ready.eq(1)
        in_time(h, shown > final, within)
    return shown


def _covers(h: Harness, form: Format, ends: Value) -> None:
    whole = (form.final == len(form.there) // form.per - 1) & (form.elements == form.per)
    h.cover("longest_packet", ends & whole & form.mask.all())
    h.cover("zeros", ends & whole & ~form.mask.any())
    h.cover("partial_line", ends & (form.elements != form.per) & form.mask.any())


def _compressor(element: int, beats: int, blocks: bool, within: int | None, exact: bool = False) -> Harness:
    h = Harness()
    m, bits = h.m, 8 * element
    dut = h.add("compressor", BlockCompressor(BEAT, (element,), BLOCK) if blocks else Compressor(BEAT, (element,)))
    per = BEAT // element
    data = [h.fixed(8 * BEAT, f"beat_{number}") for number in range(beats)]
    elements = [beat.word_select(place, bits) for beat in data for place in range(per)]
    form = Format(h, element, beats, [value.any() for value in elements], blocks, exact)
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
    return h


def _decompressor(element: int, beats: int, blocks: bool, within: int | None, exact: bool = False) -> Harness:
    h = Harness()
    m, bits = h.m, 8 * element
    dut = h.add("decompressor", BlockDecompressor(BEAT, (element,), BLOCK) if blocks
                else Decompressor(BEAT, (element,)))
    per = BEAT // element
    form = Format(h, element, beats, list(h.fixed(per * beats, "nonzero")), blocks, exact)
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
        decompressor_lemmas(h, form, watched_row, value)
    m.d.comb += value.eq(Mux(form.mask.bit_select(form.place, 1), unit, 0))
    shown = _ends(h, dut.o, beats, form.final, form.raw_keep, within)
    lane = form.place[:form.shift]
    watched = dut.o.valid & (shown == form.place >> form.shift) & form.there.bit_select(form.place, 1)
    h.check("watched_element", ~watched | (dut.o.payload.data.word_select(lane, bits) == value))
    fine = PayloadError.OK if blocks else ErrorCode.OK
    h.check("no_error", ~dut.o.valid | ~dut.o.payload.last | (dut.error.code == fine))
    _covers(h, form, dut.o.valid & dut.o.payload.last)
    return h


def _packets(beats: int, exact: bool) -> str:
    line = LINE_BYTES // BEAT
    if exact:
        return f"any packet of {beats} beats, the last one with 1 element or more: a whole line, or one that is partial"
    return f"any packet of 1 element to {'a whole line' if beats == line else f'{beats} of the {line} beats of a line'}"


def _proof(side: str, element: int, beats: int, blocks: bool, depth: int, which: str = "deep", exact: bool = False,
           stalls: bool = False) -> Proof:
    bits, time = 8 * element, "and payloads stay while they wait" if stalls else "within the time stated"
    stream = f"the payload of a short block of zvc{bits}" if blocks else f"the line stream of elements of {bits} bits"
    claim = {"compressor": f"What leaves the compressor is {stream}, every byte where the formats say, with its end "
                           f"and facts, {time}",
             "decompressor": f"From {stream}, as the formats say, the decompressor makes the packet that it stands "
                             f"for, without an error, {time}"}[side]
    unit = f"hdl/codec/payload/block_{side}.py" if blocks else f"hdl/codec/lines/{side}.py"
    build = {"compressor": _compressor, "decompressor": _decompressor}[side]
    memories = f"; never left raw; memories of a block of {BLOCK} bytes" if blocks else ""
    return Proof(
        f"{side}_{'zvc' if blocks else 'lines'}{bits}_{beats}{'_stalls' if stalls else ''}", unit, claim + ".",
        lambda: build(element, beats, blocks, None if stalls else depth - 1, exact), "bounded", depth, which,
        solver="sat", coverage=f"{_packets(beats, exact)}, any data, {BEAT}-byte beats, no gaps, "
                               f"{'any stalls at the output' if stalls else 'no stalls'}{memories}")


PROOFS = (
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
)
"""Proofs of both directions."""
