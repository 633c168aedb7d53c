"""Reads entries of the descriptor rings, several ahead, alternating between the directions."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.common.counters import increased
from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.bursts import INCR
from cdma.hdl.engine.axi.signature import axi_read
from cdma.hdl.engine.control.descriptor import RECORD_BYTES, RECORD_WORDS, descriptor_layout
from cdma.hdl.engine.control.ring import ring_layout
from cdma.hdl.engine.control.table import DIRECTIONS, RING_INDEX_BITS

__all__ = ["Fetcher"]


class Fetcher(wiring.Component):
    """Reads entries of the rings into the store, which writes them into the queues.

    ::

        rings --> [turns] --> [add] --> ar
                     |
                     +--> [directions of the entries on the way]
                                                  |
        r --> [FIFO] --> [word by word] ----------+--> fill, push
                              |
        r, error -------------+ record of the failure

    Up to ``entries_ahead`` entries are on the way, in one burst each. With more than one, the FIFO holds all of them:
    the link never waits for the store, and an entry is given to the store when all of it is there, in 16 cycles. With
    one, the FIFO is a register, and the store collects the words.

    An entry that cannot be read is pushed as a record of its failure, in order with the others: ``failed`` is high
    while it is pushed; its source is the entry's address, its CRC the AXI response, its tag zero. The response is 0
    if the link did not answer for the time limit (:mod:`cdma.hdl.engine.axi.watch`). Entries that were asked for after
    it, of both rings, are forgotten and read again. After a time limit the unit is isolated: no entry is requested
    until the link has answered all open transactions.

    Throughput: an entry in 18 cycles; one is asked for in 4.

    Parameters
    ----------
    config : EngineConfig
        What is built.

    Members
    -------
    rings : In(ring_layout(config)).array(2)
        Registers of the rings.
    pending : In(2)
        Rings that are enabled and not empty, and for whose next entry the queue has a place beside those on the way.
    begin, advance, fail : Out(2)
        Reading an entry of a ring begins; to the ring: its oldest entry was read; it could not be read.
    count : Out(range(entries_ahead + 1)).array(2)
        Entries of each ring that are on the way.
    fill
        Words for the store: ``valid``, ``word``, ``data``; taken with ``ready``, which is low in the first cycle in
        which an entry is ``valid``: its data may come one cycle later.
    push, direction, pushed
        The record is complete; the direction of its queue; the store has pushed it. With several entries on the way the
        record is pushed with its last word, and ``push`` stays low.
    failed : Out(1)
        The record stands for an entry that could not be read.
    axi : Out(axi_read(address_bits, link_beat_bytes))
        Link memory.
    silent : In(1)
        The link has not answered reads for the time limit.
    isolated : Out(1)
        A transaction is still open of an entry whose failure was reported.
    idle : Out(1)
        No entry is being read. A soft reset in such a cycle needs no reset of this unit.
    """

    def __init__(self, config: EngineConfig):
        self._config = config
        both = len(DIRECTIONS)
        super().__init__({
            "rings": In(ring_layout(config)).array(both), "pending": In(both),
            "begin": Out(both), "advance": Out(both), "fail": Out(both),
            "count": Out(range(config.entries_ahead + 1)).array(both),
            "fill": Out(wiring.Signature({
                "valid": Out(1), "word": Out(exact_log2(RECORD_WORDS)), "data": Out(32), "ready": In(1)})),
            "push": Out(1), "direction": Out(1), "pushed": In(1), "failed": Out(1),
            "axi": Out(axi_read(config.address_bits, config.link_beat_bytes)), "silent": In(1), "isolated": Out(1),
            "idle": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        most = self._config.entries_ahead
        # Directions of the entries on the way, the oldest one in bit 0.
        owners, inside = Signal(most), Signal(range(most + 1))
        oldest = owners[0]
        own = Cat(~oldest, oldest)
        word = Signal(exact_log2(RECORD_WORDS))
        starts, drops, tells, ends = (Signal(name=name) for name in ("starts", "drops", "tells", "ends"))
        faulty = Signal()
        resp = Signal(2, reset_less=True)
        low = Signal(RING_INDEX_BITS + 1, reset_less=True)
        high = Signal(len(self.rings[0].base) - RING_INDEX_BITS, reset_less=True)
        entry = Cat(Const(0, exact_log2(RECORD_BYTES)), low[:-1], high)
        full = Signal()             # all words are in the store, which has not pushed them
        row, there, quiet, silent = self._receive(m, word, starts, entry, ends, drops, faulty, resp)

        # Records.
        fault_source = descriptor_layout()["source"].offset // 32
        fault_crc = descriptor_layout()["crc"].offset // 32
        reported = {fault_source: entry[:32], fault_source + 1: entry[32:], fault_crc: resp}
        m.d.comb += [self.direction.eq(oldest), self.fill.word.eq(word), self.fill.valid.eq((there | tells) & ~full)]
        m.d.comb += self.fill.data.eq(row)
        with m.If(tells):
            m.d.comb += self.fill.data.eq(0)
            with m.Switch(word):
                for number, value in reported.items():
                    with m.Case(number):
                        m.d.comb += self.fill.data.eq(value)
        last = Signal()
        m.d.comb += last.eq(self.fill.valid & self.fill.ready & (word == RECORD_WORDS - 1))
        with m.If(self.fill.valid & self.fill.ready):
            m.d.sync += word.eq(word + 1)
        if most > 1:
            m.d.comb += ends.eq(last)
        else:
            m.d.comb += [self.push.eq(full), ends.eq(full & self.pushed)]
            m.d.sync += full.eq(last | (full & ~self.pushed))
        m.d.comb += [
            drops.eq(ends & self.failed),
            self.advance.eq(own & (ends & ~self.failed).replicate(len(own))),
            self.fail.eq(own & drops.replicate(len(own))),
        ]

        # Entries on the way.
        begins = self.begin.any()
        with m.If(ends):
            m.d.sync += owners.eq(owners[1:])
        place = inside - ends       # of the one that begins
        with m.If(begins), m.Switch(place[:len(inside)]):
            for number in range(most):
                with m.Case(number):
                    m.d.sync += owners[number].eq(self.begin[1])
        m.d.sync += inside.eq(Mux(drops, 0, inside + begins - ends))
        for number, count in enumerate(self.count):
            m.d.sync += count.eq(Mux(drops, 0, count + self.begin[number] - self.advance[number]))
        self._ask(m, inside, oldest, there | full, quiet, silent, faulty, resp, word, low, high, starts, tells, ends)
        return m

    def _receive(self, m: Module, word: Signal, starts: Value, entry: Value, ends: Value, drops: Value, faulty: Signal,
                 resp: Signal) -> tuple[Value, Value, Value, Value]:
        """Asks for the entry that ``starts``, and takes beats. Returns the word of a record, whether it is there,
        whether no transaction is open, and whether the link is silent."""
        config, axi, most = self._config, self.axi, self._config.entries_ahead
        beats = RECORD_BYTES // config.link_beat_bytes
        rows = StreamFifo(8 * config.link_beat_bytes, most * beats if most > 1 else 0)
        m.submodules.rows = ResetInserter(drops)(rows)
        open_ = Signal(range(most + 1))         # entries that were asked for, and have not arrived
        beat = Signal(range(max(2, beats)))
        quiet, silent, arrives, closes, right = (
            Signal(name=name) for name in ("quiet", "none_arrives", "arrives", "closes", "right"))
        address = Signal(len(entry) - exact_log2(RECORD_BYTES), reset_less=True)
        m.d.comb += [
            axi.araddr.eq(Cat(Const(0, exact_log2(RECORD_BYTES)), address)), axi.arlen.eq(beats - 1),
            axi.arsize.eq(exact_log2(config.link_beat_bytes)), axi.arburst.eq(INCR),
            axi.rready.eq((open_ != 0) & (rows.i.ready | faulty | self.isolated)),
            arrives.eq(axi.rvalid & axi.rready), closes.eq(arrives & (beat == beats - 1)),
            right.eq(~axi.rresp[1] & ~faulty & ~self.isolated),
            rows.i.valid.eq(axi.rvalid & (open_ != 0) & right), rows.i.payload.eq(axi.rdata),
            quiet.eq((open_ == 0) & ~axi.arvalid),
            # A beat in the cycle in which the time limit ends may complete an entry.
            silent.eq(self.silent & ~arrives),
        ]
        m.d.sync += [axi.arvalid.eq(starts | (axi.arvalid & ~axi.arready)), open_.eq(open_ + starts - closes)]
        with m.If(starts):
            m.d.sync += address.eq(entry[exact_log2(RECORD_BYTES):])
        with m.If(arrives):
            m.d.sync += beat.eq(Mux(closes, 0, beat + 1))
        with m.If(drops):
            m.d.sync += faulty.eq(0)
        with m.Elif(arrives & axi.rresp[1] & ~faulty & ~self.isolated):
            m.d.sync += [faulty.eq(1), resp.eq(axi.rresp)]
        there = Signal()
        part = word[:exact_log2(config.link_words)]
        m.d.comb += rows.o.ready.eq(self.fill.ready & there & part.all())
        if most > 1:
            whole = Signal(range(most + 1))     # entries that are in the FIFO
            m.d.sync += whole.eq(Mux(drops, 0, whole + (closes & right) - ends))
            m.d.comb += there.eq(rows.o.valid & (whole != 0))
        else:
            m.d.comb += there.eq(rows.o.valid & ~faulty)
        words = Array(rows.o.payload[32 * k:32 * k + 32] for k in range(config.link_words))
        return words[part], there if most == 1 else Value.cast(whole != 0), quiet, silent

    def _ask(self, m: Module, inside: Signal, oldest: Value, there: Value, quiet: Value, silent: Value,
             faulty: Value, resp: Signal, word: Signal, low: Signal, high: Signal, starts: Signal, tells: Signal,
             ends: Value) -> None:
        """Chooses the next entry, or finds that the oldest one cannot be read; computes its address."""
        most = self._config.entries_ahead
        # Base and index of the ring that is served are registered, so that no multiplexer is in front of the adder.
        base = Signal.like(self.rings[0].base, name="base", reset_less=True)
        index = Signal(RING_INDEX_BITS, name="index", reset_less=True)
        latest = Signal()           # direction of the entry that was begun last
        wanted = Signal(len(DIRECTIONS))
        following: list[Value] = []
        for number, ring in enumerate(self.rings):
            if most > 1:
                # The one after those on the way. It is known two cycles after one was begun or all were dropped; in the
                # pipeline ``fast`` the cycle after is that in which it is compared.
                after = Signal(RING_INDEX_BITS, name=f"after_{number}")
                m.d.sync += after.eq((ring.head + self.count[number]) & ~ring.size)
                further: Value = after != ring.tail
                if self._config.pipeline == "fast":
                    m.d.sync += (known := Signal(name=f"further_{number}")).eq(further)
                    further = known
                m.d.comb += wanted[number].eq(self.pending[number] & further)
                following.append(after)
            else:
                m.d.comb += wanted[number].eq(self.pending[number] & (self.count[number] == 0))
                following.append(ring.head)
        stuck = Signal()
        m.d.comb += stuck.eq((inside != 0) & ~there & (silent | (faulty & quiet)))
        with m.If(self.isolated & quiet):
            m.d.sync += self.isolated.eq(0)
        with m.FSM() as fsm:
            m.d.comb += self.idle.eq(fsm.ongoing("wait") & (inside == 0))
            with m.State("wait"):
                with m.If(stuck):
                    m.d.sync += [self.failed.eq(1), word.eq(0), base.eq(Mux(oldest, self.rings[1].base,
                                                                            self.rings[0].base)),
                                 index.eq(Mux(oldest, self.rings[1].head, self.rings[0].head))]
                    # Of an error and silence, the error came first.
                    m.d.sync += self.isolated.eq(~quiet)
                    with m.If(~faulty):
                        m.d.sync += resp.eq(0)
                    m.next = "low"
                # On a silent link the request stays for ever: what is begun there is told, and asks for nothing.
                with m.Elif(wanted.any() & (inside != most) & ~faulty
                            & Mux(self.isolated, self.silent & (inside == 0), ~self.axi.arvalid)):
                    m.d.comb += self.begin.eq(Mux(wanted.all(), Cat(latest, ~latest), wanted))
                    m.d.sync += [
                        latest.eq(self.begin[1]), self.failed.eq(self.isolated),
                        base.eq(Mux(self.begin[1], self.rings[1].base, self.rings[0].base)),
                        index.eq(Mux(self.begin[1], following[1], following[0])),
                    ]
                    with m.If(self.isolated):
                        m.d.sync += resp.eq(0)
                    m.next = "low"
            with m.State("low"):
                m.d.sync += low.eq(base[:RING_INDEX_BITS] + index)
                m.next = "high"
            with m.State("high"):
                m.d.sync += high.eq(increased(base[RING_INDEX_BITS:], low[-1]))
                m.next = "ask"
                with m.If(self.failed):
                    m.next = "tell"
            with m.State("ask"):
                m.d.comb += starts.eq(1)
                m.next = "wait"
            with m.State("tell"):
                m.d.comb += tells.eq(1)
                with m.If(ends):
                    m.next = "rest"
            with m.State("rest"):
                m.d.sync += self.failed.eq(0)
                m.next = "wait"
