"""Proofs of how transfers end: none is OK that met a fault, and of several faults in a stream the first is reported."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.lib import data

from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.link.verdict import Verdict
from cdma.hdl.engine.paths.supervisor import Supervisor
from cdma.hdl.engine.transfer.records import Status
from cdma.hdl.engine.transfer.streams import stream_fault_layout
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.parts import choose, moves

__all__ = ["PROOFS"]

_SEVERAL = load_engine("tiny").replace(transfers_in_flight=3)
_LANES = 3


def _supervisor(h: Harness) -> None:
    """A result is OK only if its transfer had all its effects, without a fault at any time since the path was cleared;
    an aborted one, and one that waits for a port that is silent, is never OK. Faults, aborts and ports are free."""
    dut = h.add("dut", Supervisor(_SEVERAL, "destination", 2))
    h.drive(dut.request, "request")
    h.keeps(dut.result, "result")
    choose(h, dut, ("abort", "unit_idle"))
    silent, = choose(h, dut, ("silent",))
    choose(h, dut.launch, ("ready",), "launch_{}")
    choose(h, dut.follow, ("ready",), "follow_{}")
    h.drive(dut.totals, "totals")
    totals = Value.cast(dut.totals.payload)
    ends = h.named("ends", dut.totals.valid & dut.totals.ready)
    h.assume("totals_of_a_result_stay", ~h.past(ends | (dut.keeps & ~(dut.result.valid & dut.result.ready)), "kept")
             | (totals == h.past(totals, "totals")))
    fault = h.free(dut.fault.shape(), "fault")
    h.m.d.comb += dut.fault.eq(fault)
    # What a path promises: a fault is a level until the path is cleared, and the register with its status has that of
    # the last fault; of a silent port, which has no transfer to end, from the cycle after.
    met = h.past(fault.valid & ~dut.clear, "fault")
    h.assume("faults_stay", ~met | fault.valid)
    was_silent = h.past(silent.any(), "silent")
    h.assume("faults_have_a_status", ~(fault.valid | was_silent) | (
        Value.cast(fault.status) != Status.OK.value))
    inside = Signal(range(_SEVERAL.transfers_in_flight + 1), name="transfers_in_the_path")
    with h.m.If(dut.clear):
        h.m.d.sync += inside.eq(0)
    with h.m.Else():
        h.m.d.sync += inside.eq(inside + moves(dut.launch) - ends)
    h.assume("totals_are_of_a_transfer", ~dut.totals.valid | (inside != 0))
    complete = Signal(name="complete")
    waits = h.past(dut.result.valid & ~dut.result.ready, "result_waits")
    h.m.d.sync += complete.eq(Mux(ends, ~met & ~fault.valid & ~dut.totals.payload.mismatch,
                                  complete & h.inner("dut.told")))
    okay = Value.cast(dut.result.payload.status) == Status.OK.value
    told = h.inner("dut.told")
    h.check("ok_is_complete", ~(dut.result.valid & okay) | complete)
    h.check("only_complete_ones_have_counts", ~dut.result.valid | complete | ~Cat(
        dut.result.payload.bytes, dut.result.payload.nonzero, dut.result.payload.raw_blocks).any())
    h.check("totals_are_taken_without_a_fault", ~ends | ~fault.valid)
    found = h.past(h.inner("dut.problem") & fault.valid, "problem")
    h.check("a_fault_goes_before_an_abort", ~found | (h.inner("dut.cause") == h.past(Value.cast(fault), "found")))
    # What the registers hold.
    cause = data.View(dut.fault.shape(), h.inner("dut.cause"))
    is_okay = Value.cast(cause.status) == Status.OK.value
    h.check("told_is_complete_or_not_ok", ~told | complete | (~is_okay & ~h.inner("dut.good")))
    running, reports = h.inner("dut.running"), h.inner("dut.reports")
    waiting, state = h.inner("dut.waiting"), h.inner("dut.launcher.fsm_state")
    h.check("inside_is_held", (h.inner("dut.inside") == inside) & (
        inside + waiting <= _SEVERAL.transfers_in_flight))
    h.check("launched_one_waits", (state == 0) | (waiting != 0))
    stops, clears = (h.inner("dut.fsm_state") == number for number in (1, 2))
    h.check("stop_is_not_clear", ~stops | (~dut.clear & dut.unit_stop.all()))
    h.check("clear_is_blocked", (~dut.clear | h.inner("dut.blocked")) & (~clears | dut.clear))
    h.check("gone_is_silent", ~h.inner("dut.gone") | was_silent)
    h.check("stopped_is_blocked", ~running | h.inner("dut.blocked") | ~dut.unit_stop.any())
    h.check("none_beside_an_isolated_port", ~running | ~h.inner("dut.blocked") | (inside == 0))
    h.check("none_is_told_meanwhile", (running | ~told) & (h.inner("dut.fsm_state") < 3))
    h.check("reported_is_not_ok", running | ~reports | (~is_okay & ~h.inner("dut.good")))
    h.cover("ok_behind_a_clear", dut.result.valid & okay & complete & waits)
    h.cover("fault", dut.result.valid & (Value.cast(dut.result.payload.status) == Status.LINK_READ_ERROR.value))


def _verdict(h: Harness) -> None:
    """Of the faults of {lanes} lanes and of the distributor, the one of the first block is reported, and the
    distributor's if there are two of that block; and none while there is none."""
    dut = h.add("dut", Verdict(_SEVERAL.replace(lanes=_LANES)))
    choose(h, dut, ("settled",))
    layout = stream_fault_layout()
    faults = [data.View(layout, h.free(len(Value.cast(dut.distributor)), f"fault_{number}"))
              for number in range(_LANES + 1)]
    h.m.d.comb += [dut.distributor.eq(faults[0]), *(port.eq(fault) for port, fault in zip(
        dut.lanes, faults[1:], strict=True))]
    state, pause, all_settled = (h.inner(f"dut.{name}") for name in ("fsm_state", "pause", "settled"))
    was = [h.past(Value.cast(fault), f"fault_{n}") for n, fault in enumerate(faults)]
    for number, (fault, before) in enumerate(zip(faults, was, strict=True)):
        valid = h.named(f"was_{number}", data.View(layout, before).valid)
        h.assume(f"fault_{number}_stays", ~valid | (Value.cast(fault) == before))
        # After the pause no other fault comes of the distributor, nor of a lane that has settled; it stays so.
        settled: Value = dut.settled[number - 1] if number else Const(1)
        h.assume(f"fault_{number}_is_known", ~h.past(h.named(f"quiet_{number}", (state != 0) & (pause <= 1) & settled),
                                                     f"quiet_{number}") | ((fault.valid == valid) & settled))
    # The first fault of the distributor and so many lanes.
    firsts = [faults[0]]
    for number, fault in enumerate(faults[1:]):
        best = firsts[-1]
        better = fault.valid & (~best.valid | (fault.block < best.block))
        firsts.append(data.View(layout, h.named(f"first_of_{number}", Mux(better, fault, best))))
    best, other, lane = h.inner("dut.best"), h.inner("dut.other"), h.inner("dut.lane")
    seen = h.named("seen", lane - (state == 3))

    def same(found: Value, fault: data.View) -> Value:
        return (data.View(layout, found).valid == fault.valid) & (~fault.valid | (found == Value.cast(fault)))

    h.check("first_fault", ~dut.fault.valid | (firsts[-1].valid & (Value.cast(dut.fault) == Value.cast(firsts[-1]))))
    h.check("none_without_a_fault", Cat(fault.valid for fault in faults).any() | ~dut.fault.valid)
    # What the registers hold.
    h.check("lanes_have_settled", (state < 2) | dut.settled.all())
    h.check("all_have_settled", (state != 1) | (pause != 0) | ~all_settled | dut.settled.all())
    h.check("pause_is_over", (state < 2) | (pause == 0))
    h.check("a_fault_was_seen", (state == 0) & ~dut.stop | Cat(fault.valid for fault in faults).any())
    h.check("states", (state < 5) & (lane <= _LANES) & ((state != 2) | (lane < _LANES)) & (
        (state != 3) | (lane != 0)))
    for number, first in enumerate(firsts):
        h.check(f"best_of_{number}", (state < 2) | (state == 4) | (seen != number) | same(Value.cast(best), first))
    h.check("best_of_all", (state != 4) | same(Value.cast(best), firsts[-1]))
    for number, fault in enumerate(faults[1:]):
        h.check(f"other_is_lane_{number}", (state != 3) | (seen != number) | same(Value.cast(other), fault))
    h.cover("first_is_of_the_last_lane", dut.fault.valid & faults[0].valid & faults[1].valid & (
        dut.fault.block == faults[-1].block) & (dut.fault.block < faults[0].block))


PROOFS = (
    Proof("supervisor", "hdl/engine/paths/supervisor.py", _supervisor, cover_depth=24),
    Proof("first_fault", "hdl/engine/link/verdict.py", _verdict, cover_depth=20, words={"lanes": _LANES}),
)
"""Proofs of outcomes."""
