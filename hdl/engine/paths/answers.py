"""Finds out when all bursts that the lanes of prefetch wrote for a transfer are answered."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.fifo import StreamFifo
from hdl.config.engine import EngineConfig

__all__ = ["PAGE_BYTES", "Answers", "bursts_of_block"]

PAGE_BYTES = 4096
"""No burst crosses such a boundary; blocks begin at one, or fit between two."""

_BLOCKS = 16            # more blocks than a lane can hold whose bursts are not outstanding


def bursts_of_block(config: EngineConfig) -> int:
    """Bursts of a block at most."""
    return -(-config.block_bytes // PAGE_BYTES)


class Answers(wiring.Component):
    """Counts the bursts of blocks that enter each lane and the responses at its port, and marks the ends of transfers.

    ::

        enters --> [entered] -- ends --> [marks] --+      of each lane
                                                   v
        answered --> [answered] ------------> reached? --> all lanes --> done

    A lane writes its blocks in order and responses come in order, so all bursts of a transfer are answered when as many
    are as had entered at its end. No unit of a lane needs to know of transfers.

    =====  =====================================================
    cycle  for a transfer whose bursts are answered at its end
    =====  =====================================================
    0      ``ends``
    3      ``done``
    =====  =====================================================

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    enters : In(range(bursts_of_block(config) + 1)).array(lanes)
        Bursts of the block whose first row a lane takes in this cycle, or 0.
    answered : In(lanes)
        A response was taken at the lane's port.
    ends : In(1)
        All rows of a transfer were taken, in an earlier cycle.
    done : Out(1)
        All bursts of the oldest transfer are answered.
    take : In(1)
        The oldest transfer has ended; only with ``done``.
    """

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({"enters": In(range(bursts_of_block(config) + 1)).array(config.lanes),
                          "answered": In(config.lanes), "ends": In(1), "done": Out(1), "take": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        most = config.transfers_in_flight
        # Half of the numbers are behind any mark. A lane may be ahead of the oldest mark by the transfers behind it,
        # which have one block each if another lane has none of them.
        blocks = _BLOCKS + most
        bits = ceil_log2(config.outstanding_reads + blocks * bursts_of_block(config)) + 1
        m.submodules.marks = marks = StreamFifo(data.ArrayLayout(bits, config.lanes), most)
        reached = Signal(config.lanes)
        m.d.comb += [marks.i.valid.eq(self.ends), marks.o.ready.eq(self.take)]
        m.d.sync += self.done.eq(marks.o.valid & reached.all() & ~self.take)
        for lane in range(config.lanes):
            entered, answered, gap = (Signal(bits, name=f"{name}_{lane}") for name in ("entered", "answered", "gap"))
            m.d.comb += [marks.i.payload[lane].eq(entered), gap.eq(answered - marks.o.payload[lane]),
                         reached[lane].eq(~gap[-1])]
            m.d.sync += [entered.eq(entered + self.enters[lane]), answered.eq(answered + self.answered[lane])]
        return m
