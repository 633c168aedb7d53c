"""The resets of two sides that share FIFOs with two clocks."""

from __future__ import annotations

from amaranth.hdl import Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.common.synchronizer import Synchronizer

__all__ = ["CrossingReset"]

_EMPTY_CYCLES = 64


class CrossingReset(wiring.Component):
    """Opens the FIFOs between two clock domains when both are out of reset, and closes and empties them when one is
    reset.

    ::

                  near: domain "sync"        |           far
        closed -> empty -> asks -> open      |   lost -> empty -> open
                    near.asks  -------------[2]------------>
                    <------------[2]------------- far_open, far_lost
                    <------------[2]------------- reset of the far domain itself

    A side is emptied only while the other does not use the FIFOs, and used only when both are empty, because counts
    that jump are not safe in Gray code. No side is emptied by its reset alone: what the reset does is to close it.

    ==========  =================================================  =========================================
    near        what it does                                       left when
    ==========  =================================================  =========================================
    closed      nothing is moved; entered in reset, and when the   the far side says that it is not open,
                far side was reset                                 lost or in reset
    empty       its counts are 0                                   64 cycles with nothing open, lost, or owed
    asks        the same; ``asks`` is 1                            the far side is open
    open        data pass                                          the far side was reset
    ==========  =================================================  =========================================

    ==========  =================================================  =========================================
    far         what it does                                       left when
    ==========  =================================================  =========================================
    lost        nothing is moved; entered in reset                 ``asks`` is 0: the near side has closed
    empty       its counts are 0                                   ``asks`` is 1
    open        data pass                                          ``asks`` is 0
    ==========  =================================================  =========================================

    The far side may be reset for a single cycle: it stays lost until the near side has seen it. Its clock may stand:
    the near side sees the level of its reset all the same, and waits in ``closed``. The near side may be reset for a
    single cycle too; that it forgets what it had asked for is safe if the clocks are no more than 16 times apart,
    because the far side then sees the 64 cycles without ``asks``.

    Parameters
    ----------
    far : str
        The other clock domain.

    Members
    -------
    drained : In(1)
        Nothing is owed to the near side any more; FIFOs stay empty as long.
    near_open, near_clear : Out(1)
        Data may pass at the near side; its sides of the FIFOs are cleared. In ``sync``.
    far_open, far_clear : Out(1)
        The same at the far side, in its domain.
    lost : Out(1)
        The far side is in reset or was, in ``sync``: what it had taken is lost.
    """

    def __init__(self, far: str):
        self._far = far
        super().__init__({"drained": In(1), "near_open": Out(1), "near_clear": Out(1), "far_open": Out(1),
                          "far_clear": Out(1), "lost": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        far = self._far
        # In its own reset a side knows nothing of the other, and assumes what keeps it closed.
        m.submodules.asked = asked = Synchronizer(far, init=1)
        m.submodules.opened = opened = Synchronizer("sync", init=1)
        m.submodules.was_lost = was_lost = Synchronizer("sync", init=1)
        m.submodules.in_reset = in_reset = Synchronizer("sync", init=1)

        far_open, far_lost = Signal(), Signal(init=1)
        with m.If(~asked.o):
            m.d[far] += [far_lost.eq(0), far_open.eq(0)]
        with m.Elif(~far_lost):
            m.d[far] += far_open.eq(1)
        m.d.comb += [
            self.far_open.eq(far_open), self.far_clear.eq(~far_lost & ~far_open),
            opened.i.eq(far_open), was_lost.i.eq(far_lost), in_reset.i.eq(ResetSignal(far)),
        ]

        asks, near_open = Signal(), Signal()
        count = Signal(range(_EMPTY_CYCLES))
        away = Signal()     # the far side is not open, and not lost either
        m.d.comb += [
            self.lost.eq(in_reset.o | was_lost.o), away.eq(~self.lost & ~opened.o),
            asked.i.eq(asks), self.near_open.eq(near_open),
        ]
        with m.FSM():
            with m.State("closed"):
                m.d.sync += count.eq(0)
                with m.If(away):
                    m.next = "empty"
            with m.State("empty"):
                m.d.comb += self.near_clear.eq(1)
                with m.If(away & self.drained):
                    m.d.sync += count.eq(count + 1)
                    with m.If(count == _EMPTY_CYCLES - 1):
                        m.d.sync += asks.eq(1)
                        m.next = "asks"
                with m.Else():
                    m.d.sync += count.eq(0)
            with m.State("asks"):
                m.d.comb += self.near_clear.eq(1)
                with m.If(self.lost):
                    m.d.sync += asks.eq(0)
                    m.next = "closed"
                with m.Elif(opened.o):
                    m.d.sync += near_open.eq(1)
                    m.next = "open"
            with m.State("open"):
                with m.If(self.lost | ~opened.o):
                    m.d.sync += [asks.eq(0), near_open.eq(0)]
                    m.next = "closed"
        return m
