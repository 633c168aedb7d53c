"""Bounded proofs of the codecs: what is compressed and expanded again is what came in."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Mux, Signal, Value

from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.codec.lines.compressor import Compressor
from cdma.hdl.codec.lines.decompressor import Decompressor
from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.common.bits import thermometer
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof

__all__ = ["BEAT", "BLOCK", "PROOFS", "Packet", "Sent", "in_time", "taken"]

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


PROOFS = tuple(
    Proof(f"lines_32_{BEAT}_{beats}", "hdl/codec/lines", _lines,
          {"beat_bytes": BEAT, "element": 4, "beats": beats, "within": depth - 1}, depth, "deep",
          f"any packet of 1 element to {beats} beats, {beats} beats of the {LINE_BYTES // BEAT} of a line, with "
          "any data", depth, solver=solver, words={"bits": 32})
    for beats, depth, solver in ((2, 22, "smt"), (4, 27, "sat")))
"""Proofs of the codecs."""
