"""Makes raw elements of the bytes of a group: the exponent and the sign of each from its rest and its mantissa."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.coding import element_layout
from cdma.hdl.codec.line_record import GROUP_BYTES, group_layout
from cdma.hdl.codec.payload.group_mask import MOST_REST_BITS, mantissa_place, rest_bits
from cdma.hdl.codec.routing import Ranks, Scatter, Steer, swap_layout
from cdma.hdl.common.bits import pick, thermometer
from cdma.hdl.common.stage import behind

__all__ = ["GroupDecoder"]

_DISTANCE_BITS = 6
"""Bits of the longest distance that is no whole exponent."""


class GroupDecoder(wiring.Component):
    """Decodes a group of 32 bytes whose rests and mantissas are at their places; zero-value coding passes unchanged.

    ::

        mask --> ranks, steer --> [lanes, swap bits] ---+
                                                        v
        data --> [data] --+--> rests at stride p --> network --> tails --> exponents, signs --+
                          |                                        ^                          +--> o
                          +--> mantissas ------ lowest bits -------+--------------------------+

    A bfloat16 and the upper half of a float32 have exponent and sign in the same bits, so 16 lanes of two bytes serve
    both types. A float32 group has exponents in every second lane. Mantissas stay where they are. Rests stand in the
    order of the elements that are not zero; the network moves each to the lane of its element.

    ======  ===========================  ==========================================================================
    cycle   registers at its end         what it does
    ======  ===========================  ==========================================================================
    0       data, lanes, swap bits       which lanes have an element, and how the network moves the rests to them
    1                                    rests apart, moved, joined to tails; exponent = base - distance, or 0
    ======  ===========================  ==========================================================================

    In the pipeline ``fast`` there are registers behind the network as well, and what goes past it waits beside it.

    Latency: ``o`` is a function of the registers, in the cycle after ``move``; in ``fast`` a cycle later. Throughput: a
    group per cycle.

    Parameters
    ----------
    exponents : tuple of int
        Element sizes that are built: 2 for bfloat16, 4 for float32, or both.
    pipeline : str
        ``small`` or ``fast``.

    Members
    -------
    move : In(1)
        The inputs are taken.
    data : In(256)
        Bytes of the group, those that are not there 0; the places are those of
        :class:`~cdma.hdl.codec.payload.group_mask.GroupMask`. In zero-value coding, its raw bytes.
    mask : In(32)
        Bytes that are there.
    coded : In(element_layout(exponents))
        One-hot: the element size; 0 for zero-value coding.
    group : In(group_layout())
        The group.
    o : Out(256)
        Raw bytes.

    Source: docs/formats.md, "Exponents".
    """

    def __init__(self, exponents: tuple[int, ...], pipeline: str = "small"):
        self._exponents = tuple(sorted(exponents))
        self._pipeline = pipeline
        super().__init__({
            "move": In(1), "data": In(8 * GROUP_BYTES), "mask": In(GROUP_BYTES),
            "coded": In(element_layout(self._exponents)), "group": In(group_layout()), "o": Out(8 * GROUP_BYTES),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lane_bytes = self._exponents[0]
        lanes = GROUP_BYTES // lane_bytes
        m.submodules.ranks = ranks = Ranks(lanes, 1)
        m.submodules.steer = steer = Steer(lanes, 1)
        m.submodules.scatter = scatter = Scatter(lanes, 1)
        content = Signal(8 * GROUP_BYTES, reset_less=True)
        present = Signal(lanes, reset_less=True)
        swap = Signal(swap_layout(lanes, 1), reset_less=True)
        coded = Signal.like(self.coded, name="coded_held", reset_less=True)
        # Bits of a rest, one-hot, and of a distance, as a mask.
        rest = Signal(MOST_REST_BITS + 1, reset_less=True)
        inside = Signal(_DISTANCE_BITS, reset_less=True)
        base, signs, escape = Signal(8, reset_less=True), Signal(reset_less=True), Signal(reset_less=True)
        group = self.group
        m.d.comb += [
            ranks.mask.eq(Cat(self._chosen(self.coded, {
                size: self.mask[mantissa_place(size, element)]
                for size in self._exponents if (element := self._element(size, lane)) is not None})
                for lane in range(lanes))),
            steer.before.eq(ranks.before),
        ]
        with m.If(self.move):
            m.d.sync += [
                content.eq(self.data), present.eq(ranks.mask), swap.eq(steer.swap), coded.eq(self.coded),
                rest.eq(Cat(rest_bits(group) == bits for bits in range(MOST_REST_BITS + 1))),
                inside.eq(thermometer(group.width, _DISTANCE_BITS)),
                base.eq(group.base), signs.eq(group.signs), escape.eq(group.escape),
            ]

        m.d.comb += [
            scatter.i.eq(Cat(self._rest(content, number, rest) for number in range(lanes))), scatter.swap.eq(swap)]
        rests: Value = scatter.o
        if self._pipeline == "fast":
            rests = behind(m, self.move, rests, "rests_moved")
            content, present, coded, inside, base, signs, escape = (
                behind(m, self.move, each, f"{Value.cast(each).name}_moved")
                for each in (content, present, coded, inside, base, signs, escape))
        for lane in range(lanes):
            # The upper byte of the mantissa, with the lowest bit of the tail.
            part = Signal(8, name=f"part_{lane}")
            distance, exponent = Signal(8, name=f"distance_{lane}"), Signal(8, name=f"exponent_{lane}")
            lower = Signal(_DISTANCE_BITS + 1, name=f"lower_{lane}")
            there, sign = Signal(name=f"there_{lane}"), Signal(name=f"sign_{lane}")
            moved = rests.word_select(lane, 8)
            m.d.comb += [
                part.eq(self._chosen(coded, {
                    size: content.word_select(mantissa_place(size, element) + size - 2, 8)
                    for size in self._exponents if (element := self._element(size, lane)) is not None})),
                # A distance without bits has no lowest one, either.
                distance.eq(Mux(signs, moved, Cat(part[7] & inside[0], moved[:7]))),
                there.eq(present[lane] & ~(escape & (distance[:_DISTANCE_BITS] | ~inside).all())),
                lower.eq(base[:_DISTANCE_BITS] - distance[:_DISTANCE_BITS]),
                # Longer distances are whole exponents: 255 - distance never borrows.
                exponent.eq(Mux(there, Cat(
                    lower[:-1], (base[_DISTANCE_BITS:] - lower[-1])[:2] ^ distance[_DISTANCE_BITS:]), 0)),
                sign.eq(present[lane] & signs & part[7]),
            ]
            word = self.o.word_select(lane, 8 * lane_bytes)
            choices = {size: self._part(content, size, lane, Cat(part[:7], exponent, sign))
                       for size in self._exponents}
            passes = Mux(coded.as_value().any(), 0, content.word_select(lane, 8 * lane_bytes))
            m.d.comb += word.eq(passes | self._chosen(coded, choices))
        return m

    def _chosen(self, coded: data.View[data.StructLayout], choices: Mapping[int, Value]) -> Value:
        """The choice for the element size that is set; 0 if there is none."""
        return pick(Cat(coded[f"b{size}"] for size in choices), list(choices.values()))

    def _element(self, size: int, lane: int) -> int | None:
        """The element whose exponent is in this lane, if there is one."""
        end = (lane + 1) * self._exponents[0]
        return None if end % size else end // size - 1

    def _rest(self, content: Value, number: int, rest: Value) -> Value:
        """The rest of this number: of each bit, those lengths of a rest that reach it, as a sum of products."""
        return Cat(Cat(rest[length] & content[number * length + bit] for length in range(bit + 1, MOST_REST_BITS + 1)
                       ).any() for bit in range(MOST_REST_BITS))

    def _part(self, content: Value, size: int, lane: int, upper: Value) -> Value:
        """The raw bytes of a lane: the upper half of an element, and what is below it; or the lower half of one."""
        lane_bytes = self._exponents[0]
        element = lane * lane_bytes // size
        begin = 8 * mantissa_place(size, element)
        below = content[begin:begin + 8 * (size - 2)]
        if lane_bytes == size:
            return Cat(below, upper)
        return below if self._element(size, lane) is None else upper
