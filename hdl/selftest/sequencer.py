"""Runs the program of the engine's self-test: registers over AXI4-Lite, the interrupt, and the pattern in memories."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Array, Module, Shape, Signal, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.axi.signature import Resp, axi_lite
from cdma.hdl.engine.control.table import ADDRESS_BITS
from cdma.hdl.engine.transfer.records import Status
from cdma.hdl.selftest.program import MALFORMED, Action, Step, Trials, Word, encode_steps, step_layout

__all__ = ["Sequencer"]

_KEPT = (Word.PACKED, Word.CRC, Word.RAW_BLOCKS, Word.OFFLOAD_CYCLES, Word.PREFETCH_CYCLES, Word.STATUS)


class Sequencer(wiring.Component):
    """Does step after step of a program until one finds something else than it expects, or all are done.

    ::

        [program] --> step --> aw, w | ar <--> bus
            ^                  irq, pattern
            |                     |
        next step <-- as expected-+--> seen, wanted --> otherwise: done, not passed

    Parameters
    ----------
    steps : sequence of Step
        The program; its last step is an END.
    patience : int
        An engine that has not answered 2 ** patience cycles after the start never does: the trial has failed.

    Members
    -------
    start : In(1)
        Begin. ``flipped``, ``disturbed`` and the words must hold until ``done``.
    flipped, disturbed : In(1)
        A byte of the stream is flipped, on purpose; it is flipped at all.
    words : In(ArrayLayout(32, len(Word)))
        The words that come from elsewhere; what is given for those that are kept is not used.
    bus : Out(axi_lite(ADDRESS_BITS))
        The engine's registers.
    irq : In(1)
        Its interrupt.
    action : Out(Action)
        What is asked for, valid with ``go``.
    go : Out(1)
        One cycle: begin a FILL, FLIP or COMPARE.
    over : In(1)
        One cycle: it is done; with it:
    wrong : In(32)
        How much of the comparison was wrong.
    done : Out(1)
        One cycle, at the end of a trial; what follows holds until the next start.
    passed : Out(1)
        All steps found what they expected.
    step : Out(range(len(steps) + 1))
        Number of the step that did not, from 1 on.
    seen, wanted : Out(32)
        What it found, and what it expected.
    kept : Out(ArrayLayout(32, len(Word)))
        The words that were kept since the start; the others are 0.
    """

    def __init__(self, steps: Sequence[Step], patience: int):
        self._steps = list(steps)
        self._patience = patience
        words = data.ArrayLayout(32, len(Word))
        super().__init__({
            "start": In(1), "flipped": In(1), "disturbed": In(1), "words": In(words),
            "bus": Out(axi_lite(ADDRESS_BITS)), "irq": In(1),
            "action": Out(Action), "go": Out(1), "over": In(1), "wrong": In(32),
            "done": Out(1), "passed": Out(1), "step": Out(range(len(self._steps) + 1)),
            "seen": Out(32), "wanted": Out(32), "kept": Out(words),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.program = rom = memory.Memory(
            shape=step_layout(), depth=len(self._steps), init=encode_steps(self._steps))
        bus = self.bus
        port = rom.read_port()
        step = port.data
        place = Signal(range(len(self._steps)))
        age = Signal(self._patience + 1)
        value = Signal(32)
        ends = Signal()
        answered, refused = Signal(), Signal()
        m.d.comb += [
            port.en.eq(1),
            port.addr.eq(place),
            value.eq(self._word(step.word, step.literal)),
            self.action.eq(step.action),
            bus.awaddr.eq(step.register << 2), bus.araddr.eq(step.register << 2), bus.wdata.eq(value),
            bus.wstrb.eq(0xF), bus.bready.eq(1), bus.rready.eq(1),
            answered.eq(bus.bvalid | bus.rvalid),
            refused.eq((bus.bvalid & (bus.bresp != Resp.OKAY)) | (bus.rvalid & (bus.rresp != Resp.OKAY))),
        ]
        # Address and data of a write are sent together, and each waits for its own ready.
        for channel in ("aw", "w", "ar"):
            valid, ready = getattr(bus, f"{channel}valid"), getattr(bus, f"{channel}ready")
            m.d.sync += valid.eq(valid & ~ready)
        m.d.sync += self.done.eq(ends)

        def follow() -> None:
            m.d.sync += place.eq(place + 1)
            m.next = "fetch"

        def find(seen: Value, wanted: Value) -> None:
            m.d.sync += [self.seen.eq(seen), self.wanted.eq(wanted)]
            m.next = "judge"

        malformed = Signal()
        code = self.seen[:Shape.cast(Status).width]
        m.d.comb += malformed.eq((code == Status.CRC_MISMATCH.value)
                                 | ((code >= MALFORMED.start) & (code < MALFORMED.stop)))
        late = age[-1]
        with m.If(~late):
            m.d.sync += age.eq(age + 1)
        with m.FSM():
            with m.State("idle"):
                with m.If(self.start):
                    m.d.sync += [place.eq(0), age.eq(0), self.passed.eq(0), self.step.eq(0), self.kept.eq(0)]
                    m.next = "fetch"
            with m.State("fetch"):
                m.next = "begin"
            with m.State("begin"):
                skipped = (((step.trials == Trials.RIGHT) & self.flipped)
                           | ((step.trials == Trials.FLIPPED) & ~self.flipped)
                           | ((step.trials == Trials.DISTURBED) & ~self.disturbed))
                with m.If(skipped):
                    follow()
                with m.Else(), m.Switch(step.action):
                    with m.Case(Action.WRITE, Action.READ, Action.KEEP, Action.MALFORMED):
                        writes = step.action == Action.WRITE
                        m.d.sync += [bus.awvalid.eq(writes), bus.wvalid.eq(writes), bus.arvalid.eq(~writes)]
                        m.next = "access"
                    with m.Case(Action.SAME):
                        find(value, self._word(step.other, step.literal))
                    with m.Case(Action.WAIT):
                        m.d.sync += [self.seen.eq(0), self.wanted.eq(1)]
                        m.next = "wait"
                    with m.Case(Action.FILL, Action.FLIP, Action.COMPARE):
                        m.d.comb += self.go.eq(1)
                        m.next = "pattern"
                    with m.Default():
                        m.d.sync += self.passed.eq(1)
                        m.d.comb += ends.eq(1)
                        m.next = "idle"
            with m.State("access"):
                m.d.sync += [self.seen.eq(0), self.wanted.eq(0)]
                with m.If(answered):
                    with m.If(refused):
                        # Nothing is expected of such an access.
                        m.d.sync += self.seen.eq(bus.rdata)
                        m.next = "fail"
                    with m.Elif(step.action == Action.WRITE):
                        follow()
                    with m.Else():
                        find(bus.rdata, value)
                with m.Elif(late):
                    m.next = "fail"
            with m.State("wait"):
                with m.If(self.irq):
                    follow()
                with m.Elif(late):
                    m.next = "fail"
            with m.State("pattern"):
                with m.If(self.over):
                    find(self.wrong, Value.cast(0))
            with m.State("judge"):
                follow()
                with m.If(step.action == Action.KEEP):
                    for word in _KEPT:
                        with m.If(step.word == word):
                            m.d.sync += self.kept[word.value].eq(self.seen)
                with m.Elif(step.action == Action.MALFORMED):
                    m.d.sync += [self.kept[Word.STATUS.value].eq(code), self.seen.eq(code),
                                 self.wanted.eq(Status.CRC_MISMATCH.value)]
                    with m.If(~malformed):
                        m.d.sync += place.eq(place)
                        m.next = "fail"
                with m.Elif(self.seen != self.wanted):
                    m.d.sync += place.eq(place)
                    m.next = "fail"
            with m.State("fail"):
                m.d.sync += self.step.eq(place + 1)
                m.d.comb += ends.eq(1)
                m.next = "idle"
        return m

    def _word(self, which: Value, literal: Value) -> Value:
        """A word by its name."""
        given = {word: self.kept[word.value] if word in _KEPT else self.words[word.value] for word in Word}
        given[Word.LITERAL] = literal
        return Array(given[word] for word in sorted(Word, key=lambda word: word.value))[which.as_value()]
