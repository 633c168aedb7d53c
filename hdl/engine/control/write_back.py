"""Writes completions as records into rings in link memory, one at a time, alternating between the directions."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.counters import increased
from hdl.config.engine import EngineConfig
from hdl.engine.axi.bursts import INCR
from hdl.engine.axi.signature import axi_write
from hdl.engine.control.descriptor import RECORD_BYTES, RECORD_WORDS, completion_layout
from hdl.engine.control.ring import ring_layout
from hdl.engine.control.table import DIRECTIONS, RING_INDEX_BITS

__all__ = ["WriteBack"]

_LAST = RECORD_WORDS - 1


class WriteBack(wiring.Component):
    """Writes the oldest completion of a direction to its ring, and removes it when the response has come.

    ::

        rings --> [turns] --> [add] -----------------------------> aw
                     |                                              |
                     +--> word --> (queue) --> data --> [record] --> w
                                                                    |
        advance, fail <------------------------------------------- b

    Word 15 of a record is not that of the completion: it has the ring's phase and the index. The whole record is there
    before its address is given, so the master never waits inside a burst.

    =========  =====================================================================================
    state      what goes on
    =========  =====================================================================================
    wait       a ring is chosen; the ring served last comes second
    ask        an isolated port is waited for, because it still holds the record and the address of its burst
    read       16 words are read, 17 cycles; meanwhile the address is added
    send       address, beats, response
    =========  =====================================================================================

    A record fails if its response is an error, or if the port is silent (:mod:`hdl.engine.axi.watch`) while it is sent
    or is to be sent. In the latter case a burst that has begun stays open, and the unit is isolated until the port has
    completed it; beats that the port did not see before are completed with their strobes low.

    Latency: ``awvalid`` rises 19 cycles after ``pending``; ``advance`` is high one cycle after the response was taken.

    Parameters
    ----------
    config : EngineConfig
        What is built.

    Members
    -------
    rings : In(ring_layout(config)).array(2)
        Registers of the rings; of each, ``head`` is the record to write.
    phase : In(2)
        The phase of that record.
    pending : In(2)
        Rings that have a free place, and whose direction has a completion.
    begin, advance, fail : Out(2)
        To the ring that is served: writing the record begins; it was written; it could not be written.
    bad : Out(1)
        With ``advance``: the status of the record is not OK.
    word, data : Out(4), In(data)
        Number of a word of the oldest completions of both directions, and in the next cycle that word of each.
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
            "rings": In(ring_layout(config)).array(both), "phase": In(both), "pending": In(both),
            "begin": Out(both), "advance": Out(both), "fail": Out(both), "bad": Out(1),
            "word": Out(exact_log2(RECORD_WORDS)), "data": In(32).array(both),
            "axi": Out(axi_write(config.address_bits, config.link_beat_bytes)),
            "silent": In(1), "isolated": Out(1), "idle": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        status = completion_layout()["status"]
        direction = Signal()
        own = Cat(~direction, direction)
        base, head = (Signal.like(self.rings[0][name], name=name, reset_less=True) for name in ("base", "head"))
        phase = Signal(reset_less=True)
        low = Signal(RING_INDEX_BITS + 1, reset_less=True)
        high = Signal(len(base) - RING_INDEX_BITS, reset_less=True)
        record = Signal(8 * RECORD_BYTES, reset_less=True)
        read = Signal(range(RECORD_WORDS + 1))          # cycles of the state `read`
        arrived = Signal(range(RECORD_WORDS))           # the word that is at `data`
        content = Signal(32)
        shifts, starts, answered, failed = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            self.word.eq(read),
            content.eq(Mux(arrived == _LAST, Cat(phase, Const(0, 15), head),
                           Mux(direction, self.data[1], self.data[0]))),
        ]
        m.d.sync += [arrived.eq(read), self.advance.eq(0), self.fail.eq(0)]
        moves = self._send(m, record, Cat(Const(0, exact_log2(RECORD_BYTES)), low[:-1], high), starts, answered, failed)
        with m.FSM() as fsm:
            m.d.comb += self.idle.eq(fsm.ongoing("wait") & ~Cat(self.advance, self.fail).any())
            with m.State("wait"):
                m.d.sync += read.eq(0)
                with m.If(self.pending.any() & self.idle):
                    m.d.comb += self.begin.eq(Mux(self.pending.all(), own.rotate_left(1), self.pending))
                    m.d.sync += direction.eq(self.begin[1])
                    m.d.sync += phase.eq(Mux(self.begin[1], self.phase[1], self.phase[0]))
                    m.d.sync += [register.eq(Mux(self.begin[1], self.rings[1][name], self.rings[0][name]))
                                 for name, register in (("base", base), ("head", head))]
                    m.next = "ask"
            with m.State("ask"):
                with m.If(self.silent):
                    m.d.sync += self.fail.eq(own)
                    m.next = "wait"
                with m.Elif(~self.isolated):
                    m.next = "read"
            with m.State("read"):
                # Words are shifted in from above, so the first one ends at the bottom.
                m.d.sync += [
                    read.eq(read + 1),
                    low.eq(base[:RING_INDEX_BITS] + head),
                    high.eq(increased(base[RING_INDEX_BITS:], low[-1])),
                ]
                m.d.comb += shifts.eq(read != 0)
                with m.If(arrived == status.offset // 32):
                    m.d.sync += self.bad.eq(content.bit_select(status.offset % 32, status.width).any())
                with m.If(read == RECORD_WORDS):
                    m.d.sync += self.fail.eq(own & self.silent.replicate(len(own)))
                    m.d.comb += starts.eq(~self.silent)
                    m.next = "send"
                    with m.If(self.silent):
                        m.next = "wait"
            with m.State("send"):
                with m.If(answered):
                    m.d.sync += [
                        self.advance.eq(own & (~failed).replicate(len(own))),
                        self.fail.eq(own & failed.replicate(len(own))),
                    ]
                    m.next = "wait"
                with m.Elif(self.silent):
                    m.d.sync += [self.isolated.eq(1), self.fail.eq(own)]
                    m.next = "wait"
        with m.If(answered):
            m.d.sync += self.isolated.eq(0)
        beat_bits = len(self.axi.wdata)
        with m.If(shifts):
            m.d.sync += record.eq(Cat(record[32:], content))
        with m.Elif(moves):
            m.d.sync += record.eq(Cat(record[beat_bits:], record[:beat_bits]))
        return m

    def _send(self, m: Module, record: Signal, address: Value, starts: Signal, answered: Signal, failed: Signal
              ) -> Signal:
        """Sends the record as one burst from ``starts`` on; returns whether a beat moves. ``answered``: the response is
        taken in this cycle, and is an error if ``failed``."""
        axi = self.axi
        beats = RECORD_BYTES // self._config.link_beat_bytes
        asks, sends, waits = Signal(), Signal(), Signal()
        strobe = Signal()
        beat = Signal(range(max(2, beats)))
        last, moves = Signal(), Signal()
        m.d.comb += [
            axi.awvalid.eq(asks), axi.awaddr.eq(address), axi.awlen.eq(beats - 1),
            axi.awsize.eq(exact_log2(self._config.link_beat_bytes)), axi.awburst.eq(INCR),
            axi.wvalid.eq(sends), axi.wdata.eq(record), axi.wlast.eq(last),
            axi.wstrb.eq(strobe.replicate(len(axi.wstrb))),
            # As in AxiWriter, it is not ready before the last beat has gone: a port that waits for it is not silent.
            axi.bready.eq(waits),
            last.eq(beat == beats - 1), moves.eq(sends & axi.wready),
            answered.eq(axi.bvalid & waits), failed.eq(axi.bresp[1]),
        ]
        with m.If(starts):
            m.d.sync += [asks.eq(1), sends.eq(1), beat.eq(0), strobe.eq(1)]
        with m.Else():
            with m.If(axi.awready):
                m.d.sync += asks.eq(0)
            with m.If(moves):
                m.d.sync += [beat.eq(beat + 1), sends.eq(~last), waits.eq(last), strobe.eq(~self.isolated)]
        with m.If(answered):
            m.d.sync += waits.eq(0)
        return moves
