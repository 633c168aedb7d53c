"""Reads entries of the descriptor rings, one at a time, alternating between the directions."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.common.counters import increased
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.signature import axi_read
from cdma.hdl.engine.control.descriptor import RECORD_BYTES, RECORD_WORDS, descriptor_layout
from cdma.hdl.engine.control.ring import ring_layout
from cdma.hdl.engine.control.table import DIRECTIONS, RING_INDEX_BITS

__all__ = ["Fetcher"]


class Fetcher(wiring.Component):
    """Reads entries of the rings into the store, which pushes them into the queues.

    ::

        rings --> [turns] --> [add] --> AxiReader --> [word by word] --> fill, push
                                            |
                                            +-- fault --> [record of the failure] --> fill, push

    An entry that cannot be read is pushed as a record of its failure, in order with the others: ``failed`` is high
    while it is pushed; its source is the entry's address, its CRC the AXI response, its tag zero. The response is 0
    if the link did not answer for the time limit (:mod:`cdma.hdl.engine.axi.watch`). The reader is then isolated: no
    entry is requested until the link has answered all open transactions.

    Parameters
    ----------
    config : EngineConfig
        What is built.

    Members
    -------
    rings : In(ring_layout(config)).array(2)
        Registers of the rings.
    pending : In(2)
        Rings that have an entry to read and a free place for it in the queue.
    begin, advance, fail : Out(2)
        To the ring that is served: reading an entry begins; it was read; it could not be read.
    fill
        Words for the store: ``valid``, ``word``, ``data``; taken with ``ready``.
    push, direction, pushed
        The record is complete; the direction of its queue; the store has pushed it.
    failed : Out(1)
        The record stands for an entry that could not be read.
    axi : Out(axi_read(address_bits, link_beat_bytes))
        Link memory.
    silent : In(1)
        The link has not answered reads for the time limit.
    isolated : Out(1)
        The reader still has a transaction open of an entry whose failure was reported.
    idle : Out(1)
        No entry is being read. A soft reset in such a cycle needs no reset of this unit.
    """

    def __init__(self, config: EngineConfig):
        self._config = config
        both = len(DIRECTIONS)
        super().__init__({
            "rings": In(ring_layout(config)).array(both), "pending": In(both),
            "begin": Out(both), "advance": Out(both), "fail": Out(both),
            "fill": Out(wiring.Signature({
                "valid": Out(1), "word": Out(exact_log2(RECORD_WORDS)), "data": Out(32), "ready": In(1)})),
            "push": Out(1), "direction": Out(1), "pushed": In(1), "failed": Out(1),
            "axi": Out(axi_read(config.address_bits, config.link_beat_bytes)), "silent": In(1), "isolated": Out(1),
            "idle": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        again = Signal()
        reader = AxiReader(config.address_bits, config.link_beat_bytes, exact_log2(RECORD_BYTES) + 1, 1,
                           config.burst_beats)
        m.submodules.reader = ResetInserter(again)(reader)
        wiring.connect(m, reader.axi, wiring.flipped(self.axi))

        direction = Signal()
        own = Cat(~direction, direction)
        low = Signal(RING_INDEX_BITS + 1, reset_less=True)
        high = Signal(len(self.rings[0].base) - RING_INDEX_BITS, reset_less=True)
        word = Signal(exact_log2(RECORD_WORDS))
        # Base and head of the ring that is served are registered, so that no multiplexer is in front of the adder.
        base, head = (Signal.like(self.rings[0][name], name=name, reset_less=True) for name in ("base", "head"))
        beat_words = config.link_words
        resp = Signal(2, reset_less=True)
        fault_source = descriptor_layout()["source"].offset // 32
        fault_crc = descriptor_layout()["crc"].offset // 32
        entry = Cat(Const(0, exact_log2(RECORD_BYTES)), low[:-1], high)
        reported = {fault_source: entry[:32], fault_source + 1: entry[32:], fault_crc: resp}
        drained = Signal()
        m.d.comb += [
            self.direction.eq(direction),
            self.fill.word.eq(word),
            reader.i.payload.address.eq(entry),
            reader.i.payload.bytes.eq(RECORD_BYTES),
            reader.stop.eq(self.isolated),
            drained.eq(self.isolated & reader.idle),
        ]
        with m.If(drained):
            m.d.comb += again.eq(1)
            m.d.sync += self.isolated.eq(0)
        with m.FSM() as fsm:
            m.d.comb += self.idle.eq(fsm.ongoing("wait"))
            with m.State("wait"):
                m.d.sync += [word.eq(0), self.failed.eq(0)]
                with m.If(self.pending.any()):
                    m.d.comb += self.begin.eq(Mux(self.pending.all(), own.rotate_left(1), self.pending))
                    m.d.sync += direction.eq(self.begin[1])
                    m.d.sync += [register.eq(Mux(self.begin[1], self.rings[1][name], self.rings[0][name]))
                                 for name, register in (("base", base), ("head", head))]
                    m.next = "low"
            with m.State("low"):
                m.d.sync += low.eq(base[:RING_INDEX_BITS] + head)
                m.next = "high"
            with m.State("high"):
                m.d.sync += high.eq(increased(base[RING_INDEX_BITS:], low[-1]))
                m.next = "ask"
            with m.State("ask"):
                m.d.sync += resp.eq(0)
                m.d.comb += reader.i.valid.eq(~self.isolated)
                with m.If(self.isolated & self.silent):
                    m.d.sync += self.failed.eq(1)
                    m.next = "tell"
                with m.Elif(reader.i.valid & reader.i.ready):
                    m.next = "take"
            with m.State("take"):
                m.d.comb += [
                    self.fill.valid.eq(reader.o.valid & ~reader.fault.valid),
                    self.fill.data.eq(Array(reader.o.payload.data[32 * k:32 * k + 32] for k in range(beat_words))[
                        word[:exact_log2(beat_words)]]),
                    reader.o.ready.eq(self.fill.ready & word[:exact_log2(beat_words)].all()),
                ]
                with m.If(self.fill.valid & self.fill.ready):
                    m.d.sync += word.eq(word + 1)
                    with m.If(word == RECORD_WORDS - 1):
                        m.next = "push"
                with m.If(reader.fault.valid & reader.idle):
                    m.d.sync += [word.eq(0), self.failed.eq(1), resp.eq(reader.fault.resp)]
                    m.next = "tell"
                with m.Elif(self.silent & (reader.fault.valid | ~reader.o.valid)):
                    m.d.sync += [word.eq(0), self.failed.eq(1), self.isolated.eq(1)]
                    m.next = "tell"
            with m.State("tell"):
                m.d.comb += self.fill.valid.eq(1)
                with m.Switch(word):
                    for number, value in reported.items():
                        with m.Case(number):
                            m.d.comb += self.fill.data.eq(value)
                with m.If(self.fill.ready):
                    m.d.sync += word.eq(word + 1)
                    with m.If(word == RECORD_WORDS - 1):
                        m.d.comb += again.eq(~self.isolated | drained)
                        m.next = "push"
            with m.State("push"):
                m.d.comb += self.push.eq(1)
                with m.If(self.pushed):
                    m.d.comb += [
                        self.advance.eq(own & (~self.failed).replicate(len(own))),
                        self.fail.eq(own & self.failed.replicate(len(own))),
                    ]
                    m.next = "wait"
        return m
