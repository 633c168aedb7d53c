"""Bounded proofs of blocks that stay raw: a compressor sends the beats that came, and so does a decompressor."""

from __future__ import annotations

from amaranth.hdl import Cat, Value

from cdma.hdl.codec.coding import LINE_BYTES, RAW_CODING, WORD_BYTES
from cdma.hdl.codec.payload.block_compressor import BlockCompressor
from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.hdl.common.bits import length
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.codecs import BEAT, Packet, Sent, in_time
from cdma.verif.formal.proofs.packed import BLOCK
from cdma.verif.formal.proofs.packed_format import Format

__all__ = ["PROOFS"]

_BEATS = LINE_BYTES // BEAT
"""Beats of a whole line."""


def _compressor(element: int, within: int) -> Harness:
    h = Harness()
    m = h.m
    dut = h.add("compressor", BlockCompressor(BEAT, (element,), BLOCK))
    data = [h.fixed(8 * BEAT, f"beat_{number}") for number in range(_BEATS)]
    form = Format(h, element, _BEATS, [beat.word_select(place, 8 * element).any() for beat in data
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
    return h


def _decompressor(element: int, within: int) -> Harness:
    h = Harness()
    m = h.m
    dut = h.add("decompressor", BlockDecompressor(BEAT, (element,), BLOCK, for_lane=True))
    packet = Packet(h, BEAT, element, _BEATS)
    packet.drive(h, dut.i)
    raw_bytes = packet.final * BEAT + length(packet.keep)
    m.d.comb += [dut.i.payload.coding.eq(RAW_CODING), dut.i.payload.raw_bytes.eq(raw_bytes), dut.o.ready.eq(1)]
    shown = packet.compare(h, dut.o)
    last = dut.o.valid & dut.o.payload.last
    h.check("no_error", ~last | (dut.error.code == PayloadError.OK))
    in_time(h, shown > packet.final, within)
    h.cover("longest_packet", (shown == _BEATS) & packet.keep.all())
    h.cover("zeros", last & ~dut.o.payload.data.any())
    h.cover("partial_line", (shown > packet.final) & ~packet.keep.all())
    return h


def _proof(side: str, element: int, depth: int, which: str = "deep") -> Proof:
    build, said, condition = {
        "compressor": (_compressor, "A block that its coding would not make shorter leaves the compressor as it came",
                       "any packet of 8 beats that coding makes no shorter, the last one with 1 element or more"),
        "decompressor": (_decompressor, "A raw block leaves the decompressor of a lane as it came, without an error",
                         f"any packet of 1 element of {8 * element} bits to a whole line"),
    }[side]
    return Proof(
        f"{side}_raw{8 * element}", f"hdl/codec/payload/block_{side}.py", f"{said}, within the time stated.",
        lambda: build(element, depth - 1), "bounded", depth, which, solver="sat",
        coverage=f"{condition}, any data, {BEAT}-byte beats, no gaps, no stalls; memories of a block of {BLOCK} bytes")


PROOFS = (_proof("compressor", 4, 40), _proof("decompressor", 4, 30))
"""Proofs of raw blocks."""
