"""A channel: queues, checks, runs and completes the descriptors of one direction."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.counters import counter
from hdl.config.engine import EngineConfig
from hdl.engine.control.checker import Checker
from hdl.engine.control.descriptor import RECORD_WORDS, Operation, completion_layout
from hdl.engine.control.records import RecordQueue, record_port
from hdl.engine.control.store import account_layout
from hdl.engine.transfer.records import Status, request_layout, result_layout

__all__ = ["Channel", "causes_layout"]

_CYCLE_BITS = 48


def causes_layout() -> data.StructLayout:
    """Bits of IRQ_STATUS that a completion sets."""
    return data.StructLayout({"completion": 1, "error": 1})


class Channel(wiring.Component):
    """Runs descriptors in order. Each gives one completion; none starts while the completion queue is full.

    ::

        record --> [queue] --> checker --> request --> (data path) --> result --> [queue] --> completion
                                  |                                     ^
                                  +--- bad descriptor, unread entry ----+

    Latency: ``request`` is valid 21 cycles after a descriptor was taken, the completion 17 cycles after ``result``.
    Both add to the time of every transfer.

    Parameters
    ----------
    config : EngineConfig
        What is built.
    operation : Operation
        The direction.

    Members
    -------
    record : In(record_port())
        New descriptors; none may be pushed while the queue is full.
    unread : In(1)
        With ``push``: the record stands for an entry of the ring that could not be read.
    unread_waits : Out(1)
        Such a record is queued or being processed; a second one must not be pushed.
    level : Out(range(queue_depth + 1))
        Descriptors in the queue.
    word, completion : In(4), Out(32)
        Word of the oldest completion, one cycle later; zero if there is none.
    pop : In(1)
        Removes the oldest completion.
    completions : Out(range(queue_depth + 1))
        Completions in the queue.
    request : Out(stream.Signature(request_layout(config)))
        Transfers to run.
    result : In(stream.Signature(result_layout(config)))
        Their results. The payload must not change while ``ready`` is low.
    abort : In(1)
        Aborts the running transfer; has no effect when none runs.
    aborting : Out(1)
        A level: high until the transfer's result arrives.
    hold : In(1)
        Start no more descriptors, and abort the running one.
    busy : Out(1)
        A descriptor is being processed.
    blocked : Out(1)
        Descriptors wait because the completion queue is full.
    causes : Out(causes_layout())
        High for one cycle when a completion is pushed.
    account : Out(account_layout())
        Bytes of a transfer that succeeded.
    accounted : In(1)
        The bytes were added to the counters.
    """

    request: stream.Interface
    result: stream.Interface

    def __init__(self, config: EngineConfig, operation: Operation):
        self._config = config
        self._operation = operation
        level = range(config.queue_depth + 1)
        super().__init__({
            "record": In(record_port()), "unread": In(1), "unread_waits": Out(1), "level": Out(level),
            "word": In(exact_log2(RECORD_WORDS)), "completion": Out(32), "pop": In(1), "completions": Out(level),
            "request": Out(stream.Signature(request_layout(config))),
            "result": In(stream.Signature(result_layout(config))),
            "abort": In(1), "aborting": Out(1), "hold": In(1), "busy": Out(1), "blocked": Out(1),
            "causes": Out(causes_layout()), "account": Out(account_layout()), "accounted": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.queue = queue = RecordQueue(config.queue_depth)
        m.submodules.checker = checker = Checker(config, self._operation)
        m.submodules.done = done = RecordQueue(config.queue_depth)
        wiring.connect(m, wiring.flipped(self.record), queue.i)
        result = self.result.payload
        full = done.level[-1]
        m.d.comb += [
            self.level.eq(queue.level),
            queue.word.eq(checker.word),
            checker.data.eq(queue.data),
            self.request.payload.eq(checker.request),
            done.word.eq(self.word),
            done.pop.eq(self.pop),
            self.completion.eq(Mux(done.level == 0, 0, done.data)),
            self.completions.eq(done.level),
            self.blocked.eq(full & (queue.level != 0) & ~self.busy),
        ]

        # The place in the queue of an entry that could not be read.
        marked = self.unread_waits
        mark = Signal.like(queue.tail, reset_less=True)
        unread = Signal()
        with m.If(self.record.push & self.unread):
            m.d.sync += [marked.eq(1), mark.eq(queue.tail)]

        cycles = Signal(_CYCLE_BITS, reset_less=True)
        bad = Signal()              # the descriptor was rejected: no transfer was run
        abort = Signal()
        word = Signal(exact_log2(RECORD_WORDS))
        uncounted = Signal()
        status = Signal(Status)
        unread_status = Signal(Status)
        account = self.account
        offload = self._operation is Operation.OFFLOAD
        shown = self._completion(m, word, checker, Value.cast(status), unread, bad, cycles)
        m.d.comb += [
            # For an entry that could not be read, the CRC field holds the AXI response; 0 means no response.
            unread_status.eq(Mux(checker.request.crc[1], Status.DESCRIPTOR_READ_ERROR, Status.DESCRIPTOR_READ_TIMEOUT)),
            status.eq(Mux(unread, unread_status, Mux(bad, checker.status, result.status))),
            account.raw_bytes.eq(checker.request.raw_bytes),
            account.packed_bytes.eq(result.bytes if offload else checker.request.packed_bytes),
            done.i.word.eq(word),
            done.i.data.eq(shown),
        ]
        with m.If(self.accounted):
            m.d.sync += uncounted.eq(0)
        with m.FSM() as fsm:
            m.d.comb += self.busy.eq(~fsm.ongoing("wait"))
            with m.State("wait"):
                m.d.sync += [word.eq(0), bad.eq(0)]
                with m.If((queue.level != 0) & ~full & ~self.hold):
                    m.d.comb += checker.start.eq(1)
                    m.d.sync += unread.eq(marked & (mark == queue.head))
                    m.next = "check"
            with m.State("check"):
                with m.If(checker.done):
                    m.d.comb += queue.pop.eq(1)
                    with m.If(unread | (checker.status != Status.OK)):
                        m.d.sync += bad.eq(1)
                        m.next = "complete"
                    with m.Else():
                        m.next = "request"
            with m.State("request"):
                m.d.comb += self.request.valid.eq(1)
                with m.If(self.request.ready):
                    m.next = "run"
            with m.State("run"):
                m.d.sync += uncounted.eq(result.status == Status.OK)
                with m.If(self.result.valid):
                    m.next = "complete"
            with m.State("complete"):
                m.d.comb += done.i.write.eq(1)
                m.d.sync += word.eq(word + 1)
                with m.If(word == RECORD_WORDS - 1):
                    m.next = "account"
            with m.State("account"):
                with m.If(~uncounted):
                    m.d.comb += [
                        done.i.push.eq(1),
                        self.result.ready.eq(~bad),
                        self.causes.completion.eq(checker.interrupt),
                        self.causes.error.eq(status != Status.OK),
                    ]
                    with m.If(unread):
                        m.d.sync += marked.eq(0)
                    m.next = "wait"
            m.d.comb += account.valid.eq(uncounted & (fsm.ongoing("complete") | fsm.ongoing("account")))
            works = fsm.ongoing("check") | fsm.ongoing("request") | fsm.ongoing("run")
        counter(m, cycles, works, clear=~self.busy)
        m.d.comb += self.aborting.eq(works & (abort | self.hold))
        m.d.sync += abort.eq(works & (abort | self.abort))
        return m

    def _completion(self, m: Module, word: Signal, checker: Checker, status: Value, unread: Signal, bad: Signal,
                    cycles: Signal) -> Value:
        """A word of the completion."""
        result = self.result.payload
        shown = Signal(result_layout(self._config))
        with m.If(unread):
            m.d.comb += [shown.place.eq(checker.request.source), shown.resp.eq(checker.request.crc)]
        with m.Elif(~bad):
            m.d.comb += shown.eq(result)
        record = Signal(completion_layout())
        m.d.comb += [
            record.tag.eq(checker.tag), record.status.eq(status), record.operation.eq(checker.operation),
            record.cycles.eq(cycles),
        ]
        m.d.comb += [record[name].eq(shown[name])
                     for name in ("lane", "resp", "crc", "raw_blocks", "bytes", "nonzero", "place")]
        return Value.cast(record).word_select(word, 32)
