"""Makes a raw beat from a window of packed bytes, and finds where a packet ends."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import element_layout, select
from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.codec.routing import Scatter, Steer, ranks_layout
from cdma.hdl.common.bits import thermometer

__all__ = ["Expander", "slot_layout"]


def slot_layout(beat_bytes: int, sizes: tuple[int, ...]) -> data.StructLayout:
    """What one raw beat is made of.

    ``window``: packed bytes, each on its own lane; ``start``: unit of the window with the beat's first byte; ``mask``,
    ``before``, ``count``: non-zero units, their ranks and their number; ``bounded``, ``left``: the end of the packet
    is in sight, and the units left before it; ``ragged``: bytes follow the last unit that make no unit; ``opens``,
    ``closes``: first and last beat of a line; ``ones``: number of set bits at the upper end of the mask without a gap;
    ``rest``: the tag says non-zero for all elements after this beat; ``final``: the packet ends with this whole line;
    ``bare``: the packet ended where a tag was due, ``torn`` if inside the tag.
    """
    grain = min(sizes)
    units = beat_bytes // grain
    return data.StructLayout({
        "window": 8 * beat_bytes,
        "start": exact_log2(units),
        "mask": units,
        "before": ranks_layout(beat_bytes, grain),
        "count": exact_log2(units) + 1,
        "bounded": 1,
        "left": exact_log2(units) + 2,
        "ragged": 1,
        "element": element_layout(sizes),
        "opens": 1,
        "closes": 1,
        "ones": exact_log2(units) + 1,
        "rest": 1,
        "final": 1,
        "bare": 1,
        "torn": 1,
    })


class Expander(wiring.Component):
    """Makes a raw beat from a slot. Combinational.

    ::

        before, start --> Steer --+
                                  v
        window ---------------> Scatter --> zeros by mask --> data
        count, left, mask, rest ----------> end of packet --> keep, last, ends, code

    A packet may end in mid-line only where the rest of the tag is all ones, which stands for missing elements.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.

    Members
    -------
    slot : In(slot_layout(beat_bytes, sizes))
        The slot.
    data : Out(8 * beat_bytes)
        The raw beat.
    keep : Out(beat_bytes // grain)
        Units of the beat that belong to the packet.
    last : Out(1)
        The packet ends with this beat.
    ends : Out(1)
        The packet ends with this beat before its line is whole; data read after it is to be dropped.
    code : Out(ErrorCode)
        Result of the packet, valid with ``last``.
    """

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...]):
        self._beat_bytes = beat_bytes
        self._sizes = sizes
        super().__init__({
            "slot": In(slot_layout(beat_bytes, sizes)),
            "data": Out(8 * beat_bytes),
            "keep": Out(beat_bytes // min(sizes)),
            "last": Out(1),
            "ends": Out(1),
            "code": Out(ErrorCode),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        slot = self.slot
        grain = min(self._sizes)
        units = self._beat_bytes // grain
        m.submodules.steer = steer = Steer(self._beat_bytes, grain)
        m.submodules.scatter = scatter = Scatter(self._beat_bytes, grain)
        m.d.comb += [
            steer.before.eq(slot.before),
            steer.start.eq(slot.start),
            scatter.swap.eq(steer.swap),
            scatter.i.eq(slot.window),
        ]
        for unit in range(units):
            m.d.comb += self.data.word_select(unit, 8 * grain).eq(
                Mux(slot.mask[unit], scatter.o.word_select(unit, 8 * grain), 0))

        cut = Signal()
        spent = Signal()
        missing = Signal(exact_log2(units) + 1)
        kept = Signal(units)
        split = Signal()
        last_missing = Signal(units)
        absent = Signal(units)
        m.d.comb += [
            last_missing.eq(thermometer(missing, units)),
            absent.eq(last_missing[::-1]),
            cut.eq(slot.bounded & (slot.count > slot.left)),
            spent.eq(slot.bounded & (slot.count == slot.left)),
            missing.eq(slot.count - slot.left),
            # An element of which some bytes are missing is dropped.
            kept.eq(select(slot.element, {
                size: Cat(~absent[(unit * grain // size + 1) * size // grain - 1] for unit in range(units))
                for size in self._sizes})),
            split.eq(select(slot.element, {
                size: missing[:exact_log2(size // grain)].any() if size > grain else 0 for size in self._sizes})),
        ]
        partial = Signal()
        m.d.comb += [
            # A partial line: the missing units must be ones of the tag, at the end of the mask and after it.
            partial.eq(slot.rest & (slot.left + slot.ones >= slot.count) & (kept[0] | ~slot.opens)),
            # `cut`, or `spent` with only missing elements after it, in one comparison because the path is critical.
            self.ends.eq(slot.bare | (slot.bounded & (slot.count + (slot.rest & ~slot.closes) > slot.left))),
            self.last.eq(self.ends | slot.final),
            self.keep.eq(((kept & partial.replicate(units)) | (~cut).replicate(units))
                         & (~slot.bare).replicate(units)),
        ]
        leftover = (cut & split) | ((cut | spent) & slot.ragged)
        m.d.comb += self.code.eq(Mux(
            slot.bare, Mux(slot.torn, ErrorCode.TRUNCATED_TAG, ErrorCode.OK), Mux(
                cut & ~partial, ErrorCode.TRUNCATED_DATA, Mux(
                    leftover, ErrorCode.TRAILING_BYTES, ErrorCode.OK))))
        return m
