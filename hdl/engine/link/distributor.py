"""Takes the block stream apart: headers checked, blocks realigned, each handed to its lane."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.blocks.header import WORD_BYTES, header_layout
from hdl.codec.blocks.header_check import HeaderCheck
from hdl.codec.blocks.header_parser import HeaderParser
from hdl.codec.coding import RAW_CODING
from hdl.common.beat import beat_stream
from hdl.common.counters import counter, increased
from hdl.config.engine import EngineConfig
from hdl.engine.link.realigner import Realigner
from hdl.engine.transfer.interleave import lane_bits
from hdl.engine.transfer.records import BLOCK_BITS, LENGTH_BITS, Status
from hdl.engine.transfer.streams import block_layout, payload_stream, stream_fault_layout

__all__ = ["Distributor", "start_layout"]


def start_layout(config: EngineConfig) -> data.StructLayout:
    """A transfer to distribute: the lane of its first block, where it goes in device memory, its raw length, the
    element size in bytes of its coded blocks, and whether its values were narrowed, so that blocks have half their
    bytes in the stream."""
    return data.StructLayout({"first_lane": lane_bits(config), "address": config.address_bits,
                              "raw_bytes": LENGTH_BITS, "element": 3, "halved": 1})


class Distributor(wiring.Component):
    """Hands every block of a stream to its lane, one link beat per cycle whatever their lengths.

    ::

             +--------+ beat   +-------------+ row
        i -->| parser |---+--->| realigner 0 |--------+---> lanes 0, 2, ...
             +--------+   +--->| realigner 1 |------+-|---> lanes 1, 3, ...
                  | header     +-------------+      | |
                  |  +-------+   +--------+         v v
                  +->| check |-->| facts  |      padding --> fault
                     +-------+   +--------+
        cycle:  0        1           2              2

    Blocks take the two realigners in turn, so that a beat that ends one block and begins the next is done in one
    cycle. Of an odd number of lanes each may get its row from either; a single lane gets one row per cycle.

    Faults are told in the order of the stream: for every block coding, sequence, length, that it is all there, then
    padding; then what is behind the last one. Nothing of a block with a bad header is handed out, nor of one after it;
    of a block that is cut off or badly padded, rows may have gone.

    Latency: a row leaves 2 cycles after the beat with its last word was taken, a block's last one at most 3.
    Throughput: 1 beat per cycle; a beat with several headers takes a cycle for each.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    start : In(stream.Signature(start_layout(config)))
        One transfer; reset before the next.
    i : In(beat_stream(link_beat_bytes))
        Its block stream, as one packet of whole words. After a fault it is taken and dropped.
    lanes : Out(payload_stream(config)).array(config.lanes)
        Blocks, to each lane.
    stop : In(1)
        Hand out nothing more; what comes is dropped. Until reset.
    fault : Out(stream_fault_layout())
        What is wrong first; stays until reset. ``block`` is the number of blocks for ``TRAILING``.
    done : Out(1)
        The stream ended rightly, and every row has been taken; stays until reset.
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
        config = self._config
        words, lanes = config.link_words, config.lanes
        block_bits = exact_log2(config.block_bytes)
        m.submodules.parser = parser = HeaderParser(words)
        m.submodules.check = check = HeaderCheck(config.element_bytes, config.block_bytes)
        realigners = [Realigner(words), Realigner(words)]
        m.submodules.realigner_0, m.submodules.realigner_1 = realigners
        wiring.connect(m, wiring.flipped(self.i), parser.i)
        go = Signal()

        # The transfer: known, with all that follows from it, before the first beat is taken.
        last_byte = Signal(LENGTH_BITS, reset_less=True)
        tail_bytes = Signal(range(config.block_bytes + 1), reset_less=True)
        element = Signal(3, reset_less=True)
        halved = Signal()
        lane = Signal(lanes, reset_less=True)
        turn = Signal(reset_less=True)
        steps = Signal(3)
        begins = Signal()
        m.d.comb += [
            self.start.ready.eq(~steps[0]),
            begins.eq(self.start.valid & self.start.ready),
            check.start.eq(steps[1] & ~steps[2]),
            check.element.eq(element),
            check.tail_bytes.eq(tail_bytes),
            check.halved.eq(halved),
            parser.run.eq(steps[2]),
            parser.go.eq(go),
        ]
        tail = last_byte[:block_bits] + 1
        m.d.sync += [steps.eq(Cat(steps[0] | begins, steps[:2])), tail_bytes.eq(Mux(halved, tail >> 1, tail))]
        with m.If(begins):
            m.d.sync += [last_byte.eq(self.start.payload.raw_bytes - 1), element.eq(self.start.payload.element)]
            if config.narrowing:
                m.d.sync += halved.eq(self.start.payload.halved)

        # Cycle 0: the beat at hand goes to the realigners. `turn` is the one that the next block takes.
        unread = Signal(BLOCK_BITS)     # the next header's number
        spills = Signal(2)
        made = Signal(2)
        opens = Signal(2)
        open_turn = Signal()
        cut = Signal()
        m.d.comb += [
            cut.eq(parser.torn & ~parser.head),
            parser.final.eq(unread == last_byte[block_bits:]),
            open_turn.eq(~turn),
            parser.carried.eq(Mux(open_turn, realigners[1].carried, realigners[0].carried)),
        ]
        first = Signal(2)
        last = Signal(2)
        shown = Signal(2)
        for k, realigner in enumerate(realigners):
            heads = parser.head & (turn == k)
            tails = parser.tail & (open_turn == k)
            m.d.comb += [
                realigner.beat.eq(parser.beat),
                realigner.keep.eq(go & (heads | tails)),
                realigner.flush.eq(spills[k]),
                realigner.make.eq(go & made[k]),
                made[k].eq(tails | spills[k]),
            ]
            with m.If(begins):
                m.d.sync += realigner.place.eq(0)
            with m.Elif(go & parser.head & (turn != k)):
                m.d.sync += realigner.place.eq(parser.place)
            with m.If(go):
                m.d.sync += [
                    # What is cut off does not end.
                    spills[k].eq((heads & parser.head_ends & ~parser.torn)
                                 | (tails & parser.tail_ends & parser.tail_spills & ~cut)),
                    opens[k].eq(heads | (opens[k] & ~made[k])),
                    first[k].eq(opens[k]),
                    last[k].eq(spills[k] | (parser.tail_ends & ~parser.tail_spills & ~cut)),
                ]
        lane_number = self.start.payload.first_lane
        with m.If(begins):
            m.d.sync += [
                turn.eq(lane_number[0] if lanes % 2 == 0 else 0),
                lane.eq(Cat(lane_number == number for number in range(lanes))),
            ]
        with m.Elif(go & parser.head):
            m.d.sync += [turn.eq(~turn), lane.eq(lane.rotate_left(1)), unread.eq(increased(unread))]

        # Cycle 1: the header.
        head_1 = Signal()
        header_1 = Signal(header_layout(), reset_less=True)
        final_1, turn_1 = Signal(reset_less=True), Signal(reset_less=True)
        sequence_1 = Signal(8, reset_less=True)
        lane_1 = Signal(lanes, reset_less=True)
        whole_1, torn_1, more_1 = Signal(), Signal(), Signal()
        with m.If(go):
            m.d.sync += [head_1.eq(parser.head), whole_1.eq(parser.whole), torn_1.eq(parser.torn),
                         more_1.eq(parser.more)]
            with m.If(parser.head):
                m.d.sync += [header_1.eq(parser.header), final_1.eq(parser.final), turn_1.eq(turn),
                             sequence_1.eq(unread[:8]), lane_1.eq(lane)]
        m.d.comb += [check.header.eq(header_1), check.sequence.eq(sequence_1), check.final.eq(final_1)]

        # Cycle 2: the block, and what is wrong with it.
        begun = Signal()
        block = Signal(block_layout(config), reset_less=True)
        turn_2 = Signal(reset_less=True)
        targets = [Signal(lanes, name=f"target_{k}", reset_less=True) for k in range(2)]
        ends = [Signal(exact_log2(config.link_beat_bytes), name=f"end_{k}", reset_less=True) for k in range(2)]
        bad, barred, behind, complete = (Signal(name=name) for name in ("bad", "barred", "behind", "complete"))
        status = Signal(Status, reset_less=True)
        with m.If(begins):
            m.d.sync += [block.number.eq(0), block.address.eq(self.start.payload.address)]
        stays_raw = Signal()
        m.d.sync += stays_raw.eq(go & ~bad & head_1 & (header_1.coding == RAW_CODING))
        counter(m, self.raw_blocks, stays_raw)
        with m.If(go & ~bad):
            with m.If(head_1):
                m.d.sync += [
                    begun.eq(1),
                    block.number.eq(increased(block.number, begun)),
                    Value.cast(block.address)[block_bits:].eq(increased(block.address[block_bits:], begun)),
                    block.payload_bytes.eq(header_1.payload_bytes),
                    block.raw.eq(header_1.coding == RAW_CODING),
                    block.raw_bytes.eq(Mux(final_1, tail_bytes, Mux(halved, config.block_bytes // 2,
                                                                    config.block_bytes))),
                    turn_2.eq(turn_1),
                ]
                for k in range(2):
                    with m.If(turn_1 == k):
                        m.d.sync += [targets[k].eq(lane_1), ends[k].eq(header_1.payload_bytes - 1)]
            m.d.sync += [
                barred.eq(head_1 & check.bad),
                bad.eq((head_1 & check.bad) | torn_1 | more_1 | (whole_1 & ~parser.over)),
                behind.eq(~(head_1 & check.bad) & ~torn_1),
                status.eq(Mux(head_1 & check.bad, _status(check), Mux(more_1, Status.TRAILING, Status.TRUNCATED))),
                complete.eq(whole_1 & parser.over),
            ]

        # The rows. When both are there, that of the block that came last is the younger.
        younger = Cat(~turn_2, turn_2)
        live = Signal(2)
        taken = Signal(2)
        m.d.comb += live.eq(shown & ~(younger & (barred & bad).replicate(2)) & ~self.stop.replicate(2))
        ready = Cat((target & Cat(lane.ready for lane in self.lanes)).any() for target in targets)
        if lanes == 1:
            m.d.comb += [taken.eq(live & ready & ~(younger & live.all().replicate(2))), go.eq(~(live & ~taken).any())]
        else:
            m.d.comb += [taken.eq(live & ready), go.eq((~live | ready).all())]
        with m.If(go):
            m.d.sync += shown.eq(made)
        with m.Else():
            m.d.sync += shown.eq(live & ~taken)
        for k, port in enumerate(self.lanes):
            if lanes % 2 == 0:
                which: Value = Const(k % 2)
                m.d.comb += port.valid.eq(live[k % 2] & targets[k % 2][k])
            elif lanes == 1:
                which = Mux(live.all(), younger[0], live[1])
                m.d.comb += port.valid.eq(live.any())
            else:
                which = live[1] & targets[1][k]
                m.d.comb += port.valid.eq((live[0] & targets[0][k]) | which)
            m.d.comb += [
                port.payload.data.eq(Mux(which, realigners[1].row, realigners[0].row)),
                port.payload.first.eq(Mux(which, first[1], first[0])),
                port.payload.last.eq(Mux(which, last[1], last[0])),
                port.payload.block.eq(block),
            ]

        # Faults, in the order of the stream.
        spoilt = Signal(2)
        for k, realigner in enumerate(realigners):
            m.d.comb += spoilt[k].eq(live[k] & last[k] & self._padded(m, k, realigner.row, ends[k]))
        older = (spoilt & ~younger).any()
        with m.If(~self.fault.valid):
            m.d.sync += [
                self.fault.valid.eq(bad | spoilt.any()),
                self.fault.status.eq(Mux(spoilt.any(), Status.BAD_PADDING, status)),
                self.fault.block.eq(Mux(older, ~increased(~block.number),
                                        Mux(behind & ~spoilt.any(), unread, block.number))),
                self.done.eq(self.done | (complete & go & ~bad & ~spoilt.any())),
            ]
        m.d.comb += parser.drop.eq(bad | self.fault.valid | self.stop)
        return m

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
    """What is wrong first with a malformed header, in the order of the format's description."""
    return Mux(check.bad_coding, Status.BAD_CODING,
               Mux(check.bad_sequence, Status.BAD_SEQUENCE, Status.BAD_LENGTH))
