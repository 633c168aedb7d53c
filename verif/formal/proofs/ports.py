"""Proofs of what stands in for a port that was lost, and of what finds that a port is silent.

The isolation assumes what the masters' proofs assert (a limited number of open bursts, data at most one burst ahead of
their address) and what the crossing's resets do: a port opens again when nothing is owed and the far side was reset.
"""

from __future__ import annotations

from amaranth.hdl import Array, Const, Mux, Signal, Value

from cdma.hdl.engine.axi.isolation import AxiIsolation
from cdma.hdl.engine.axi.signature import Resp, axi_full
from cdma.hdl.engine.axi.watch import Metronome, PortWatch
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.parts import choose

__all__ = ["PROOFS"]

_MOST = 8
"""The longest limit of the proof of the metronome: of longer ones the counter's carries come late."""

_OUTSTANDING, _BEATS = 4, 4


def _isolation(h: Harness) -> None:
    """Nothing goes to a port that is closed, and nothing of it comes back: the master gets exactly as many beats and
    responses as it has asked for, those of a closed port at once and with SLVERR, and is then drained ({outstanding}
    bursts of {beats} beats outstanding each way)."""
    m, port = h.m, axi_full(32, 16)
    dut = h.add("dut", AxiIsolation(port, _OUTSTANDING, _BEATS))
    near, far = dut.i, dut.o
    choose(h, near, (name for name in port.members if name.startswith(("ar", "aw", "w")) and not name.endswith(
        "ready")), "near_{}")
    choose(h, near, ("rready", "bready"), "near_{}")
    choose(h, far, ("arready", "awready", "wready", "rvalid", "rresp", "bvalid", "bresp"), "far_{}")
    open_, lost = choose(h, dut, ("open", "lost"))
    was_open = h.past(open_, "open")

    def go(side: object, channel: str, end: str = "") -> Value:
        moves = getattr(side, f"{channel}valid") & getattr(side, f"{channel}ready")
        return h.named(f"{'near' if side is near else 'far'}_{channel}{end}_moves",
                       moves & getattr(side, f"{channel}{end}") if end else moves)

    def owed(name: str, more: Value, less: Value, most: int, clear: Value | None = None) -> Signal:
        count = Signal(range(-1, most + 2), name=name)
        m.d.sync += count.eq(count + more - less)
        if clear is not None:
            with m.If(clear):
                m.d.sync += count.eq(0)
        return count

    # What a side has asked of the other one and not got, in beats of reads and bursts of writes.
    most = _OUTSTANDING * _BEATS
    reads, far_reads = (owed(f"{name}_reads", Mux(go(side, "ar"), near.arlen + 1, 0), go(side, "r"), most, clear)
                        for name, side, clear in (("near", near, None), ("far", far, lost)))
    addresses, bursts = (owed(f"near_{name}", go(near, *moves), go(near, "b"), _OUTSTANDING + 1)
                         for name, moves in (("addresses", ("aw",)), ("bursts", ("w", "last"))))
    far_addresses, far_bursts = (owed(f"far_{name}", go(far, *moves), go(far, "b"), _OUTSTANDING + 1, lost)
                                 for name, moves in (("addresses", ("aw",)), ("bursts", ("w", "last"))))
    sends = Signal(name="burst_has_begun")
    with m.If(go(near, "w")):
        m.d.sync += sends.eq(~near.wlast)
    h.assume("reads_are_few", ~near.arvalid | ((near.arlen < _BEATS) & (reads + near.arlen < most)))
    h.assume("writes_are_few", ~near.awvalid | (addresses < _OUTSTANDING))
    h.assume("data_are_one_burst_ahead", ~near.wvalid | (bursts <= addresses))
    h.assume("far_side_answers_what_it_owes", (~far.rvalid | (far_reads > 0)) & (
        ~far.bvalid | ((far_addresses > 0) & (far_bursts > 0))))
    h.assume("opens_when_drained_and_reset", ~open_ | was_open | (
        dut.drained & (far_reads == 0) & (far_addresses == 0) & (far_bursts == 0)))
    h.assume("lost_is_closed", ~(open_ & lost))

    closed = h.named("closed", ~open_)
    goes = far.arvalid | far.awvalid | far.wvalid | far.rready | far.bready
    h.check("nothing_goes_to_a_closed_port", open_ | ~goes)
    h.check("beats_are_owed", ~near.rvalid | (reads > 0))
    h.check("responses_are_owed", ~near.bvalid | ((addresses > 0) & (bursts > 0)))
    h.check("closed_answers_at_once", open_ | ((near.rvalid == (reads > 0)) & (
        near.bvalid == ((addresses > 0) & (bursts > 0)))))
    h.check("closed_answers_with_an_error", open_ | ((near.rresp == Resp.SLVERR) & (near.bresp == Resp.SLVERR)))
    h.check("open_passes_all", closed | ((near.rresp == far.rresp) & (near.bresp == far.bresp)))
    h.check("lost_takes_all", ~lost | (near.arready & near.awready & near.wready))
    unfinished = h.named("unfinished", sends | (addresses > bursts))
    h.check("begun_bursts_are_taken_whole", open_ | lost | (~near.arready & (near.wready == unfinished) & (
        near.awready == (bursts + sends > addresses))))
    h.check("drained_owes_nothing", dut.drained == ((reads == 0) & (addresses == 0) & (bursts == 0) & ~sends))

    # What the registers hold; while a port is open, the far side owes what the near one does.
    for name, count, greatest in (("beats", reads, most), ("addresses", addresses, _OUTSTANDING),
                                  ("bursts", bursts, _OUTSTANDING + 1)):
        h.check(f"{name}_are_held", (h.inner(f"dut.{name}") == count) & (count >= 0) & (count <= greatest))
    h.check("sends_is_held", h.inner("dut.sends") == sends)
    h.check("bursts_are_one_ahead", bursts + sends <= addresses + 1)
    for count, at_far in ((reads, far_reads), (addresses, far_addresses), (bursts, far_bursts)):
        h.check(f"{at_far.name}_are_those_of_near", ~was_open | (at_far == count))
    h.cover("lost_with_a_write_of_one_beat", closed & sends & (addresses == 2) & (reads > _BEATS))
    was_lost = Signal(name="was_lost_with_reads")
    m.d.sync += was_lost.eq(was_lost | (lost & (reads > 0)))
    h.cover("reads_again", open_ & (reads == _BEATS) & was_lost)


def _watch(h: Harness) -> None:
    """A port is silent from the second tick of one period without an answer on, until it answers."""
    dut = h.add("dut", PortWatch())
    answers, tick, restart = choose(h, dut, ("answers", "tick", "restart"))
    answered = Signal(init=1, name="answered")
    ticks = Signal(2, name="ticks")
    h.m.d.sync += answered.eq(answers)
    with h.m.If(answered):
        h.m.d.sync += ticks.eq(0)
    with h.m.Elif(ticks != 2):
        h.m.d.sync += ticks.eq(Mux(restart, 0, ticks + tick))
    h.check("silent_from_the_second_tick", dut.silent == (ticks == 2))
    h.check("asked_from_the_first", (ticks == 2) | (h.inner("dut.asked") == (ticks == 1)))
    h.check("answer_is_held", h.inner("dut.answers") == answered)
    h.check("ticks_are_two", ticks != 3)
    restarted = Signal(name="restarted")
    h.m.d.sync += restarted.eq(~answered & (restarted | (restart & (ticks == 1))))
    h.cover("silent_in_spite_of_a_restart", dut.silent & restarted)


def _metronome(h: Harness) -> None:
    """A tick of a limit of n comes when 2^n cycles of its counter end, two cycles later, and at no other time; none is
    made of a change of limits, which restarts in the second cycle after it (n of 1 to {most})."""
    dut = h.add("dut", Metronome(2))
    limits = [h.free(range(_MOST + 1), f"limit_{number}") for number in range(2)]
    h.m.d.comb += [given.eq(limit) for given, limit in zip(dut.limit, limits, strict=True)]
    since = Signal(3, name="cycles")
    h.m.d.sync += since.eq(Mux(since.all(), since, since + 1))
    changes: Value = Const(0, 1)
    counter = h.inner("dut.counter_0")
    same: list[Value] = []
    for number, limit in enumerate(limits):
        before = [limit]
        for age in range(1, 4):
            before.append(h.past(before[-1], f"limit_{number}_{age}"))
        changes = changes | (limit != before[1])
        ended = Array(Const(0, 1) if not each else counter[:each] == 2 % (1 << each) for each in range(_MOST + 1))
        h.assume(f"limit_{number}_is_short", limit <= _MOST)
        for name, age in (("chosen", 1), ("before", 2)):    # what the registers hold: bits of earlier counts
            earlier = (counter - age)[:len(counter)]
            bit = Array([Const(0, 1), *earlier])[before[age]]
            h.check(f"{name}_{number}_is_held", (since < 4) | (h.inner(f"dut.{name}")[number] == bit))
        same.append(h.named(f"ends_{number}", (before[2] == before[3]) & ended[before[2]]))
    changed = h.free(1, "changed")
    h.m.d.comb += dut.changed.eq(changed)
    h.assume("changes_are_told", changed == changes)
    restarts = h.past(h.past(changed, "changed"), "changed_before")
    h.check("restarts_after_a_change", dut.restart == restarts)
    for number, ends in enumerate(same):
        h.check(f"tick_{number}_at_the_end", (since < 4) | (dut.tick[number] == (ends & ~restarts)))
    h.cover("both", dut.tick.all() & (limits[0] == 2) & (limits[1] == 3))


PROOFS = (
    Proof("isolation", "hdl/engine/axi/isolation.py", _isolation, cover_depth=14,
          words={"outstanding": _OUTSTANDING, "beats": _BEATS}),
    Proof("metronome", "hdl/engine/axi/watch.py", _metronome, depth=4, cover_depth=20, words={"most": _MOST}),
    Proof("port_watch", "hdl/engine/axi/watch.py", _watch),
)
"""Proofs of ports."""
