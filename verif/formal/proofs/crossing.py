"""Proofs of what lies between two clocks: each clock ticks whenever the solver likes, also both at once."""

from __future__ import annotations

from amaranth.hdl import ClockDomain, EnableInserter, Signal

from hdl.common.dual_clock_fifo import DualClockFifo
from verif.formal.harness import Harness
from verif.formal.proof import Proof
from verif.formal.proofs.buffers import Watch

__all__ = ["PROOFS"]

_CLEARING = 5


def _fifo(depth: int) -> Harness:
    """Both sides are cleared for some ticks of both clocks; from then on each clock ticks at will.

    A cycle of the harness is a moment in which one clock ticks, both do, or none does. A synchroniser that samples a
    bit while it changes, or in the moment after, takes the old value or the new one.
    """
    h = Harness()
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
    h.cover("full", ~dut.i.ready & used & (level == depth + 1))
    Watch(h, enters, dut.i.payload, leaves, dut.o.payload, level, len(level))
    return h


PROOFS = (
    Proof("dual_clock_fifo", "hdl/common/dual_clock_fifo.py", "Between two clocks of any frequencies and phases every "
          "transfer comes out once, in order and unchanged, and stays until it is taken.", lambda: _fifo(4), "bounded",
          18, coverage="5 of clearing, and 13 moments of which each is a tick of either clock, of both or of none: "
          "transfers through a FIFO of 4 rows", cover_depth=26),
    Proof("dual_clock_fifo_long", "hdl/common/dual_clock_fifo.py", "The same, for longer runs.", lambda: _fifo(4),
          "bounded", 32, set="deep", coverage="5 of clearing, and 27 moments: the FIFO becomes full, and counts wrap",
          cover_depth=32),
)
"""Proofs of clock crossings."""
