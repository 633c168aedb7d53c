"""Proofs of malformed payloads: the block decompressor's verdict is the first fault of docs/formats.md."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES, TAGS_FIRST
from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.hdl.common.bits import thermometer
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.codecs import BEAT, BLOCK, Sent, in_time

__all__ = ["PROOFS"]


def _verdict(h: Harness, element: int, beats: int, within: int) -> None:
    """Of any payload, of any coding and any raw length up to {raw} bytes, whatever its bytes and however many, the
    verdict is the first fault of docs/formats.md, with as many beats as the block has, or with one where these are not
    known, within the time stated."""
    dut = h.add("decompressor", BlockDecompressor(BEAT, (element,), BLOCK))
    tag_bytes = LINE_BYTES // element // 8
    most = beats * BEAT + tag_bytes
    rows = [h.fixed(8 * BEAT, f"row_{number}") for number in range(-(-most // BEAT) + 1)]
    final, count = h.fixed(range(len(rows)), "final"), h.fixed(range(BEAT + 1), "last_bytes")
    raw, coding = h.fixed(range(beats * BEAT + 1), "raw_bytes"), h.fixed(8, "coding")
    h.assume("a_packet", h.begun | ((final < len(rows)) & (count >= 1) & (count <= BEAT) & (raw <= beats * BEAT)))
    h.m.d.comb += [dut.i.payload.coding.eq(coding), dut.i.payload.raw_bytes.eq(raw)]
    Sent(h, rows, final, thermometer(count, BEAT)).drive(h, dut.i)

    # What the format says: a tag bit for each element of the line, those that are missing 0, then the elements.
    bytes_ = h.named("payload_bytes", final * BEAT + count)
    there = thermometer((raw >> exact_log2(element))[:8], 8 * tag_bytes)
    tag = Cat(rows)[:8 * tag_bytes]
    number: Value = Const(0, 1)
    for bit in tag:
        number = (number + bit)[:8]
    needed = h.named("needed", tag_bytes + number * element)
    faults = ((PayloadError.BAD_CODING, coding[:7] != TAGS_FIRST[element]),
              (PayloadError.BAD_LENGTH, (raw == 0) | raw[:exact_log2(element)].any()),
              (PayloadError.TRUNCATED_TAG, bytes_ < tag_bytes), (PayloadError.BAD_TAG, (tag & ~there).any()),
              (PayloadError.TRUNCATED_DATA, bytes_ < needed), (PayloadError.TRAILING_BYTES, bytes_ > needed))
    verdict: Value = Const(PayloadError.OK.value, 4)
    for fault, met in reversed(faults):
        verdict = Mux(met, fault.value, verdict)
    verdict = h.named("verdict", verdict)
    alone = (verdict != 0) & (verdict <= PayloadError.TRUNCATED_TAG.value)
    last = h.named("last_beat", Mux(alone, 0, (raw - 1)[:len(raw)] >> exact_log2(BEAT)))

    shown = Signal(range(beats + 2), name="shown")
    h.m.d.comb += dut.o.ready.eq(1)
    h.m.d.sync += shown.eq(shown + dut.o.valid)
    code = Value.cast(dut.error.code)
    h.check("verdict_is_that_of_the_format", ~(dut.o.valid & dut.o.payload.last) | (code == verdict))
    h.check("ends_with_its_last_beat", ~dut.o.valid | ((shown <= last) & (dut.o.payload.last == (shown == last))))
    in_time(h, shown > last, within)
    for fault, _ in faults:
        h.cover(fault.name.lower(), dut.o.valid & dut.o.payload.last & (code == fault.value))
    h.cover("ok", dut.o.valid & dut.o.payload.last & (code == 0) & (shown == beats - 1))


PROOFS = tuple(
    Proof(f"malformed_zvc{8 * element}_{beats}", "hdl/codec/payload/block_decompressor.py", _verdict,
          {"element": element, "beats": beats, "within": depth - 1}, depth, which,
          "one payload, beats of 16 bytes, no gaps, no stalls", solver="sat", words={"raw": beats * BEAT})
    for element, beats, depth, which in ((4, 2, 28, "shallow"), (2, 2, 28, "deep"), (1, 1, 28, "deep"),
                                         (4, 8, 34, "deep")))
"""Proofs of malformed payloads."""
