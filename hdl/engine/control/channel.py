"""A channel: queues, checks, runs and completes the descriptors of one direction."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.common.bits import pick
from cdma.hdl.common.counters import counter, increased
from cdma.hdl.common.record_fifo import RecordFifo
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.pages import LARGEST_PAGE, PAGE_SIZE_BITS, PAGES_BITS, SMALLEST_PAGE
from cdma.hdl.engine.control.checker import Checker
from cdma.hdl.engine.control.descriptor import RECORD_WORDS, Operation, completion_layout
from cdma.hdl.engine.control.records import RecordQueue, record_port
from cdma.hdl.engine.control.store import account_layout
from cdma.hdl.engine.control.windows import windows_layout
from cdma.hdl.engine.transfer.records import LENGTH_BITS, Status, request_layout, result_layout

__all__ = ["Channel", "causes_layout"]

_CYCLE_BITS = 48
_PART_BITS = 12


def causes_layout() -> data.StructLayout:
    """Bits of IRQ_STATUS that a completion sets."""
    return data.StructLayout({"completion": 1, "error": 1})


class _Shared:
    """Units and registers that the steps of a channel share.

    A descriptor ``starts`` in the checker, which has it while it ``checks`` or if it is ``refused``, and ``unread`` if
    it could not be read. The transfer ``flies`` when the data path takes it; its result ``arrives``, and it ``lands``
    when its completion is pushed. ``flying`` counts tickets. ``waits``: no completion is being written.
    """

    def __init__(self, done: RecordQueue, checker: Checker, ticket: data.View, most: int) -> None:
        self.done, self.checker, self.ticket = done, checker, ticket
        self.unread = Signal(name="unread")
        self.flying = Signal(range(most + 2), name="flying")
        self.now, self.stamp = Signal(_CYCLE_BITS, name="now"), Signal(_CYCLE_BITS, name="stamp", reset_less=True)
        self.starts, self.flies, self.lands, self.refused, self.checks, self.waits, self.arrives = (
            Signal(name=name) for name in ("starts", "flies", "lands", "refused", "checks", "waits", "arrives"))


class Channel(wiring.Component):
    """Runs descriptors, several at a time. Each gives one completion, in order; none starts unless the completion queue
    has a place for it.

    ::

        record --> [queue] --> checker --+--> request --> (data path) --> result --+--> [queue] --> completion
                                  |      |                                         |
                                  |      +--> [tickets: tag, length, start] -------+
                                  +----------- bad descriptor, unread entry -------+

    A descriptor is checked while the transfers before it run, and waits as ``request`` until the data path takes it.
    What its completion needs waits as a ticket. A descriptor that is refused stays in the checker until all before it
    are completed. With one transfer in flight there are no tickets: the checker keeps the descriptor.

    Latency: ``request`` is valid 21 cycles after a descriptor was taken, the completion 17 cycles after ``result``.
    Both add to the time of a transfer that runs alone.

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
    windows : In(windows_layout(config))
        The address windows, if they are built. They do not change while the channel is ``busy``.
    level : Out(range(queue_depth + 1))
        Descriptors in the queue.
    word, completion : In(4), Out(32)
        Word of the oldest completion, one cycle later; zero if there is none.
    pop : In(1)
        Removes the oldest completion.
    completions : Out(range(queue_depth + 1))
        Completions in the queue.
    interrupt : Out(1)
        With ``write_back``: the descriptor of the oldest completion has the flag ``interrupt``.
    step, back : In(1)
        With ``write_back``: ``completion`` is a word of the completion after the one it was of; of the oldest again.
    request : Out(stream.Signature(request_layout(config)))
        Transfers to run, ``transfers_in_flight`` at a time.
    result : In(stream.Signature(result_layout(config)))
        Their results, in order. The payload must not change while ``ready`` is low.
    abort : In(1)
        Aborts the oldest descriptor that has no result yet; has no effect when there is none.
    aborting : Out(1)
        A level: high until the result arrives.
    hold : In(1)
        Start no more descriptors, and abort all that have no result yet.
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
            **({"interrupt": Out(1), "step": In(1), "back": In(1)} if config.write_back else {}),
            "causes": Out(causes_layout()), "account": Out(account_layout()), "accounted": In(1),
            **({"windows": In(windows_layout(config))} if config.address_windows else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.queue = queue = RecordQueue(config.queue_depth)
        m.submodules.checker = checker = Checker(config, self._operation)
        m.submodules.done = done = RecordQueue(config.queue_depth, ahead=config.write_back)
        wiring.connect(m, wiring.flipped(self.record), queue.i)
        if config.address_windows:
            m.d.comb += checker.windows.eq(self.windows)
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
        with m.If(self.record.push & self.unread):
            m.d.sync += [marked.eq(1), mark.eq(queue.tail)]

        # Completions that are in the queue, or will be when what is being processed has ended.
        promised = Signal(range(config.queue_depth + 1))
        offload = self._operation is Operation.OFFLOAD
        many = config.transfers_in_flight > 1
        # The other length is that of the result.
        length = "raw_bytes" if offload else "packed_bytes"
        layout = {"tag": 32, "interrupt": 1, length: LENGTH_BITS, "stamp": _CYCLE_BITS}
        if config.page_lists:
            layout |= {"listed": 1, "page_size": PAGE_SIZE_BITS}
        m.submodules.tickets = tickets = RecordFifo(
            data.StructLayout(layout), config.transfers_in_flight + 1 if many else 1)
        s = _Shared(done, checker, tickets.o.payload, config.transfers_in_flight)
        m.d.comb += [
            tickets.i.payload.tag.eq(checker.tag), tickets.i.payload.interrupt.eq(checker.interrupt),
            tickets.i.payload.stamp.eq(s.stamp),
            *(tickets.i.payload[name].eq(checker.request[name])
              for name in layout if name in checker.request.shape().members),
            tickets.o.ready.eq(s.lands),
        ]
        counter(m, s.now, 1)
        m.d.sync += [
            s.flying.eq(s.flying + s.flies - s.lands),
            promised.eq(promised + s.starts - (self.pop & (done.level != 0))),
        ]

        m.d.comb += s.arrives.eq(s.waits & self.result.valid & tickets.o.valid)
        ends = self._end(m, s)
        with m.FSM():
            with m.State("wait"):
                with m.If((queue.level != 0) & ~promised[-1] & ~self.hold):
                    m.d.comb += [checker.start.eq(1), s.starts.eq(1)]
                    m.d.sync += [s.unread.eq(marked & (mark == queue.head)), s.stamp.eq(s.now)]
                    m.next = "check"
            with m.State("check"):
                m.d.comb += s.checks.eq(1)
                with m.If(checker.done):
                    m.d.comb += queue.pop.eq(1)
                    with m.If(s.unread | (checker.status != Status.OK)):
                        m.next = "refused"
                    with m.Else():
                        m.next = "request"
            with m.State("request"):
                m.d.comb += [s.checks.eq(1), self.request.valid.eq(1), s.flies.eq(self.request.ready)]
                with m.If(s.flies):
                    m.next = "ticket"
            with m.State("ticket"):
                m.d.comb += tickets.i.valid.eq(1)
                with m.If(tickets.i.ready):
                    m.next = "wait" if many else "run"
            if not many:
                with m.State("run"), m.If(s.lands):
                    m.next = "wait"
            with m.State("refused"):
                m.d.comb += s.refused.eq(1)
                with m.If(ends & (s.flying == 0)):
                    m.next = "wait"

        if config.write_back:
            m.d.comb += [done.step.eq(self.step), done.back.eq(self.back)]
            flags = Signal(config.queue_depth)      # by the completion's place in the queue
            with m.If(done.i.push):
                m.d.sync += flags.bit_select(done.tail, 1).eq(self.causes.completion)
            m.d.comb += self.interrupt.eq(flags.bit_select(done.head, 1))

        # An abort is that of the oldest descriptor without a result.
        abort = Signal()
        pending = Signal()
        m.d.comb += [
            pending.eq(s.checks | Mux(s.waits, s.flying != 0, s.flying > 1)),
            self.aborting.eq(pending & (abort | self.hold)),
            self.busy.eq(promised != done.level),
        ]
        m.d.sync += abort.eq(pending & ~s.arrives & (abort | self.abort))
        return m

    def _end(self, m: Module, s: _Shared) -> Value:
        """Writes completions, of results and of refused descriptors; returns whether one is pushed."""
        offload = self._operation is Operation.OFFLOAD
        result, done, checker, ticket = self.result.payload, s.done, s.checker, s.ticket
        bad = Signal()              # the descriptor was rejected: no transfer was run
        rejects = Signal()          # `bad` of the next cycle
        reason = Signal(Status)     # why it was rejected
        word = Signal(exact_log2(RECORD_WORDS))
        uncounted = Signal()
        status = Signal(Status)
        unread_status = Signal(Status)
        cycles = Signal(_CYCLE_BITS, reset_less=True)
        account = self.account
        pages = self._pages(m, account.packed_bytes, ticket, result.status == Status.OK)
        m.d.comb += [
            # For an entry that could not be read, the CRC field holds the AXI response; 0 means no response.
            unread_status.eq(Mux(checker.request.crc[1], Status.DESCRIPTOR_READ_ERROR, Status.DESCRIPTOR_READ_TIMEOUT)),
            reason.eq(Mux(s.unread, unread_status, checker.status)),
            status.eq(Mux(bad, reason, result.status)),
            rejects.eq(Mux(s.waits, s.refused & (s.flying == 0), bad)),
            account.raw_bytes.eq(ticket.raw_bytes if offload else result.bytes),
            account.packed_bytes.eq(result.bytes if offload else ticket.packed_bytes),
            done.i.word.eq(word),
            done.i.data.eq(self._completion(
                m, s, Cat(s.waits, *((word == number) & ~s.waits for number in range(RECORD_WORDS - 1))), rejects,
                Value.cast(reason), cycles, pages)),
        ]
        m.d.sync += bad.eq(rejects)
        self._elapsed(m, cycles, Mux(bad, s.stamp, ticket.stamp), word)
        with m.If(self.accounted):
            m.d.sync += uncounted.eq(0)
        with m.FSM() as fsm:
            with m.State("wait"):
                m.d.comb += s.waits.eq(1)
                m.d.sync += [word.eq(0), cycles.eq(s.now)]
                with m.If(s.arrives):
                    m.d.sync += uncounted.eq(result.status == Status.OK)
                    m.next = "complete"
                with m.Elif(s.refused & (s.flying == 0)):
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
                        s.lands.eq(~bad),
                        self.causes.completion.eq(Mux(bad, checker.interrupt, ticket.interrupt)),
                        self.causes.error.eq(status != Status.OK),
                    ]
                    with m.If(bad & s.unread):
                        m.d.sync += self.unread_waits.eq(0)
                    m.next = "wait"
            m.d.comb += account.valid.eq(uncounted & ~fsm.ongoing("wait"))
        return done.i.push

    def _pages(self, m: Module, stream_bytes: Value, ticket: data.View, good: Value) -> Value:
        """The pages that a stream took, two cycles later; none if it was not in pages, or failed."""
        if not self._config.page_lists:
            return Const(0, 32)
        whole = Signal(PAGES_BITS, reset_less=True)
        rest = Signal(reset_less=True)
        pages = Signal(32, reset_less=True)
        with m.Switch(ticket.page_size):
            for size in range(LARGEST_PAGE - SMALLEST_PAGE + 1):
                with m.Case(size):
                    m.d.sync += [whole.eq(stream_bytes[SMALLEST_PAGE + size:]),
                                 rest.eq(stream_bytes[:SMALLEST_PAGE + size].any())]
        m.d.sync += pages.eq(Mux(ticket.listed & good, increased(whole, rest), 0))
        return pages

    def _elapsed(self, m: Module, cycles: Signal, start: Value, word: Value) -> None:
        """Subtracts the start from the time of the end, part by part, while the first words are written.

        A part of the start is registered in the cycle before, because what selects ``start`` has many readers.
        """
        borrow = Signal()
        begin = Signal(_PART_BITS, reset_less=True)
        for number, low in enumerate(range(0, _CYCLE_BITS, _PART_BITS)):
            part = slice(low, low + _PART_BITS)
            with m.If(word == number):
                m.d.sync += begin.eq(start[part])
            with m.If(word == number + 1):
                m.d.sync += Cat(cycles[part], borrow).eq(
                    Cat(cycles[part], Const(0, 1)) - begin - (borrow if low else 0))

    def _completion(self, m: Module, s: _Shared, coming: Value, rejects: Value, reason: Value, cycles: Signal,
                    pages: Value) -> Value:
        """A word of the completion: that of a transfer, or of a refused descriptor.

        ``coming`` is the word of the next cycle, one-hot, and ``rejects`` whether it is of a refused descriptor: what
        selects a word is registered, because each bit of it has many readers.
        """
        result, checker, ticket = self.result.payload, s.checker, s.ticket
        layout = completion_layout()
        landed, refused = Signal(layout), Signal(layout)
        names = ("status", "lane", "resp", "crc", "raw_blocks", "bytes", "nonzero", "place")
        m.d.comb += [
            landed.tag.eq(ticket.tag), landed.operation.eq(self._operation), landed.cycles.eq(cycles),
            landed.pages.eq(pages),
            *(landed[name].eq(result[name]) for name in names),
            refused.tag.eq(checker.tag), refused.operation.eq(checker.operation), refused.cycles.eq(cycles),
            refused.status.eq(reason),
        ]
        with m.If(s.unread):
            m.d.comb += [refused.place.eq(checker.request.source), refused.resp.eq(checker.request.crc)]
        shown: Value = Const(0, 32)
        counts = ("cycles", "pages") if self._config.page_lists else ("cycles",)
        for name, record, kind, fields in (("landed", landed, ~rejects, ("tag", *names, *counts)),
                                           ("refused", refused, rejects, ("tag", "status", "cycles", "place"))):
            words = sorted({number for field in fields for number in _words(layout[field])})
            choice = Signal(len(words), name=f"{name}_words")
            m.d.sync += choice.eq(Cat(coming[number] & kind for number in words))
            shown = shown | pick(choice, [Value.cast(record).word_select(number, 32) for number in words])
        return shown


def _words(field: data.Field) -> range:
    """The 32-bit words of a record that a field takes."""
    return range(field.offset // 32, (field.offset + field.width - 1) // 32 + 1)
