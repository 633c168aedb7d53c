"""Codes the exponents of a group: rests together, mantissas where they were, and a mask of the bytes that count."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.coding import element_layout, select
from cdma.hdl.codec.line_record import GROUP_BYTES, group_layout
from cdma.hdl.codec.payload.group_mask import MOST_REST_BITS, GroupMask, mantissa_place, rest_bits
from cdma.hdl.codec.routing import Gather, Ranks, Steer, joined_ranks, merged_counts, unary_count
from cdma.hdl.common.stage import behind

__all__ = ["GroupCoder", "group_coder_latency"]

_DISTANCE_BITS = 6
"""Bits of the longest distance that is no whole exponent."""


def group_coder_latency(pipeline: str) -> int:
    """Cycles from a group to its bytes."""
    return 4 if pipeline == "fast" else 1


class GroupCoder(wiring.Component):
    """Codes 32 raw bytes with exponents, or lets them pass.

    ::

                   +-------+      +-----------+   +-----------------+
        data ----->| tails |--|-->|           |   |                 |
               +-->|       |  |   | network   |   | rests, side by  |
               |   +-------+  |   |           |-->| side            |---> o
               |   +-------+  |   |           |   |                 |
        live --+-->| count |--|-->| steer     |   |                 |
                   +-------+  |   +-----------+   |                 |
                              |   mantissas ----->|                 |
                   +-------+  |                   +-----------------+
        group ---->| rest  |--|-->[group mask]------------------------> o_mask
                   +-------+  |     ^
        mask -----------------|-----+
                              register

    Elements are counted in halves of the group in front of the register, because flags come late from a memory; the
    halves are added behind it.

    The sign and the exponent of an element become its tail. The lowest bit of it takes the place above the mantissa,
    the rest that of the uppermost byte. A network of as many bytes as there may be elements moves the rests of those
    that are not zero together, in order. What remains is to put them side by side with as many bits as a rest has.

    Only 6 bits of a distance are subtracted. Longer ones are whole exponents: the base is 255 then, and the distance
    is the inverted exponent.

    ======  ======================================================================================
    cycle   while ``move`` is high
    ======  ======================================================================================
    0       ``data``, ``mask``, ``coded``, ``element``, ``group`` are read
    1       ``o`` and ``o_mask`` are those of this group, combinational from registers
    ======  ======================================================================================

    In the pipeline ``fast`` there are registers behind steer, network and bytes as well::

                 1              2                 3                          4
        ... -->[reg]--steer-->[reg]--network-->[reg]--rests, side by side-->[reg]---> o
                              [reg]--mask----->[reg]----------------------->[reg]---> o_mask

    Latency: 1 cycle, 4 in ``fast``. Throughput: a group per cycle.

    Parameters
    ----------
    exponents : tuple of int
        Element sizes that are built: 2 for bfloat16, 4 for float32, or both.
    pipeline : str
        ``small`` or ``fast``.

    Members
    -------
    move : In(1)
        The register takes the group.
    data : In(256)
        Raw bytes.
    mask : In(32)
        Bytes of elements that are not zero, all bytes of them.
    live : In(32 // min(exponents))
        If they are coded: the uppermost lane of each element that is not zero, no other lane.
    coded : In(1)
        Exponents are coded. Otherwise bytes and mask pass unchanged.
    element : In(element_layout(exponents))
        Element size, if they are coded.
    group : In(group_layout())
        What is known of the group, if they are coded. Distances must fit its width.
    o : Out(256)
        Bytes on the places that :class:`~cdma.hdl.codec.payload.group_mask.GroupMask` shows; the others are undefined.
    o_mask : Out(32)
        Bytes that count.

    Source: docs/formats.md, "Exponents".
    """

    def __init__(self, exponents: tuple[int, ...], pipeline: str = "small"):
        self._exponents = tuple(sorted(exponents))
        self._fast = pipeline == "fast"
        super().__init__({
            "move": In(1), "data": In(8 * GROUP_BYTES), "mask": In(GROUP_BYTES),
            "live": In(GROUP_BYTES // self._exponents[0]), "coded": In(1),
            "element": In(element_layout(self._exponents)), "group": In(group_layout()),
            "o": Out(8 * GROUP_BYTES), "o_mask": Out(GROUP_BYTES),
        })

    def _ends(self, element: Any) -> Value:
        """Of each lane: whether it is the uppermost one of an element, and so has a sign and an exponent."""
        lane_bytes = self._exponents[0]
        lanes = GROUP_BYTES // lane_bytes
        return Cat(select(element, {size: Const((lane + 1) * lane_bytes % size == 0, 1) for size in self._exponents})
                   for lane in range(lanes))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lane_bytes = self._exponents[0]
        lanes = GROUP_BYTES // lane_bytes
        # What the register holds: bytes, of which those with a sign and an exponent hold a tail if they are coded.
        kept = Signal(8 * GROUP_BYTES, reset_less=True)
        mask = Signal(GROUP_BYTES, reset_less=True)
        coded, element = Signal(reset_less=True), Signal(element_layout(self._exponents), reset_less=True)
        rest = Signal(4, reset_less=True)

        ends = Signal(lanes)
        m.submodules.steer = steer = Steer(lanes, 1)
        m.d.comb += [
            ends.eq(self._ends(self.element)),
        ]
        count = self._counted(m, steer.before)
        tails = self._tails(m, ends, self.live)
        with m.If(self.move):
            m.d.sync += [kept.eq(tails), mask.eq(self.mask), coded.eq(self.coded), element.eq(self.element),
                         rest.eq(rest_bits(self.group))]

        swap, at_least = steer.swap, Cat(count)
        swap, at_least, kept, mask, coded, element, rest = self._later(
            m, "steered", swap=swap, at_least=at_least, kept=kept, mask=mask, coded=coded, element=element, rest=rest)
        m.submodules.group_mask = group_mask = GroupMask(self._exponents)
        out_mask, out = self.o_mask, self.o
        if self._fast:
            out_mask, out = Signal(GROUP_BYTES, name="masked"), Signal(8 * GROUP_BYTES, name="bytes")
        m.d.comb += [
            group_mask.rest.eq(rest), group_mask.at_least.eq(at_least), group_mask.element.eq(element),
            group_mask.elements.eq(select(element, {
                size: Cat(mask[size * k] for k in range(GROUP_BYTES // size)) for size in self._exponents})),
            out_mask.eq(Mux(coded, group_mask.mask, mask)),
        ]
        m.submodules.network = network = Gather(lanes, 1)
        own = self._ends(element)
        for lane in range(lanes):
            upper = kept.word_select((lane + 1) * lane_bytes - 1, 8)
            m.d.comb += [network.i.word_select(lane, 8).eq(upper & own[lane].replicate(8))]
        m.d.comb += network.swap.eq(swap)
        moved, kept, coded, element, rest, out_mask = self._later(
            m, "moved", bytes=network.o, kept=kept, coded=coded, element=element, rest=rest, mask=out_mask)
        self._placed(m, out, kept, coded, element, _side_by_side(m, rest, moved))
        if self._fast:
            m.d.comb += Cat(self.o, self.o_mask).eq(Cat(self._later(m, "placed", bytes=out, mask=out_mask)))
        return m

    def _later(self, m: Module, stage: str, **values: Any) -> list[Any]:
        """The values behind a register of the pipeline ``fast``; in ``small``, the values themselves."""
        if not self._fast:
            return list(values.values())
        return [behind(m, self.move, value, f"{stage}_{name}") for name, value in values.items()]

    def _counted(self, m: Module, before: Any) -> list[Value]:
        """Counts the elements of each half of the group, and adds them up behind the register; all of them in unary."""
        lanes = len(self.live)
        halves = []
        for k in range(2):
            m.submodules[f"ranks_{k}"] = ranks = Ranks(lanes // 2, 1)
            m.d.comb += ranks.mask.eq(self.live.word_select(k, lanes // 2))
            half: Any = Signal.like(ranks.before, name=f"before_{k}", reset_less=True)
            count = Signal.like(ranks.count, name=f"count_{k}", reset_less=True)
            unary = Signal(lanes // 2, name=f"unary_{k}", reset_less=True)
            with m.If(self.move):
                m.d.sync += [half.eq(ranks.before), count.eq(ranks.count),
                             unary.eq(Cat(unary_count(m, ranks.mask, f"ranked_{k}")))]
            halves.append((half, count, unary))
        (low, low_count, low_unary), (high, _, high_unary) = halves
        joined_ranks(m, before, low, high, low_count)
        return merged_counts(m, list(low_unary), list(high_unary), "unary")

    def _tails(self, m: Module, ends: Value, live: Value) -> Value:
        """The bytes, with a tail in place of sign and exponent: its lowest bit above the mantissa, above it the rest.

        The rest of a zero is 0, so that the network leaves zeros behind the last rest.
        """
        group, lane_bits = self.group, 8 * self._exponents[0]
        # Modules of their own are simulated much faster: they are evaluated when their inputs change only.
        m.submodules.tails = part = Module()
        some_width, tails = Signal(), Signal.like(self.data, name="tails")
        part.d.comb += some_width.eq(group.width != 0)
        for lane in range(len(live)):
            raw = self.data.word_select(lane, lane_bits)
            mantissa, exponent, sign = raw[:-9], raw[-9:-1], raw[-1]
            distance = Signal(8, name=f"distance_{lane}")
            tail, shown = Signal(9, name=f"tail_{lane}"), Signal(9, name=f"shown_{lane}")
            escaped = group.escape & ~exponent.any()
            own = self.coded & ends[lane]
            part.d.comb += [
                distance.eq(Cat((group.base - exponent)[:_DISTANCE_BITS] | escaped.replicate(_DISTANCE_BITS),
                                ~exponent[_DISTANCE_BITS:])),
                tail.eq(Mux(group.signs, Cat(sign, distance), Cat(distance[0] & some_width, distance[1:]))),
                shown.eq(Mux(own, tail & Cat(Const(1), live[lane].replicate(8)), raw[-9:])),
                tails.word_select(lane, lane_bits).eq(Cat(mantissa, shown)),
            ]
        return tails

    def _placed(self, m: Module, out: Value, kept: Value, coded: Value, element: Any, rests: Value) -> None:
        """Chooses each byte: a rest, a part of a mantissa, or what was there."""
        m.submodules.places = part = Module()
        for byte in range(GROUP_BYTES):
            places: dict[int, Value] = {}
            for size in self._exponents:
                begin = mantissa_place(size, 0)
                if byte < begin:
                    places[size] = rests.word_select(byte, 8)
                else:
                    number, place = divmod(byte - begin, size - 1)
                    places[size] = kept.word_select(number * size + place, 8)
            part.d.comb += out.word_select(byte, 8).eq(
                Mux(coded, select(element, places), kept.word_select(byte, 8)))


def _side_by_side(m: Module, rest: Value, lanes: Value) -> Value:
    """The lowest ``rest`` bits of each byte, without gaps."""
    m.submodules.rests = part = Module()
    count = len(lanes) // 8
    length = Signal(MOST_REST_BITS + 1)
    packed = Signal(8 * count, name="rests")
    part.d.comb += length.eq(Cat(rest == bits for bits in range(MOST_REST_BITS + 1)))
    for bit in range(8 * count):
        part.d.comb += packed[bit].eq(Cat(
            length[bits] & lanes.word_select(bit // bits, 8)[bit % bits]
            for bits in range(1, MOST_REST_BITS + 1) if bit < bits * count).any())
    return packed
