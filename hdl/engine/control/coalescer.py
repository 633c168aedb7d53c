"""Reports records together: by their number, by time, or at once."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.common.counters import counter
from cdma.hdl.engine.control.table import COALESCE_BITS, TIME_BITS

__all__ = ["Coalescer"]


class Coalescer(wiring.Component):
    """Says when records that were written are to be reported by an interrupt.

    ======  ====================================================================
    cycle   what happens
    ======  ====================================================================
    0       ``counts``: a record was written
    2       ``report``, if that makes ``count`` records
    2 + n   ``report``, if n is ``time``, and this record was the first to wait
    ======  ====================================================================

    After ``flush`` the records that were counted, in the same cycle too, are reported in the next cycle. A record that
    is counted in the cycle of a report is the first of the next ones.

    Members
    -------
    counts : In(1)
        A record was written that is to be reported; not within 3 cycles after another one.
    flush : In(1)
        Report what was counted.
    clear : In(1)
        Forget what was counted.
    count : In(COALESCE_BITS)
        Records that are reported together; 0 is taken as 1.
    time : In(TIME_BITS)
        Cycles that the first of them may wait; 0: without limit. Read while none waits.
    report : Out(1)
        High for one cycle.
    """

    def __init__(self) -> None:
        super().__init__({"counts": In(1), "flush": In(1), "clear": In(1), "count": In(COALESCE_BITS),
                          "time": In(TIME_BITS), "report": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        waits = Signal()                        # records wait
        waiting = Signal(COALESCE_BITS)         # how many
        elapsed = Signal(TIME_BITS)             # up to all ones, from the complement of the time on
        timed = Signal()
        # Comparisons are registered, because they are wide. They are of the records that wait, so a report ends them:
        # what is counted in its cycle begins anew, with a time of its own.
        reached, expired, flushed, begins = (Signal(name=name) for name in ("reached", "expired", "flushed", "begins"))
        m.d.comb += [self.report.eq(waits & (reached | expired | flushed)), begins.eq(~waits | self.report)]
        counter(m, elapsed, 1, clear=begins, begin=~self.time)
        m.d.sync += [
            reached.eq(~begins & (waiting >= self.count)),
            expired.eq(~begins & timed & elapsed.all()),
            flushed.eq(self.flush),
        ]
        with m.If(begins):
            m.d.sync += timed.eq(self.time.any())
        with m.If(self.clear):
            m.d.sync += [waits.eq(0), waiting.eq(0)]
        with m.Elif(self.report):
            m.d.sync += Cat(waits, waiting).eq(Cat(self.counts, self.counts))
        with m.Elif(self.counts):
            m.d.sync += [waits.eq(1), waiting.eq(waiting + 1)]
        return m
