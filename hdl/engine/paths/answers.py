"""Finds out when all bursts that a lane of prefetch wrote for a transfer are answered."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
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
    """Counts the bursts of blocks that enter a lane and the responses at its port, and marks the ends of transfers.

    ::

        enters --> [entered] -- ends --> [marks] --+
                                                   v
        answered --> [answered] ------------> reached? --> [passed] --> done

    A lane writes its blocks in order and responses come in order, so all bursts of a transfer are answered when as many
    are as had entered at its end. No unit of the lane needs to know of transfers.

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
    enters : In(range(bursts_of_block(config) + 1))
        Bursts of the block whose first row the lane takes in this cycle, or 0.
    answered : In(1)
        A response was taken at the port.
    ends : In(1)
        All rows of a transfer were taken, in an earlier cycle.
    done : Out(1)
        All bursts of the oldest transfer are answered.
    take : In(1)
        The oldest transfer has ended; only with ``done``.
    """

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({"enters": In(range(bursts_of_block(config) + 1)), "answered": In(1), "ends": In(1),
                          "done": Out(1), "take": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        most = config.transfers_in_flight
        # Half of the numbers are behind any mark.
        bits = ceil_log2(config.outstanding_reads + _BLOCKS * bursts_of_block(config)) + 1
        entered, answered = Signal(bits), Signal(bits)
        passed = Signal(range(most + 1))
        m.submodules.marks = marks = StreamFifo(bits, most)
        passes = Signal()
        gap = Signal(bits)
        m.d.comb += [
            marks.i.valid.eq(self.ends), marks.i.payload.eq(entered),
            gap.eq(answered - marks.o.payload),
            passes.eq(marks.o.valid & ~gap[-1]), marks.o.ready.eq(passes),
            self.done.eq(passed != 0),
        ]
        m.d.sync += [
            entered.eq(entered + self.enters), answered.eq(answered + self.answered),
            passed.eq(passed + passes - self.take),
        ]
        return m
