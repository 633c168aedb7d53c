"""Proof of the coalescer: every record is reported, in time and once, whatever happens in the same cycle."""

from __future__ import annotations

from amaranth.hdl import Mux, Signal

from cdma.hdl.engine.control.coalescer import Coalescer
from cdma.hdl.engine.control.table import COALESCE_BITS, TIME_BITS
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.parts import choose

__all__ = ["PROOFS"]

_SPACE = 3      # cycles in which no record follows another one


def _coalescer(h: Harness) -> None:
    """Records are reported together when there are as many as wanted, after a flush, or when the first of them has
    waited for its time and 2 cycles, and at no other time, for every number of {count} bits and time of {time}; one
    that is counted in the cycle of a report is the first of the next ones."""
    dut = h.add("dut", Coalescer())
    counts, flush, clear, time = choose(h, dut, ("counts", "flush", "clear", "time"))
    count = h.fixed(COALESCE_BITS, "count")
    h.m.d.comb += dut.count.eq(count)
    since = Signal(range(_SPACE + 1), init=_SPACE, name="since_a_record")
    h.m.d.sync += since.eq(Mux(counts, 0, Mux(since == _SPACE, _SPACE, since + 1)))
    h.assume("records_are_apart", ~counts | (since == _SPACE))
    # The records that wait, the time that the first of them may, and the cycles since it was counted.
    waiting, limit = Signal(COALESCE_BITS, name="waiting"), Signal(TIME_BITS, name="limit")
    age = Signal(TIME_BITS + 1, name="age")
    timed, idle = h.named("timed", limit != 0), h.named("idle", (waiting == 0) | dut.report)
    h.assume("records_are_few", ~waiting.all())
    with h.m.If(clear):
        h.m.d.sync += waiting.eq(0)
    with h.m.Elif(dut.report):
        h.m.d.sync += waiting.eq(counts)
    with h.m.Else():
        h.m.d.sync += waiting.eq(waiting + counts)
    with h.m.If(idle):
        h.m.d.sync += [limit.eq(time), age.eq(1)]
    with h.m.Elif(timed):
        h.m.d.sync += age.eq(age + 1)
    enough = h.past(~idle & (waiting >= count), "enough")
    late = h.named("late", timed & (age == limit + 2))
    flushed = h.past(flush, "flush")
    h.check("reported_in_time", (waiting == 0) | ~timed | (age < limit + 2) | dut.report)
    h.check("reported_by_number_time_or_flush", dut.report == ((waiting != 0) & (late | enough | flushed)))
    # What the registers hold.
    elapsed, parts = h.inner("dut.elapsed"), range(0, TIME_BITS, 8)
    h.check("waits_is_held", (h.inner("dut.waits") == (waiting != 0)) & (h.inner("dut.waiting") == waiting))
    h.check("time_is_held", (waiting == 0) | (h.inner("dut.timed") == timed))
    h.check("age_is_held", (waiting == 0) | ~timed | ((age != 0) & (elapsed == (~limit + age - 1)[:TIME_BITS])))
    h.check("carries_are_held", sum(h.inner(f"dut.full_{part}") != elapsed[part:part + 8].all() for part in parts) == 0)
    h.check("flags_are_held", (waiting == 0) | ((h.inner("dut.expired") == late) & (h.inner("dut.reached") == enough)
                                                & (h.inner("dut.flushed") == flushed)))
    first = h.past(dut.report & counts & ~clear, "first_in_a_report")
    h.cover("reported_by_time", dut.report & ~enough & ~flushed)
    h.cover("reported_by_number", dut.report & ~late & ~flushed & (count > 1))
    h.cover("a_record_in_a_report", first & (waiting == 1) & (limit == 2))


PROOFS = (Proof("coalescer", "hdl/engine/control/coalescer.py", _coalescer, cover_depth=16,
                words={"count": COALESCE_BITS, "time": TIME_BITS}),)
"""The proof of the coalescer."""
