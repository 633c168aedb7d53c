"""Takes the block stream apart: checks headers, realigns blocks and sends each to its lane."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.blocks.header_check import HeaderCheck
from cdma.hdl.codec.blocks.header_parser import HeaderParser
from cdma.hdl.codec.coding import RAW_CODING, WORD_BYTES, header_layout
from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.common.beat import beat_stream
from cdma.hdl.common.counters import counter, decreased
from cdma.hdl.common.skid import Skid
from cdma.hdl.common.stage import behind
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.link.realigner import Realigner
from cdma.hdl.engine.transfer.interleave import lane_bits
from cdma.hdl.engine.transfer.records import BLOCK_BITS, LENGTH_BITS, Status
from cdma.hdl.engine.transfer.streams import block_layout, payload_stream, stream_fault_layout

__all__ = ["Distributor", "start_layout"]


def start_layout(config: EngineConfig) -> data.StructLayout:
    """A transfer to distribute: lane of its first block, address in device memory, raw length, element size in bytes
    of its coded blocks, whether these have exponent coding, and the format to which its values were narrowed (blocks
    then have half their bytes in the stream)."""
    return data.StructLayout({"first_lane": lane_bits(config), "address": config.address_bits,
                              "raw_bytes": LENGTH_BITS, "element": 3, "exponents": 1, "narrow": Narrowing})


class _State:
    """Submodules of the distributor, and the registers that its cycles share; ``_1`` and ``_2`` name the cycle.

    ``go``: all cycles advance. ``begins``: a transfer begins. ``lane`` and ``turn`` are the lane and the realigner of
    the next block, ``unread`` is its number. ``made``, ``first``, ``last``, ``shown`` and ``live`` have one bit for the
    row of each realigner. ``misstated``: the length field of the last block is not its raw bytes.
    """

    def __init__(self, config: EngineConfig) -> None:
        words, lanes = config.link_words, config.lanes
        self.block_bits = exact_log2(config.block_bytes)
        self.parser = HeaderParser(words, config.largest_payload)
        self.check = HeaderCheck(config.element_bytes, config.block_bytes, config.exponents)
        self.realigners = [Realigner(words), Realigner(words)]

        def register(shape: Any, name: str) -> Any:
            return Signal(shape, name=name, reset_less=True)

        self.go, self.begins, self.halved = (Signal(name=name) for name in ("go", "begins", "halved"))
        self.last_byte = register(LENGTH_BITS, "last_byte")
        self.tail_bytes = register(range(config.block_bytes + 1), "tail_bytes")
        self.element, self.exponents = register(3, "element"), register(1, "exponents")
        self.lane = register(lanes, "lane")
        self.turn = register(1, "turn")
        self.unread = Signal(BLOCK_BITS, name="unread")
        self.made, self.first, self.last, self.shown, self.live = (
            Signal(2, name=name) for name in ("made", "first", "last", "shown", "live"))
        self.head_1, self.whole_1, self.torn_1, self.more_1 = (
            Signal(name=name) for name in ("head_1", "whole_1", "torn_1", "more_1"))
        self.header_1 = register(header_layout(), "header_1")
        self.final_1, self.turn_1 = register(1, "final_1"), register(1, "turn_1")
        self.number_1 = register(BLOCK_BITS, "number_1")
        self.lane_1 = register(lanes, "lane_1")
        self.block = register(block_layout(config), "block")
        self.turn_2 = register(1, "turn_2")
        self.younger = Cat(~self.turn_2, self.turn_2)
        self.targets = [register(lanes, f"target_{k}") for k in range(2)]
        self.ends = [register(exact_log2(config.link_beat_bytes), f"end_{k}") for k in range(2)]
        self.bad, self.barred, self.behind, self.complete, self.misstated = (
            Signal(name=name) for name in ("bad", "barred", "behind", "complete", "misstated"))
        self.status = register(Status, "status")
        # The ports of the lanes, or the skid buffers in front of them: those are `empty`.
        self.ports: list[Any] = []
        self.stop: Any = Const(0)
        self.empty = Signal(name="empty")


class Distributor(wiring.Component):
    """Sends every block of a stream to its lane, one link beat per cycle for any lengths of blocks.

    ::

             +--------+ beat   +-------------+ row
        i -->| parser |---+--->| realigner 0 |--------+---> lanes 0, 2, ...
             +--------+   +--->| realigner 1 |------+-|---> lanes 1, 3, ...
                  | header     +-------------+      | |
                  |  +-------+   +--------+         v v
                  +->| check |-->| facts  |      padding --> fault
                     +-------+   +--------+
        cycle:  0        1           2              2

    Blocks use the two realigners in turn, so that a beat that ends one block and begins the next takes one cycle. With
    an even number of lanes each lane belongs to one realigner; with an odd number each lane is connected to both. A
    single lane gets one row per cycle.

    The first fault in the order of the stream is reported. Each block is checked for coding, sequence, length,
    truncation, padding, then for its length field; after the last block, the stream is checked for more words. No row
    is sent of a block with a bad header or of any later block. Rows of a block with another fault may have been sent.

    The length field of a short block is compared and left out: the rows begin with the payload behind it.

    Latency: a row leaves 2 cycles after the beat with its last word was taken, the last row of a block at most 3. In
    the pipeline ``fast`` there is a skid buffer in front of each lane, and it is a cycle more; a fault, too, is
    reported a cycle later.
    Throughput: 1 beat per cycle; a beat with several headers takes a cycle for each, and a length field two more.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    start : In(stream.Signature(start_layout(config)))
        One transfer; the unit must be reset before the next.
    i : In(beat_stream(link_beat_bytes))
        Its block stream, as one packet of whole words. After a fault the rest is taken and discarded.
    lanes : Out(payload_stream(config)).array(config.lanes)
        Blocks, to each lane.
    stop : In(1)
        Send no rows of beats that come now, which are taken and discarded; rows that are there wait until their lane
        takes them, since the blocks in front of a fault must be checked, too. Must stay high until reset.
    fault : Out(stream_fault_layout())
        The first fault; stays until reset. ``block`` is the number of blocks for ``TRAILING``.
    done : Out(1)
        The stream ended without a fault, and every row has been taken; stays until reset.
    raw_blocks : Out(BLOCK_BITS)
        Blocks that were raw so far.

    Source: the block stream of docs/formats.md.
    """

    start: stream.Interface
    i: stream.Interface

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({
            "start": In(stream.Signature(start_layout(config))),
            "i": In(beat_stream(config.link_beat_bytes)),
            "lanes": Out(payload_stream(config)).array(config.lanes),
            "stop": In(1), "fault": Out(stream_fault_layout()), "done": Out(1), "raw_blocks": Out(BLOCK_BITS),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        s = _State(self._config)
        m.submodules.parser, m.submodules.check = s.parser, s.check
        m.submodules.realigner_0, m.submodules.realigner_1 = s.realigners
        wiring.connect(m, wiring.flipped(self.i), s.parser.i)
        if self._config.pipeline == "fast":
            self._skids(m, s)
        else:
            s.ports, s.stop = list(self.lanes), self.stop
        self._transfer(m, s)
        self._realign(m, s)
        self._header(m, s)
        self._block(m, s)
        self._rows(m, s)
        self._faults(m, s)
        return m

    def _skids(self, m: Module, s: _State) -> None:
        """Skid buffers in front of the lanes: whether rows move follows from registers."""
        skids = [Skid(port.payload.shape()) for port in self.lanes]
        for number, (skid, port) in enumerate(zip(skids, self.lanes, strict=True)):
            m.submodules[f"skid_{number}"] = skid
            wiring.connect(m, skid.o, wiring.flipped(port))
        s.ports, s.stop = [skid.i for skid in skids], Signal(name="stopped")
        m.d.comb += s.empty.eq(~Cat(skid.o.valid for skid in skids).any())
        m.d.sync += s.stop.eq(self.stop)

    def _transfer(self, m: Module, s: _State) -> None:
        """Registers the transfer and the values computed from it before the first beat is taken."""
        config = self._config
        steps = Signal(3)
        m.d.comb += [
            self.start.ready.eq(~steps[0]),
            s.begins.eq(self.start.valid & self.start.ready),
            s.check.start.eq(steps[1] & ~steps[2]),
            s.check.element.eq(s.element),
            s.check.exponents.eq(s.exponents),
            s.check.tail_bytes.eq(s.tail_bytes),
            s.check.halved.eq(s.halved),
            s.halved.eq(Value.cast(s.block.narrow).any()),
            s.parser.run.eq(steps[2]),
            s.parser.go.eq(s.go),
        ]
        tail = s.last_byte[:s.block_bits] + 1
        m.d.sync += [steps.eq(Cat(steps[0] | s.begins, steps[:2])), s.tail_bytes.eq(Mux(s.halved, tail >> 1, tail))]
        with m.If(s.begins):
            m.d.sync += [s.last_byte.eq(decreased(self.start.payload.raw_bytes, config.pipeline)),
                         s.element.eq(self.start.payload.element)]
            if config.exponents:
                m.d.sync += s.exponents.eq(self.start.payload.exponents)
            # A register that is never assigned has no value in the Verilog.
            m.d.sync += s.block.narrow.eq(self.start.payload.narrow if config.narrowing else Narrowing.NONE)

    def _realign(self, m: Module, s: _State) -> None:
        """Cycle 0: the current beat goes to the realigners. ``turn`` selects the realigner of the next block."""
        lanes = self._config.lanes
        spills = Signal(2)
        opens = Signal(2)
        open_turn = Signal()
        cut = Signal()
        m.d.comb += [
            cut.eq(s.parser.torn & ~s.parser.head),
            s.parser.final.eq(s.unread == s.last_byte[s.block_bits:]),
            open_turn.eq(~s.turn),
            s.parser.carried.eq(Mux(open_turn, s.realigners[1].carried, s.realigners[0].carried)),
        ]
        for k, realigner in enumerate(s.realigners):
            heads = s.parser.head & (s.turn == k)
            tails = s.parser.tail & (open_turn == k)
            m.d.comb += [
                realigner.beat.eq(s.parser.beat),
                realigner.keep.eq(s.go & (heads | tails)),
                realigner.flush.eq(spills[k]),
                realigner.make.eq(s.go & s.made[k]),
                s.made[k].eq(tails | spills[k]),
            ]
            with m.If(s.begins):
                m.d.sync += realigner.place.eq(0)
            with m.Elif(s.go & s.parser.head & (s.turn != k)):
                m.d.sync += realigner.place.eq(s.parser.place)
            with m.Elif(s.go & s.parser.moves & (s.turn == k)):
                m.d.sync += realigner.place.eq(realigner.place + 1)
            with m.If(s.go):
                m.d.sync += [
                    # A truncated block has no last row.
                    spills[k].eq((heads & s.parser.head_ends & ~s.parser.torn)
                                 | (tails & s.parser.tail_ends & s.parser.tail_spills & ~cut)),
                    opens[k].eq(heads | (opens[k] & ~s.made[k])),
                    s.first[k].eq(opens[k]),
                    s.last[k].eq(spills[k] | (s.parser.tail_ends & ~s.parser.tail_spills & ~cut)),
                ]
        lane_number = self.start.payload.first_lane
        with m.If(s.begins):
            m.d.sync += [
                s.turn.eq(lane_number[0] if lanes % 2 == 0 else 0),
                s.lane.eq(Cat(lane_number == number for number in range(lanes))),
            ]
        with m.Elif(s.go & s.parser.head):
            m.d.sync += [s.turn.eq(~s.turn), s.lane.eq(s.lane.rotate_left(1))]
        counter(m, s.unread, s.go & s.parser.head)

    def _header(self, m: Module, s: _State) -> None:
        """Cycle 1: registers the header and passes it to the check. Before that, compares the length field."""
        with m.If(s.go & s.parser.field):
            m.d.sync += s.misstated.eq(s.parser.length != s.tail_bytes)
        with m.If(s.go):
            m.d.sync += [s.head_1.eq(s.parser.head), s.whole_1.eq(s.parser.whole), s.torn_1.eq(s.parser.torn),
                         s.more_1.eq(s.parser.more)]
            with m.If(s.parser.head):
                m.d.sync += [s.header_1.eq(s.parser.header), s.final_1.eq(s.parser.final), s.turn_1.eq(s.turn),
                             s.number_1.eq(s.unread), s.lane_1.eq(s.lane)]
        m.d.comb += [s.check.header.eq(s.header_1), s.check.sequence.eq(s.number_1[:8]), s.check.final.eq(s.final_1)]

    def _block(self, m: Module, s: _State) -> None:
        """Cycle 2: registers what the block is and the faults found in its header and at the stream's end."""
        config = self._config
        begun, lands = Signal(), Signal()
        address = Value.cast(s.block.address)
        first = Value.cast(self.start.payload.address)
        m.d.comb += lands.eq(s.go & ~s.bad & s.head_1)
        with m.If(s.begins):
            m.d.sync += address[:s.block_bits].eq(first[:s.block_bits])
        counter(m, address[s.block_bits:], lands & begun, clear=s.begins, begin=first[s.block_bits:])
        stays_raw = Signal()
        m.d.sync += stays_raw.eq(s.go & ~s.bad & s.head_1 & (s.header_1.coding == RAW_CODING))
        counter(m, self.raw_blocks, stays_raw)
        with m.If(s.go & ~s.bad):
            with m.If(s.head_1):
                m.d.sync += [
                    begun.eq(1),
                    s.block.number.eq(s.number_1),
                    s.block.payload_bytes.eq(s.header_1.payload_bytes),
                    s.block.coding.eq(Mux(s.header_1.coding == RAW_CODING, RAW_CODING, s.check.coding)),
                    s.block.raw_bytes.eq(Mux(s.final_1, s.tail_bytes, Mux(s.halved, config.block_bytes // 2,
                                                                    config.block_bytes))),
                    s.turn_2.eq(s.turn_1),
                ]
                for k in range(2):
                    with m.If(s.turn_1 == k):
                        m.d.sync += [s.targets[k].eq(s.lane_1), s.ends[k].eq(s.header_1.payload_bytes - 1)]
            m.d.sync += [
                s.barred.eq(s.head_1 & s.check.bad),
                s.bad.eq((s.head_1 & s.check.bad) | s.torn_1 | s.more_1
                         | (s.whole_1 & (~s.parser.over | s.misstated))),
                s.behind.eq(~(s.head_1 & s.check.bad) & ~s.torn_1 & ~s.misstated),
                s.status.eq(Mux(s.head_1 & s.check.bad, _status(s.check), Mux(
                    s.torn_1, Status.TRUNCATED, Mux(
                        s.misstated, Status.BAD_LENGTH, Mux(s.more_1, Status.TRAILING, Status.TRUNCATED))))),
                s.complete.eq(s.whole_1 & s.parser.over),
            ]

    def _rows(self, m: Module, s: _State) -> None:
        """Sends the rows to their lanes. Of two rows, the younger is that of the later block."""
        lanes = self._config.lanes
        taken = Signal(2)
        m.d.comb += s.live.eq(s.shown & ~(s.younger & (s.barred & s.bad).replicate(2)))
        ready = Cat((target & Cat(port.ready for port in s.ports)).any() for target in s.targets)
        if lanes == 1:
            m.d.comb += [
                taken.eq(s.live & ready & ~(s.younger & s.live.all().replicate(2))),
                s.go.eq(~(s.live & ~taken).any()),
            ]
        else:
            m.d.comb += [taken.eq(s.live & ready), s.go.eq((~s.live | ready).all())]
        with m.If(s.go):
            # After a fault, only rows of headers behind it can still be made.
            m.d.sync += s.shown.eq(s.made & ~(s.bad | s.stop).replicate(2))
        with m.Else():
            m.d.sync += s.shown.eq(s.live & ~taken)
        for k, port in enumerate(s.ports):
            if lanes % 2 == 0:
                which: Value = Const(k % 2)
                m.d.comb += port.valid.eq(s.live[k % 2] & s.targets[k % 2][k])
            elif lanes == 1:
                which = Mux(s.live.all(), s.younger[0], s.live[1])
                m.d.comb += port.valid.eq(s.live.any())
            else:
                which = s.live[1] & s.targets[1][k]
                m.d.comb += port.valid.eq((s.live[0] & s.targets[0][k]) | which)
            m.d.comb += [
                port.payload.data.eq(Mux(which, s.realigners[1].row, s.realigners[0].row)),
                port.payload.first.eq(Mux(which, s.first[1], s.first[0])),
                port.payload.last.eq(Mux(which, s.last[1], s.last[0])),
                port.payload.block.eq(s.block),
            ]

    def _faults(self, m: Module, s: _State) -> None:
        """Reports the first fault in the order of the stream."""
        bad_padding = Signal(2)
        for k, realigner in enumerate(s.realigners):
            m.d.comb += bad_padding[k].eq(s.live[k] & s.last[k] & self._padded(m, k, realigner.row, s.ends[k]))
        found: Any = bad_padding
        bad, whole, younger, status, number, behind_it, unread = (
            s.bad, s.complete & s.go & ~s.bad, s.younger, s.status, s.block.number, s.behind, s.unread)
        fast = self._config.pipeline == "fast"
        if fast:
            # It is known late whether a row has bad padding.
            bad, whole, found = (behind(m, Const(1), value, f"later_{name}", init=0) for name, value in (
                ("bad", bad), ("whole", whole), ("bad_padding", found)))
            younger, status, number, behind_it, unread = (
                behind(m, Const(1), value, f"later_{name}") for name, value in (
                    ("younger", younger), ("status", status), ("number", number), ("behind", behind_it),
                    ("unread", unread)))
        older = (found & ~younger).any()
        ended: Value = whole & ~found.any()
        if fast:
            # The last row waits in a skid buffer until its lane takes it.
            passed = Signal(name="passed")
            m.d.sync += passed.eq(passed | (ended & ~self.fault.valid))
            ended = passed & s.empty
        with m.If(~self.fault.valid):
            m.d.sync += [
                self.fault.valid.eq(bad | found.any()),
                self.fault.status.eq(Mux(found.any(), Status.BAD_PADDING, status)),
                self.fault.block.eq(Mux(older, decreased(number), Mux(behind_it & ~found.any(), unread, number))),
                self.done.eq(self.done | ended),
            ]
        drops = s.bad | self.fault.valid | s.stop
        if fast:
            # A cycle later: what the parser still finds is not looked at behind a fault.
            m.d.sync += s.parser.drop.eq(drops)
        else:
            m.d.comb += s.parser.drop.eq(drops)

    @staticmethod
    def _padded(m: Module, number: int, row: Value, end: Value) -> Value:
        """Whether a block's last row has a padding byte that is not zero; ``end`` is the place of its last byte."""
        used, word = end[:2], end[2:]
        found: Value = Const(0)
        for place in range(1 << len(word)):
            some = Signal(WORD_BYTES, name=f"some_{number}_{place}")
            m.d.comb += some.eq(Cat(
                row.word_select(WORD_BYTES * place + byte, 8).any() & (used < byte) for byte in range(1, WORD_BYTES)))
            found = found | ((word == place) & some.any())
        return found


def _status(check: HeaderCheck) -> Value:
    """The status of a malformed header: the first check that failed."""
    return Mux(check.bad_coding, Status.BAD_CODING, Mux(check.bad_sequence, Status.BAD_SEQUENCE,
                                                        Mux(check.bad_short, Status.BAD_CODING, Status.BAD_LENGTH)))
