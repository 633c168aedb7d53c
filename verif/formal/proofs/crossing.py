"""Proofs of what lies between two clocks: each clock ticks whenever the solver likes, also both at once."""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Array, ClockDomain, Const, EnableInserter, Mux, Signal, Value
from amaranth.utils import exact_log2

from cdma.hdl.common.dual_clock_fifo import DualClockFifo
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.buffers import Watch

__all__ = ["PROOFS"]

_CLEARING = 5


def _fifo(h: Harness, depth: int) -> None:
    """Between two clocks of any frequencies and phases every transfer comes out once, in order and unchanged, and stays
    until it is taken, through a FIFO of {depth} rows; in each moment either clock ticks, or both, or none."""
    # Both sides are cleared for some ticks of both clocks; from then on each clock ticks at will. A cycle of the
    # harness is a moment in which one clock ticks, both do, or none does. A synchroniser that samples a bit while it
    # changes, or in the moment after, takes the old value or the new one.
    m = h.m
    for name in ("near", "far"):
        setattr(m.domains, name, domain := ClockDomain(name))
        m.d.comb += [domain.clk.eq(h.clock), domain.rst.eq(0)]
    clearing = Signal(range(_CLEARING + 1), name="clearing", init=_CLEARING)
    with m.If(clearing != 0):
        m.d.sync += clearing.eq(clearing - 1)
    ticks = [Signal(name="near_ticks"), Signal(name="far_ticks")]
    m.d.comb += [tick.eq(h.free(1, f"{tick.name}_now") | (clearing != 0)) for tick in ticks]
    dut = DualClockFifo(4, depth, writes="near", reads="far")
    h.add("dut", EnableInserter({"near": ticks[0], "far": ticks[1]})(dut))
    valid, payload, ready = h.free(1, "i_valid"), h.free(4, "i_payload"), h.free(1, "o_ready")
    used = clearing == 0
    m.d.comb += [
        dut.i_clear.eq(~used), dut.o_clear.eq(~used), dut.i.valid.eq(valid & used), dut.i.payload.eq(payload),
        dut.o.ready.eq(ready & used),
    ]
    enters = dut.i.valid & dut.i.ready & ticks[0]
    leaves = dut.o.valid & dut.o.ready & ticks[1]
    # The reader sees a row later than it was written, so one that is written cannot leave in the same moment.
    level = Signal(range(depth + 3), name="level")
    m.d.sync += level.eq(level + enters - leaves)
    h.check("level_fits", level <= depth + 1)
    h.check("none_from_nothing", ~(used & dut.o.valid) | (level != 0))
    waited, was = Signal(name="waited"), Signal(4, name="was", reset_less=True)
    m.d.sync += [waited.eq(dut.o.valid & ~leaves & used), was.eq(dut.o.payload)]
    h.check("stays_until_taken", ~waited | (dut.o.valid & (dut.o.payload == was)))
    taken, shown = h.inner("dut.taken.count"), dut.o.valid
    wraps = Signal(name="wraps")
    m.d.sync += wraps.eq(h.past(taken, "taken").all() & (taken == 0))
    h.cover("full", ~dut.i.ready & used & (level == depth + 1))
    h.cover("counts_wrap_around", wraps)
    watch = Watch(h, enters, dut.i.payload, leaves, dut.o.payload, level)
    _cleared(h, clearing, level, watch.held | watch.done | waited)
    _counts(h, depth, used, level)
    row = Array(h.platform.memories[0])[(taken + watch.ahead - shown)[:exact_log2(depth)]]
    inside = Mux(shown & (watch.ahead == 0), dut.o.payload, row)
    h.check("watched_is_in_its_row", ~watch.held | (inside == watch.payload))


_SIDES = (("written", "to_read"), ("taken", "to_write"))
"""The counts, and the synchronisers that take them to the other side."""


def _cleared(h: Harness, clearing: Signal, level: Signal, busy: Value) -> None:
    """Invariants of the ticks of clearing, by which one register after the other is empty."""
    counts = [h.inner(f"dut.{count}.{name}") for count, _ in _SIDES for name in ("count", "gray")]
    befores = [h.inner(f"dut.{other}.before") for _, other in _SIDES]
    stages = [[h.inner(f"dut.{other}.stages.stage{number}") for _, other in _SIDES] for number in range(2)]
    for ticks, registers in ((1, [h.inner("dut.shown"), *counts]), (2, befores), (3, stages[0]), (4, stages[1])):
        for number, register in enumerate(registers):
            h.check(f"register_{number}_is_empty_after_{ticks}",
                    (clearing > _CLEARING - ticks) | (clearing == 0) | (register == 0))
    h.check("clearing_ends", clearing <= _CLEARING)
    h.check("nothing_while_clearing", (clearing == 0) | ((level == 0) & ~busy))


def _counts(h: Harness, depth: int, used: Value, level: Signal) -> None:
    """Invariants of the counts: each code on its way is between the one before and the one after it, from the count of
    the reader that the writer knows to the writer's own, and these are no more apart than there are rows."""
    m, bits = h.m, exact_log2(depth) + 1
    chain = []
    for count, other in reversed(_SIDES):
        number, gray = h.inner(f"dut.{count}.count"), h.inner(f"dut.{count}.gray")
        h.check(f"{count}_in_gray", ~used | (gray == number ^ (number >> 1)))
        before = h.inner(f"dut.{other}.before")
        codes = [h.inner(f"dut.{other}.stages.stage1"), h.inner(f"dut.{other}.stages.stage0"), before]
        chain += [*(_binary(h, code, f"{other}_{place}") for place, code in enumerate(codes)), number]
        h.check(f"{count}_moves_by_one", ~used | ((number - chain[-2])[:bits] <= 1))
    total: Value = Const(0, 1)
    for one, following in pairwise(chain):
        step = Signal(bits, name=f"from_{one.name}_to_{following.name}")
        m.d.comb += step.eq(following - one)
        total = total + step
    h.check("counts_in_order", ~used | (total <= depth))
    written, taken = h.inner("dut.written.count"), h.inner("dut.taken.count")
    h.check("level_is_of_counts", ~used | (level == (written - taken)[:bits] + h.inner("dut.shown")))


def _binary(h: Harness, gray: Signal, name: str) -> Signal:
    """The number of a Gray code."""
    number = Signal(len(gray), name=f"number_{name}")
    h.m.d.comb += [number[bit].eq(gray[bit:].xor()) for bit in range(len(gray))]
    return number


PROOFS = tuple(Proof(f"dual_clock_fifo_{depth}", "hdl/common/dual_clock_fifo.py", _fifo, {"depth": depth},
                     cover_depth=covers) for depth, covers in ((4, 34), (8, 60)))
"""Proofs of clock crossings."""
