"""Finds out when all bursts that the lanes of prefetch wrote for a transfer are answered."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.bursts import burst_beats

__all__ = ["Answers", "burst_bytes", "bursts_of_block", "marks_layout"]

_BLOCKS = 16            # more than the blocks that a lane holds, without those whose bursts are outstanding


def burst_bytes(config: EngineConfig) -> int:
    """Bytes of a full-length burst of a lane. No burst crosses a multiple; blocks begin at one, or fit between two."""
    return burst_beats(config.beat_bytes, config.burst_beats) * config.beat_bytes


def bursts_of_block(config: EngineConfig) -> int:
    """Bursts of a block at most."""
    return -(-config.block_bytes // burst_bytes(config))


def marks_layout(config: EngineConfig) -> data.ArrayLayout:
    """For each lane a count of bursts, modulo a power of two.

    It has one bit more than the largest difference between two counts needs, so the sign of a difference tells which
    count is ahead. A lane may be ahead of the oldest transfer if that waits for a slower lane. Of transfers behind it
    with blocks in the slower lane, only as many come as that lane can hold; one without has at most one block in any
    other lane.
    """
    blocks = _BLOCKS + config.transfers_in_flight
    return data.ArrayLayout(ceil_log2(config.outstanding_reads + blocks * bursts_of_block(config)) + 1, config.lanes)


class Answers(wiring.Component):
    """Counts the bursts of blocks that enter each lane, and the responses at its port.

    ::

        enters --> [entered] --> marks ... --> mark --+      of each lane
                                                      v
        answered --> [answered] -----------------> reached? --> all lanes --> done

    A lane writes its blocks in order, and responses come in order. So all bursts of a transfer are answered when the
    count of responses has reached the count of bursts at the end of its stream. No unit of a lane needs to know of
    transfers. The path keeps ``marks``, the counts at the end of each stream, with the totals of the transfer, and
    shows those of the oldest transfer as ``mark``.

    =====  =====================================================
    cycle  for a transfer whose bursts are answered at its end
    =====  =====================================================
    0      ``mark`` is ``valid``
    1      ``done``
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
    marks : Out(marks_layout(config))
        Bursts that have entered each lane, in an earlier cycle.
    valid, mark : In(1), In(marks_layout(config))
        What ``marks`` were at the end of the oldest transfer.
    done : Out(1)
        All bursts of the oldest transfer are answered.
    take : In(1)
        The oldest transfer has ended; only with ``done``. ``mark`` is another one from the next cycle on.
    """

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({"enters": In(range(bursts_of_block(config) + 1)).array(config.lanes),
                          "answered": In(config.lanes), "marks": Out(marks_layout(config)), "valid": In(1),
                          "mark": In(marks_layout(config)), "done": Out(1), "take": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        reached = Signal(self._config.lanes)
        m.d.sync += self.done.eq(self.valid & reached.all() & ~self.take)
        for lane, (enters, entered, mark) in enumerate(zip(self.enters, self.marks, self.mark, strict=True)):
            answered, gap = (Signal.like(entered, name=f"{name}_{lane}") for name in ("answered", "gap"))
            m.d.comb += [gap.eq(answered - mark), reached[lane].eq(~gap[-1])]
            m.d.sync += [entered.eq(entered + enters), answered.eq(answered + self.answered[lane])]
        return m
