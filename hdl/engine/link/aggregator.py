"""Joins the blocks of all lanes, in order, into one stream of words without gaps."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import WORD_BYTES
from cdma.hdl.common.bits import pick
from cdma.hdl.common.counters import count_down, count_up
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.link.barrel_shifter import BarrelShifter, part_layout
from cdma.hdl.engine.link.ledger import Ledger, counted_layout
from cdma.hdl.engine.transfer.interleave import lane_bits
from cdma.hdl.engine.transfer.records import BLOCK_BITS, LENGTH_BITS
from cdma.hdl.engine.transfer.streams import framed_stream, words_stream

__all__ = ["Aggregator", "start_layout"]

_NEAR_BITS = 6


def start_layout(config: EngineConfig) -> data.StructLayout:
    """A transfer to gather: lane of its first block, number of its last one, and capacity of the destination in
    bytes."""
    return data.StructLayout({"first_lane": lane_bits(config), "last_block": BLOCK_BITS, "capacity": LENGTH_BITS})


class Aggregator(wiring.Component):
    """Takes blocks from the lanes in turn and packs them word by word, one full beat per cycle.

    ::

        lanes[0] --\\   even   +--------+
        lanes[1] ---+-------->| select |--+   +--------------+   +-----+
        lanes[2] ---+-------->| select |--+-->| turn and join|-->| row |--> o
          ...    --/    odd   +--------+  |   +--------------+   +-----+
                                          |     facts, room         totals, overflow
                 cycle:             0          1                      2

    All beats of a block are rotated by the same number of words: the place in a row where the block begins. The length
    that comes with a block's first beat gives the place of the next block, and whether this block's last beat fills a
    row. If it does not, the first beat of the next lane is taken in the same cycle. Two neighbouring lanes are
    therefore selected at once, so there are two multiplexers: one for the even lanes and one for the odd ones. With an
    odd number of lanes the last one is connected to both.

    Latency: 2 cycles from a beat to its row. Throughput: 1 beat of ``o`` per cycle while the lanes have data and
    blocks are longer than a beat. With a single lane, a block boundary inside a row costs a cycle. The end of a
    transfer costs a cycle more if the words of its last beat do not fit into the row. Three cycles are lost
    between two transfers.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    start : In(stream.Signature(start_layout(config)))
        Transfers of at least one block; taken when the last beat of the previous one was. Blocks of several transfers
        may wait in the lanes.
    lanes : In(framed_stream(config)).array(config.lanes)
        Blocks of exactly ``block_words`` words. The first block of a transfer is in lane ``first_lane``; the following
        blocks are in the following lanes, in turn. The ``ready`` of a lane depends on its own ``valid`` and payload and
        on those of the lane before it.
    o : Out(words_stream(config))
        The block stream; words after the last one are zero. The lanes' ``ready`` depend combinationally on ``o.ready``.
    overflow : Out({valid, block})
        A block did not fit into the capacity; neither it nor any later block is sent, until reset.
    bytes, nonzero, raw_blocks : Out
        Totals of the transfer, valid from ``done`` until the next start: bytes of the stream, non-zero elements, blocks
        that were left raw.
    done : Out(1)
        High for one cycle: that after the last beat of ``o`` was taken.

    Source: the block stream of docs/formats.md.
    """

    start: stream.Interface
    o: stream.Interface

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({
            "start": In(stream.Signature(start_layout(config))),
            "lanes": In(framed_stream(config)).array(config.lanes),
            "o": Out(words_stream(config)),
            "overflow": Out(data.StructLayout({"valid": 1, "block": BLOCK_BITS})),
            "bytes": Out(LENGTH_BITS), "nonzero": Out(LENGTH_BITS), "raw_blocks": Out(BLOCK_BITS), "done": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        lanes, words = config.lanes, config.link_words
        beats = [lane.payload for lane in self.lanes]
        m.submodules.shifter = shifter = BarrelShifter(words, min(lanes, 2))

        # Cycle 0: which lanes are taken from.
        current = Signal(lanes)                     # one-hot; none between transfers
        head = Signal(lanes, reset_less=True)       # one-hot: the lane of the next block to begin
        opening = Signal(reset_less=True)           # the next beat of `current` is a block's first; `current` == `head`
        joins = Signal()                            # the last beat of this block will not fill a row
        place = Signal(exact_log2(words), reset_less=True)  # word of its row in which the next block begins
        here = Signal.like(place, reset_less=True)  # word of its row in which the current block began
        # Blocks behind the next one to begin. `near` is refilled from `reserve` when less than half of it is left, so
        # it is 0 or 1 only when that is the number of blocks: few bits decide, and the long count has many cycles.
        near = Signal(_NEAR_BITS + 1, reset_less=True)
        reserve = Signal(BLOCK_BITS - _NEAR_BITS, reset_less=True)
        reserved = Signal(reset_less=True)          # `reserve` is not 0, known a cycle late
        refills = Signal()
        left = Signal.like(near)
        draws = Signal()                            # `reserve` counts down
        some = Signal(reset_less=True)              # a block has not begun
        one = Signal(reset_less=True)               # just one block has not begun
        advance, take, last, pair, begins, ends = (
            Signal(name=name) for name in ("advance", "take", "last", "pair", "begins", "ends"))
        valid = Cat(lane.valid for lane in self.lanes)
        lasts = Cat(beat.last for beat in beats)
        m.d.comb += [
            take.eq(advance & (current & valid).any()),
            last.eq((current & lasts).any()),
            pair.eq((current & valid & lasts).any() & joins & some & (head & valid & ~lasts).any()
                    if lanes > 1 else 0),
            begins.eq(take & (opening | pair)),
            ends.eq(last & Mux(opening, one, ~some)),
        ]
        m.d.comb += [lane.ready.eq(advance & (current[k] | (head[k] & pair))) for k, lane in enumerate(self.lanes)]
        shown = Signal(counted_layout(config))
        behind = Signal(len(place) + 1)
        short = Signal()
        m.d.comb += [
            *(shown[name].eq(pick(head, [beat[name] for beat in beats])) for name in shown.shape().members),
            behind.eq(place + shown.block_words[:len(place)]),
            short.eq((shown.block_words[:len(place)] != 0) & ~behind[-1]),
        ]
        m.d.comb += [refills.eq(reserved & ~near[-2:].any()), left.eq(Cat(near[:-1], near[-1] | refills))]
        with m.If(take):
            m.d.sync += opening.eq(last & ~pair)
            with m.If(last):
                m.d.sync += current.eq(Mux(ends, 0, current.rotate_left(1)))
        with m.If(begins):
            m.d.sync += [
                head.eq(head.rotate_left(1)),
                joins.eq(short),
                place.eq(behind),
                here.eq(place),
                some.eq(left != 0),
                one.eq(left == 1),
            ]
        m.d.sync += [near.eq(left - begins), reserved.eq(reserve.any()), draws.eq(refills)]
        with m.If(draws):
            count_down(m, reserve)
        with m.If(take & last & ~pair):
            m.d.sync += joins.eq(0)

        # Cycle 1: the beats that were taken.
        beat, paired, alone, final, began, flush = (
            Signal(name=name) for name in ("beat", "paired", "alone", "final", "began", "flush"))
        facts = Signal(shown.shape(), reset_less=True)
        on_odd = Signal()
        odd = Signal(reset_less=True)
        first_place = Signal.like(place)
        m.d.comb += [first_place.eq(Mux(opening, place, here)), shifter.side.eq(odd), shifter.advance.eq(advance)]
        m.d.comb += [shifter.beat.eq(beat), shifter.pair.eq(paired), shifter.short.eq(alone)]
        sides = self._sides(current, head)
        m.d.comb += on_odd.eq(Cat(chosen & current[k] for k, chosen in sides[1].items()).any() if lanes > 1 else 0)
        for number, chosen in enumerate(sides):
            part = Signal(part_layout(words), name=f"part_{number}", reset_less=True)
            m.d.comb += shifter.parts[number].eq(part)
            with m.If(advance):
                m.d.sync += [
                    part.data.eq(pick(Cat(chosen.values()), [beats[k].data for k in chosen])),
                    part.place.eq(Mux(on_odd == number, first_place, place)),
                ]
        with m.If(advance):
            m.d.sync += [
                beat.eq(take),
                paired.eq(pair),
                alone.eq(last & ~pair & Mux(opening, short, joins)),
                final.eq(ends),
                began.eq(begins),
                odd.eq(on_odd),
                facts.eq(shown),
                # Words that did not fit into the last row leave in a row of their own; `place` is their number.
                flush.eq(beat & final & ~alone & (place != 0)),
            ]
        m.submodules.ledger = ledger = Ledger(config)
        m.d.comb += [
            ledger.start.eq(self.start.valid & self.start.ready),
            ledger.capacity.eq(self.start.payload.capacity),
            ledger.begins.eq(advance & beat & began),
            ledger.facts.eq(facts),
            self.overflow.eq(ledger.overflow),
            self.nonzero.eq(ledger.nonzero),
            self.raw_blocks.eq(ledger.raw_blocks),
        ]
        self._give(m, shifter.row, advance, place, beat & (~alone | final), final & alone, final, flush, ledger.fits)

        with m.If(self.start.valid & self.start.ready):
            request = self.start.payload
            lane = Signal(lanes)
            m.d.comb += lane.eq(Cat(request.first_lane == k for k in range(lanes)) if lanes > 1 else 1)
            m.d.sync += [current.eq(lane), head.eq(lane), opening.eq(1), place.eq(0), some.eq(1),
                         one.eq(request.last_block == 0), Cat(near[:-1], reserve).eq(request.last_block),
                         near[-1].eq(0), reserved.eq(request.last_block[_NEAR_BITS:].any()), draws.eq(0)]
        return m

    def _give(self, m: Module, row: Value, advance: Value, place: Value, given: Value, short: Value, final: Value,
              flush: Value, fits: Value) -> None:
        """Cycle 2: sends the row if its blocks fit into the capacity.

        ``given``: a row is made of beats; ``short``: it is the last row and not full; ``final``: it contains the last
        beat; ``flush``: a row is made of the words left over from the last beat.
        """
        words = self._config.link_words
        partial = Signal()
        full_beats = Signal(LENGTH_BITS - exact_log2(WORD_BYTES) - len(place), reset_less=True)
        held = Signal()
        idle = Signal(init=1)
        payload = Signal(data.StructLayout({"words": range(words + 1), "last": 1}), reset_less=True)
        m.d.comb += [
            advance.eq(self.o.ready | ~held),
            partial.eq(flush | short),
            self.start.ready.eq(idle),
            self.o.valid.eq(held),
            self.o.payload.data.eq(row),
            self.o.payload.words.eq(payload.words),
            self.o.payload.last.eq(payload.last),
            # The number of words of a partial last beat is the place after it.
            self.bytes.eq(Cat(Const(0, exact_log2(WORD_BYTES)), place, full_beats)),
        ]
        with m.If(advance):
            m.d.sync += [
                held.eq((given | flush) & fits),
                payload.words.eq(Mux(partial, place, words)),
                payload.last.eq(partial | (final & (place == 0))),
            ]
            with m.If(given & ~partial):
                count_up(m, full_beats)
        m.d.sync += self.done.eq(self.o.valid & self.o.ready & self.o.payload.last)
        with m.If(self.o.valid & self.o.ready & self.o.payload.last):
            m.d.sync += idle.eq(1)
        with m.If(self.start.valid & idle):
            m.d.sync += [idle.eq(0), full_beats.eq(0)]

    def _sides(self, current: Value, head: Value) -> list[dict[int, Value]]:
        """For each multiplexer, its lanes and the select signal of each."""
        lanes = self._config.lanes
        sides: list[dict[int, Value]] = [{k: current[k] | head[k] for k in range(side, lanes, 2)}
                                         for side in range(min(lanes, 2))]
        if lanes > 1 and lanes % 2:
            # The last lane and the first are both even: the last lane is selected on the odd side when it is current.
            sides[0][lanes - 1] = head[lanes - 1] & ~current[lanes - 1]
            sides[1][lanes - 1] = current[lanes - 1]
        return sides
