"""Writes completions as records into rings in link memory, alternating between the directions."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.common.counters import increased
from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.bursts import INCR
from cdma.hdl.engine.axi.signature import axi_write
from cdma.hdl.engine.control.descriptor import RECORD_BYTES, RECORD_WORDS, completion_layout
from cdma.hdl.engine.control.ring import ring_layout
from cdma.hdl.engine.control.table import DIRECTIONS, RING_INDEX_BITS

__all__ = ["WriteBack"]

_LAST = RECORD_WORDS - 1


class WriteBack(wiring.Component):
    """Writes the completions of directions as records to their rings, and removes each when its response has come.

    ::

        rings --> [turns] --> [add] -----------------------------> aw
                     |                                              |
                     +--> word --> (queue) --> data --> [record] --> w
                     |
                     +--> [FIFO of open records] <------------------ b
                                    |
        advance, fail, back <-------+

    Word 15 of a record is not that of the completion: it has the ring's phase and the index. The whole record is there
    before its address is given, so the master never waits inside a burst. The next record is read while the responses
    to those before it are outstanding.

    =========  =====================================================================================
    state      what goes on
    =========  =====================================================================================
    wait       a ring is chosen; the ring served last comes second
    ask        an isolated port is waited for, because it still holds the record and the address of its burst
    read       16 words are read, 17 cycles; meanwhile the address is added
    send       address and beats
    =========  =====================================================================================

    A record fails if its response is an error, or if the port is silent (:mod:`cdma.hdl.engine.axi.watch`) while a
    record of its ring is open. Records of the ring that were begun after one that failed count as not written, whatever
    their responses are; the ring is open until these have come. If the port is silent, its bursts stay open, and the
    unit is isolated until the port has completed them; beats that the port did not see before are completed with their
    strobes low.

    Latency: ``awvalid`` rises 19 cycles after ``pending``; ``advance`` is high one cycle after the response was taken.
    Throughput: with beats of 32 bytes a record every 22 cycles, while fewer than ``outstanding_records`` are open.

    Parameters
    ----------
    config : EngineConfig
        What is built.

    Members
    -------
    rings : In(ring_layout(config)).array(2)
        Registers of the rings.
    next, phase : In(RING_INDEX_BITS).array(2), In(2)
        Of each ring the record to write, and its phase.
    pending : In(2)
        Rings that have a free place, and whose direction has a completion that is not open.
    begin, advance, fail : Out(2)
        To the rings: writing a record begins; the oldest open one was written; it could not be written.
    bad : Out(1)
        With ``advance``: the status of the record is not OK.
    open, back : Out(2)
        Records of the ring are open. After a failure, when no record is open any more: ring and queue go back to the
        oldest completion.
    count : Out(range(outstanding_records + 1)).array(2)
        Records of each ring that are open.
    word, data, step : Out(4), In(data), Out(2)
        Number of a word of the completions of both directions, and in the next cycle that word of each; the direction's
        next completion is to be shown.
    axi : Out(axi_write(address_bits, link_beat_bytes))
        Link memory.
    silent : In(1)
        The link has not answered writes for the time limit.
    isolated : Out(1)
        A burst is still open of a record whose failure was reported.
    idle : Out(1)
        No record is being written, but for one whose failure was reported.
    """

    def __init__(self, config: EngineConfig):
        self._config = config
        both = len(DIRECTIONS)
        super().__init__({
            "rings": In(ring_layout(config)).array(both), "next": In(RING_INDEX_BITS).array(both), "phase": In(both),
            "pending": In(both), "begin": Out(both), "advance": Out(both), "fail": Out(both), "bad": Out(1),
            "open": Out(both), "back": Out(both), "count": Out(range(config.outstanding_records + 1)).array(both),
            "word": Out(exact_log2(RECORD_WORDS)), "data": In(32).array(both), "step": Out(both),
            "axi": Out(axi_write(config.address_bits, config.link_beat_bytes)),
            "silent": In(1), "isolated": Out(1), "idle": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        status = completion_layout()["status"]
        direction = Signal()
        own = Cat(~direction, direction)
        base, index = (Signal.like(given, name=name, reset_less=True)
                       for name, given in (("base", self.rings[0].base), ("index", self.next[0])))
        phase = Signal(reset_less=True)
        low = Signal(RING_INDEX_BITS + 1, reset_less=True)
        high = Signal(len(base) - RING_INDEX_BITS, reset_less=True)
        record = Signal(8 * RECORD_BYTES, reset_less=True)
        read = Signal(range(RECORD_WORDS + 1))          # cycles of the state `read`
        arrived = Signal(range(RECORD_WORDS))           # the word that is at `data`
        content = Signal(32)
        bad = Signal(reset_less=True)
        shifts, starts, moves, gone, sent = Signal(), Signal(), Signal(), Signal(), Signal()
        spoiled = Signal(len(own))                      # a record of the ring failed
        gives_up = Signal.like(spoiled)                 # the port is silent: the ring's records fail
        free = Signal()
        m.d.comb += [
            self.word.eq(read),
            content.eq(Mux(arrived == _LAST, Cat(phase, Const(0, 15), index),
                           Mux(direction, self.data[1], self.data[0]))),
            self.open.eq(Cat(count != 0 for count in self.count) | spoiled),
            self.step.eq(own & starts.replicate(len(own))),
        ]
        m.d.sync += arrived.eq(read)
        address = Cat(Const(0, exact_log2(RECORD_BYTES)), low[:-1], high)
        self._send(m, record, address, starts, moves, gone, sent)
        silent, lost, left = self._answers(m, direction, bad, starts, gone, spoiled, gives_up, free)
        with m.If(lost):
            m.d.comb += gives_up.eq(left)
        asked = self.pending & ~spoiled
        with m.FSM() as fsm:
            m.d.comb += self.idle.eq(fsm.ongoing("wait") & ~self.open.any() & ~Cat(self.advance, self.fail).any())
            with m.State("wait"):
                m.d.sync += read.eq(0)
                with m.If(asked.any() & free & ~lost):
                    m.d.comb += self.begin.eq(Mux(asked.all(), own.rotate_left(1), asked))
                    m.d.sync += direction.eq(self.begin[1])
                    m.d.sync += [kept.eq(Mux(self.begin[1], given[1], given[0])) for kept, given in (
                        (phase, self.phase), (index, self.next), (base, [ring.base for ring in self.rings]))]
                    m.next = "ask"
            with m.State("ask"):
                with m.If(silent):
                    m.d.comb += gives_up.eq(own | left)
                    m.next = "wait"
                with m.Elif(~self.isolated):
                    m.next = "read"
            with m.State("read"):
                # Words are shifted in from above, so the first one ends at the bottom.
                m.d.sync += [
                    read.eq(read + 1),
                    low.eq(base[:RING_INDEX_BITS] + index),
                    high.eq(increased(base[RING_INDEX_BITS:], low[-1])),
                ]
                m.d.comb += shifts.eq(read != 0)
                with m.If(arrived == status.offset // 32):
                    m.d.sync += bad.eq(content.bit_select(status.offset % 32, status.width).any())
                with m.If(silent):
                    m.d.comb += gives_up.eq(own | left)
                    m.next = "wait"
                with m.Elif(read == RECORD_WORDS):
                    m.d.comb += starts.eq(1)
                    m.next = "send"
            with m.State("send"), m.If(lost | sent):
                m.next = "wait"
        beat_bits = len(self.axi.wdata)
        with m.If(shifts):
            m.d.sync += record.eq(Cat(record[32:], content))
        with m.Elif(moves):
            m.d.sync += record.eq(Cat(record[beat_bits:], record[:beat_bits]))
        return m

    def _send(self, m: Module, record: Signal, address: Value, starts: Signal, moves: Signal, gone: Signal, sent: Signal
              ) -> None:
        """Sends the record as one burst from ``starts`` on. ``moves``: a beat goes; ``gone``: all beats have gone;
        ``sent``: the address too."""
        axi = self.axi
        beats = RECORD_BYTES // self._config.link_beat_bytes
        asks, sends = Signal(), Signal()
        strobe = Signal()
        beat = Signal(range(max(2, beats)))
        last = Signal()
        m.d.comb += [
            axi.awvalid.eq(asks), axi.awaddr.eq(address), axi.awlen.eq(beats - 1),
            axi.awsize.eq(exact_log2(self._config.link_beat_bytes)), axi.awburst.eq(INCR),
            axi.wvalid.eq(sends), axi.wdata.eq(record), axi.wlast.eq(last),
            axi.wstrb.eq(strobe.replicate(len(axi.wstrb))),
            last.eq(beat == beats - 1), moves.eq(sends & axi.wready), gone.eq(~sends),
            sent.eq(~asks & ~sends),
        ]
        with m.If(starts):
            m.d.sync += [asks.eq(1), sends.eq(1), beat.eq(0), strobe.eq(1)]
        with m.Else():
            with m.If(axi.awready):
                m.d.sync += asks.eq(0)
            with m.If(moves):
                m.d.sync += [beat.eq(beat + 1), sends.eq(~last), strobe.eq(~self.isolated)]

    def _answers(self, m: Module, direction: Signal, bad: Signal, starts: Signal, gone: Signal, spoiled: Signal,
                 gives_up: Signal, free: Signal) -> tuple[Signal, Signal, Value]:
        """Takes responses, and counts records; ``free``: another one may be begun. Returns whether the port is silent,
        which it is not in a cycle with an answer; whether it is while bursts are open, and was not before; and the
        rings that have open records beside one that was answered in the last cycle, after which the port may be silent
        for a cycle."""
        axi = self.axi
        most = self._config.outstanding_records
        m.submodules.sent = open_ = StreamFifo(data.StructLayout({"direction": 1, "bad": 1}), most)
        bursts = Signal(range(most + 1))                # at the port
        pause = Signal(3)                               # between responses, for what counts records
        waits, answered, silent, lost = Signal(), Signal(), Signal(name="no_answer"), Signal()
        ends = Signal(len(spoiled))                     # an open record of the ring was answered
        owner = Cat(~open_.o.payload.direction, open_.o.payload.direction)
        others = bursts > 1 if most > 1 else Const(0)   # beside the one whose beats are sent
        good = ~axi.bresp[1] & ((owner & spoiled) == 0)
        m.d.comb += [
            open_.i.valid.eq(starts), open_.i.payload.direction.eq(direction), open_.i.payload.bad.eq(bad),
            # As in AxiWriter, it is not ready before the last beat of a burst has gone: a port that waits for it is not
            # silent.
            waits.eq(open_.o.valid & (others | gone) & ~pause.any()),
            axi.bready.eq(waits), answered.eq(axi.bvalid & waits), open_.o.ready.eq(answered),
            free.eq(bursts != most),
            silent.eq(self.silent & ~answered),
            lost.eq(silent & bursts.any() & ~self.isolated),
        ]
        m.d.sync += [
            bursts.eq(bursts + starts - answered),
            pause.eq(Cat(answered, pause)),
            self.advance.eq(0), self.fail.eq(gives_up & ~spoiled), ends.eq(0),
            spoiled.eq(gives_up | (spoiled & ~self.back)),
        ]
        with m.If(answered & ~self.isolated):
            m.d.sync += [ends.eq(owner), self.bad.eq(open_.o.payload.bad)]
            with m.If(good):
                m.d.sync += self.advance.eq(owner)
            with m.Else():
                m.d.sync += [self.fail.eq(owner & ~spoiled), spoiled.eq(owner | (spoiled & ~self.back))]
        with m.If(lost):
            m.d.sync += self.isolated.eq(1)
        with m.Elif(answered & (bursts == 1)):
            m.d.sync += self.isolated.eq(0)
        left = Cat((count > 1 if most > 1 else Const(0)) | ((count != 0) & ~end)
                   for count, end in zip(self.count, ends, strict=True))
        for number, count in enumerate(self.count):
            with m.If(gives_up[number]):
                m.d.sync += count.eq(0)
            with m.Else():
                m.d.sync += count.eq(count + self.begin[number] - ends[number])
            m.d.comb += self.back[number].eq(spoiled[number] & (count == 0) & ~self.advance[number])
        return silent, lost, left
