"""Where the zero-value codings put everything of a packet, by docs/formats.md: what proofs of both directions share."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Mux, Value
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES, tag_bytes
from cdma.hdl.common.bits import thermometer
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proofs.codecs import BEAT

__all__ = ["Format"]


class Format:
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
