"""Proofs of write-back: each record is at its entry, whole and with its phase, and is reported in time and once, and
raises the interrupt."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.hdl.engine.control.bank import fields_layout
from cdma.hdl.engine.control.coalescer import Coalescer
from cdma.hdl.engine.control.control import Control
from cdma.hdl.engine.control.descriptor import RECORD_BYTES, RECORD_WORDS
from cdma.hdl.engine.control.ring import Ring
from cdma.hdl.engine.control.table import COALESCE_BITS, DIRECTIONS, TIME_BITS, registers
from cdma.hdl.engine.control.write_back import WriteBack
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.bus import ring_writes
from cdma.verif.formal.proofs.parts import choose

__all__ = ["PROOFS"]

_CONFIG = load_engine("tiny").replace(write_back=True)
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


def _write_back_ring(h: Harness, config: EngineConfig) -> None:
    """Records go to the entries of a write-back ring in order and wrap with its size, each with the phase of its pass;
    after a failure the entry that was not written is the next one again, with its phase; and none is begun that the
    driver has not read, while it moves its index forward."""
    m = h.m
    dut = h.add("dut", Ring(config, writes=True))
    values = dut.values
    writes, recent = ring_writes(h, dut, config.pipeline)
    _, begin, advance, fail, back, open_ = choose(h, dut, ("data", "begin", "advance", "fail", "back", "open"))
    # Entries that were begun and written since the size was given, the pass in their upper bits.
    size, mask, bits = values.size, h.inner("dut.mask"), len(values.head)
    begun, written = (Signal(bits + 1, name=name) for name in ("begun", "written"))
    with m.If(writes["size"] & ~dut.refuse):
        m.d.sync += [begun.eq(0), written.eq(0)]
    with m.Else():
        m.d.sync += [written.eq(written + advance), begun.eq(Mux(back, written, begun + begin))]
    some = h.named("some_are_open", begun != written)
    advanced = h.past(advance, "advanced")
    h.assume("begins_what_is_pending", ~begin | (dut.pending & ~back))
    h.assume("writes_what_is_begun", ~advance | (some & open_ & ~back & ~advanced))
    h.assume("open_ones_are_begun", ~open_ | some)
    h.assume("back_when_none_is_open", ~back | ~open_)
    h.assume("failed_ones_are_open", ~fail | open_)
    h.check("written_one_is_at_its_place", values.head == (written & mask)[:bits])
    h.check("next_one_is_at_its_place", dut.next == (begun & mask)[:bits])
    h.check("phase_of_the_pass", dut.phase == ~(written & size).any())
    h.check("phase_of_the_next", dut.next_phase == ~(begun & size).any())
    h.check("none_is_overwritten", ~dut.pending | h.past(writes["tail"], "moved") | (
        ((dut.next + 1) & mask)[:bits] != values.tail))
    # What the registers hold.
    settled = ~recent.any()
    h.check("size_is_a_power_of_two", (size != 0) & ((size & (size - 1)[:len(size)]) == 0) & ~size[0])
    h.check("mask_is_size_less_one", recent[0] | (mask == (size - 1)[:bits]))
    h.check("new_size_is_empty", settled | (mask == (size - 1)[:bits]) | ~(begun.any() | written.any() | values.enable))
    h.check("last_is_held", ~settled | advanced | (h.inner("dut.last") == (values.head == mask)))
    h.cover("second_pass", dut.phase & ~dut.next_phase & (written == 1) & (size == 2))
    h.cover("back_over_a_wrap", h.past(back & ~dut.next_phase & dut.phase, "back") & dut.next_phase)


def _record_writer(h: Harness, config: EngineConfig) -> None:
    """A completion's record is written, once and whole, to the entry of its ring that was next when it began: the words
    of its completion in order, and last the entry's index and phase. Once the port was silent, beats that it had not
    been shown have no strobes. The records that count as open are those at the port, until it is isolated, and one that
    is being read."""
    m = h.m
    dut = h.add("dut", WriteBack(config))
    axi = dut.axi
    choose(h, dut, ("pending", "silent", "phase"))
    for name in ("rings", "next", "data"):
        for number, port in enumerate(getattr(dut, name)):
            m.d.comb += Value.cast(port).eq(h.free(len(Value.cast(port)), f"{name}_{number}"))
    choose(h, axi, ("awready", "wready", "bid", "bresp", "bvalid"))
    state, read, asks, sends, bursts = (h.inner(f"dut.{name}") for name in (
        "fsm_state", "read", "asks", "sends", "bursts"))
    h.assume("answers_are_to_whole_bursts", ~axi.bvalid | (bursts > (asks | sends)))

    # What the record is to have: its address; and one of its words, which the solver picks.
    picked, begins = h.fixed(4, "picked"), dut.begin.any()
    base, index, phase, side = Signal.like(dut.rings[0].base, name="base_of_it"), Signal.like(
        dut.next[0], name="index_of_it"), Signal(name="phase_of_it"), Signal(name="side_of_it")
    with m.If(begins):
        m.d.sync += [side.eq(dut.begin[1]), phase.eq(Mux(dut.begin[1], dut.phase[1], dut.phase[0])), *(
            kept.eq(Mux(dut.begin[1], given[1], given[0])) for kept, given in (
                (base, [ring.base for ring in dut.rings]), (index, dut.next)))]
    word, sent_word = Signal(32, name="word_of_it"), Signal(32, name="word_that_is_sent")
    address = Signal(len(axi.awaddr), name="address_that_is_sent")
    shifts, arrived, starts = (h.inner(f"dut.{name}") for name in ("shifts", "arrived", "starts"))
    comes = shifts & (arrived == picked)
    given = h.named("given", Mux(picked.all(), Cat(phase, Const(0, 15), index), Mux(side, dut.data[1], dut.data[0])))
    with m.If(comes):
        m.d.sync += word.eq(given)
    entry = (base + index)[:len(base)] << exact_log2(RECORD_BYTES)
    with m.If(starts):
        m.d.sync += [address.eq(entry), sent_word.eq(Mux(comes, given, word))]
    words = len(axi.wdata) // 32
    beats = RECORD_WORDS // words
    beat = Signal(range(beats + 1), name="beats_sent")
    m.d.sync += beat.eq(Mux(starts, 0, beat + (axi.wvalid & axi.wready)))
    mine = picked[exact_log2(words):] == beat
    h.check("record_is_at_its_entry", ~axi.awvalid | ((axi.awaddr == address) & (axi.awlen == beats - 1)))
    h.check("word_is_as_it_came", ~axi.wvalid | ~mine | (
        axi.wdata.word_select(picked[:exact_log2(words)], 32) == sent_word))
    h.check("beats_are_counted", (~axi.wvalid | (beat < beats)) & (axi.wlast == (h.inner("dut.beat") == beats - 1)))
    h.check("record_is_whole", ~axi.wvalid | axi.wstrb.all() | ((beat != 0) & ~axi.wstrb.any()))
    moved = h.past(axi.wvalid & axi.wready & dut.isolated, "moved_isolated")
    h.check("nothing_behind_a_silent_port", ~(axi.wvalid & moved) | ~axi.wstrb.any())
    h.check("begins_one_of_one_ring", ~dut.begin.all() & ((dut.begin & ~dut.pending) == 0))

    # What the registers hold.
    record, low, high = (h.inner(f"dut.{name}") for name in ("record", "low", "high"))
    reads, sending = h.named("reads", state == 2), h.named("sending", asks | sends)
    shifted = h.named("shifted", Mux(read == 0, 0, read - 1)[:5])
    held = [(base, "base"), (index, "index"), (phase, "phase"), (side, "direction")]
    same = Cat(h.inner(f"dut.{name}") == each for each, name in held).all()
    h.check("ring_is_held", (state == 0) | (state == 3) | same)
    h.check("port_is_of_one_record", ~sending | (state == 3) | ((state != 2) & dut.isolated))
    h.check("none_is_sent_while_read", ~reads | (~sending & ~dut.isolated))
    h.check("reads_from_the_first", ((state != 1) | (read == 0)) & (~reads | ((read <= RECORD_WORDS) & (
        (read == 0) | (arrived == (read - 1)[:4])))))
    h.check("low_is_held", ~reads | (read == 0) | (low == base[:len(low) - 1] + index))
    h.check("high_is_held", ~reads | (read < 2) | (Cat(low[:-1], high) == (base + index)[:len(base)]))
    h.check("word_is_held", ~reads | (picked >= shifted) | (
        record.word_select((RECORD_WORDS - shifted + picked)[:4], 32) == word))
    h.check("address_is_held", ~asks | (Cat(Const(0, exact_log2(RECORD_BYTES)), low[:-1], high) == address))
    h.check("record_is_held", ~sends | (
        (record.word_select((picked - (beat << exact_log2(words)))[:4], 32) == sent_word)
        & (h.inner("dut.beat") == beat) & (beat < beats)))
    # Records at the port by their ring, in the order in which the unit's FIFO has them, and whose the oldest one is.
    answered, ends = h.inner("dut.answered"), h.inner("dut.ends")
    oldest = Value.cast(h.inner("dut.sent.o__payload"))[0]
    at_port = [Signal.like(bursts, name=f"at_port_{number}") for number in range(len(DIRECTIONS))]
    for number, each in enumerate(at_port):
        m.d.sync += each.eq(each + (starts & (side == number)) - (answered & (oldest == number)))
    h.assume("answers_are_to_open_records", ~answered | Mux(oldest, at_port[1] != 0, at_port[0] != 0))
    h.check("records_at_the_port", at_port[0] + at_port[1] == bursts)
    for number, each in enumerate(at_port):
        h.check(f"open_records_of_{number}", dut.count[number] == Mux(dut.isolated, 0, each) + ends[number] + (
            ((state == 1) | reads) & (side == number)))
    h.check("bursts_are_held", (bursts >= sending) & (bursts + ((state == 1) | reads) <= config.outstanding_records))
    h.cover("last_word", axi.wvalid & axi.wlast & picked.all() & phase & (index == 5) & axi.wstrb.all())


class Interrupt(wiring.Component):
    """The interrupt registers of control, with events, writes and rings as inputs: ``direct`` and ``recorded`` are the
    events of channels and of write-back, ``failed`` what neither of them tells."""

    def __init__(self, config: EngineConfig) -> None:
        self._control = Control(config)
        self._control._MustUse__used = True  # type: ignore[attr-defined]   # its interrupt alone is elaborated
        register, = (each for each in registers(config) if each.name == "IRQ_STATUS")
        layout, both = fields_layout(register), len(DIRECTIONS)
        events = data.StructLayout({"completion": both, "error": both})
        super().__init__({
            "direct": In(events), "recorded": In(events), "unread": In(both), "unwritten": In(both),
            "ring": In(both), "clears": In(1), "enables": In(1), "data": In(32), "soft_reset": In(1),
            "status": Out(layout), "enable": Out(layout), "irq": Out(1), "pulse": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m, control = Module(), self._control
        bank: Any = SimpleNamespace(
            data=self.data, written=SimpleNamespace(irq_status=self.clears, irq_enable=self.enables),
            values=SimpleNamespace(irq_status=self.status, irq_enable=self.enable))
        channels: Any = [SimpleNamespace(causes=SimpleNamespace(
            completion=self.direct.completion[number], error=self.direct.error[number]))
            for number in range(len(DIRECTIONS))]
        records: Any = SimpleNamespace(
            values=[SimpleNamespace(ring=SimpleNamespace(enable=enable)) for enable in self.ring],
            causes=SimpleNamespace(completion=self.recorded.completion, error=self.recorded.error,
                                   failed=self.unwritten))
        fetcher: Any = SimpleNamespace(fail=self.unread)
        control._interrupt(m, bank, channels, fetcher, records)
        m.d.comb += [control.soft_reset.eq(self.soft_reset), self.irq.eq(control.irq), self.pulse.eq(control.irq_pulse)]
        return m


def _interrupt(h: Harness) -> None:
    """An event is a bit of IRQ_STATUS from the next cycle on until it is cleared, and for good if it comes again in
    that cycle; irq is high a cycle later while a bit is enabled; and within 2 cycles of each event that is enabled, and
    within 3 of a write that leaves one, there is a pulse, of one cycle and with one between two, and no other."""
    dut = h.add("dut", Interrupt(_CONFIG))
    for name in ("direct", "recorded"):
        h.m.d.comb += Value.cast(getattr(dut, name)).eq(h.free(4, name))
    *_, clears, enables, put, reset = choose(h, dut, ("unread", "unwritten", "ring", "clears", "enables", "data",
                                                      "soft_reset"))
    events: dict[str, Value] = {}
    for number, name in enumerate(DIRECTIONS):
        by_ring, recorded, direct = dut.ring[number], dut.recorded, dut.direct
        events |= {
            f"{name}_completion": recorded.completion[number] | (direct.completion[number] & ~by_ring),
            f"{name}_error": Mux(by_ring, recorded.error[number], direct.error[number]),
            f"{name}_ring_error": dut.unread[number], f"{name}_write_back_error": dut.unwritten[number]}
    layout = dut.status.shape()
    asked: Value = Const(0, 1)
    for name, field in layout:
        event, bit = events[name], field.offset
        status, enable = dut.status[name], dut.enable[name]
        h.check(f"{name}_stays_until_cleared", status == h.past(
            ~reset & (event | (status & ~(clears & put[bit]))), f"{name}_is_set"))
        h.check(f"{name}_is_enabled", enable == h.past(~reset & Mux(enables, put[bit], enable), f"enables_{name}"))
        asked = asked | (event & enable)
    left = h.named("left", (Value.cast(dut.status) & Value.cast(dut.enable)).any())
    wrote = h.past(clears | enables, "wrote")
    asks = h.named("asks", asked | (wrote & left))
    h.check("high_while_one_is_enabled", dut.irq == h.past(left & ~reset, "left"))
    before = [h.past(asks, "asks")]
    before.append(h.past(before[0], "asks_before"))
    ended, pulsed = h.past(reset, "reset"), h.past(dut.pulse, "pulse")
    h.check("pulse_in_time", ~before[1] | ended | h.past(ended, "reset_before") | dut.pulse | pulsed)
    h.check("one_cycle_long", ~dut.pulse | ~pulsed)
    h.check("pulse_for_a_reason", ~dut.pulse | before[0] | before[1])
    due = h.inner("dut.pulse_due")
    h.check("pulse_is_there_or_due", ~before[0] | ended | dut.pulse | (pulsed & due))
    h.check("due_is_held", (due == (before[0] & pulsed)) & (h.inner("dut.interrupt_written") == wrote))
    h.cover("two_events_in_succession", dut.pulse & h.past(~dut.pulse & h.past(dut.pulse, "p"), "gap") & before[1])


PROOFS = (
    Proof("interrupt", "hdl/engine/control/control.py", _interrupt),
    Proof("coalescer", "hdl/engine/control/coalescer.py", _coalescer, cover_depth=16,
          words={"count": COALESCE_BITS, "time": TIME_BITS}),
    Proof("write_back_ring", "hdl/engine/control/ring.py", _write_back_ring, {"config": _CONFIG}, 2, cover_depth=30),
    Proof("write_back_ring_fast", "hdl/engine/control/ring.py", _write_back_ring,
          {"config": _CONFIG.replace(pipeline="fast")}, 2, cover_depth=30,
          said="The same in the pipeline fast, which checks data a cycle earlier."),
    Proof("record_writer", "hdl/engine/control/write_back.py", _record_writer, {"config": _CONFIG}, cover_depth=30),
)
"""Proofs of write-back."""
