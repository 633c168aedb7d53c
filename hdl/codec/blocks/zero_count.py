"""Counts the bytes of a block's non-zero elements while the block passes."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.codec.coding import element_layout, one_hot_element
from hdl.codec.scan import Scan

__all__ = ["ZeroCount"]

DELAY = 3
"""Cycles from the last beat of a block to its count."""


class ZeroCount(wiring.Component):
    """Counts the bytes of non-zero elements, block by block.

    ::

        beat --> [register] --> scan --> [mask] --> [count] --> [sum] --> bytes, done

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.
    block_bytes : int
        Raw bytes of a block at most.

    Members
    -------
    valid : In(1)
        A beat is transferred.
    data, keep, last : In
        The beat; ``keep`` is read on the last beat of a block only.
    element : In(3)
        Element size in bytes, beside each beat.
    done : Out(1)
        One cycle, 3 cycles after the last beat of a block: ``bytes`` is the block's total.
    bytes : Out(range(block_bytes + 1))
        Bytes of the block's non-zero elements.
    """

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int):
        self._beat_bytes = beat_bytes
        self._sizes = tuple(sorted(sizes))
        super().__init__({
            "valid": In(1), "data": In(8 * beat_bytes), "keep": In(beat_bytes), "last": In(1), "element": In(3),
            "done": Out(1), "bytes": Out(range(block_bytes + 1)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, sizes = self._beat_bytes, self._sizes
        grain = min(sizes)
        m.submodules.scan = scan = Scan(n, sizes)
        element = Signal(element_layout(sizes))
        mask = Signal(n // grain, reset_less=True)
        count = Signal(range(n // grain + 1), reset_less=True)
        units = Signal(range(len(self.bytes) and (1 << len(self.bytes)) // grain), reset_less=True)
        came = Signal(2)
        ends = Signal(2)
        fresh = Signal(init=1)
        m.d.comb += [
            element.eq(one_hot_element(self.element, sizes)),
            scan.data.eq(self.data),
            scan.present.eq(self.keep | (~self.last).replicate(n)),
            scan.element.eq(element),
            self.bytes.eq(units * grain),
        ]
        m.d.sync += [
            came.eq(came << 1 | self.valid),
            ends.eq(ends << 1 | (self.valid & self.last)),
            mask.eq(scan.mask),
            count.eq(_ones(mask)),
            self.done.eq(ends[1]),
        ]
        with m.If(came[1]):
            m.d.sync += [units.eq(Mux(fresh, 0, units) + count), fresh.eq(ends[1])]
        return m


def _ones(mask: Value) -> Value:
    """Set bits, as a balanced tree of sums."""
    sums: list[Value] = list(mask)
    while len(sums) > 1:
        sums = [sums[k] + sums[k + 1] for k in range(0, len(sums), 2)]
    return sums[0]
