"""Finds the fault that comes first in a stream, although lanes report theirs at different times."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.transfer.streams import stream_fault_layout

__all__ = ["Verdict"]

_PAUSE = 4      # cycles until rows that the distributor sent before it was stopped are counted by the lanes


class Verdict(wiring.Component):
    """Waits until all blocks before a fault have been checked, and reports the first fault in the stream.

    ::

                      fault               all settled             all compared
        watch -----------------> settle ----------------> compare -------------> fault
                  (stop from here on)                     lane by lane

    Without this wait the fault that is reported would depend on the latency of the memories.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    distributor : In(stream_fault_layout())
        Faults of headers and padding.
    lanes : In(stream_fault_layout()).array(lanes)
        Faults that each lane found in the lines of a block.
    settled : In(lanes)
        Lanes for which no row waits, and that have checked every block they received whole, or have found a fault.
    stop : Out(1)
        To the distributor: a fault was found, so later blocks are not needed.
    fault : Out(stream_fault_layout())
        The first fault in the order of the stream; of two in one block, the distributor's. Stays until reset.
    """

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({
            "distributor": In(stream_fault_layout()), "lanes": In(stream_fault_layout()).array(config.lanes),
            "settled": In(config.lanes), "stop": Out(1), "fault": Out(stream_fault_layout()),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self._config.lanes
        best = Signal(stream_fault_layout(), reset_less=True)
        other = Signal(stream_fault_layout(), reset_less=True)
        lane = Signal(range(lanes + 1), reset_less=True)
        pause = Signal(range(_PAUSE + 1))
        settled = Signal()
        known = Signal()
        m.d.comb += [self.fault.eq(best), self.fault.valid.eq(known)]
        m.d.sync += [self.stop.eq(self.distributor.valid | Cat(found.valid for found in self.lanes).any()),
                     settled.eq(self.settled.all())]
        with m.FSM():
            with m.State("watch"):
                m.d.sync += pause.eq(_PAUSE)
                with m.If(self.stop):
                    m.next = "settle"
            with m.State("settle"):
                m.d.sync += [best.eq(self.distributor), lane.eq(0)]
                with m.If(pause != 0):
                    m.d.sync += pause.eq(pause - 1)
                with m.Elif(settled):
                    m.next = "look"
            with m.State("look"):
                m.d.sync += [other.eq(Array(self.lanes)[lane]), lane.eq(lane + 1)]
                m.next = "compare"
            with m.State("compare"):
                with m.If(other.valid & (~best.valid | (other.block < best.block))):
                    m.d.sync += best.eq(other)
                with m.If(lane == lanes):
                    m.next = "known"
                with m.Else():
                    m.next = "look"
            with m.State("known"):
                m.d.comb += known.eq(1)
        return m
