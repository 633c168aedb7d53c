"""The data path of the block compressor: drops the zeros of raw beats and packs the rest into rows."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import element_layout, select
from cdma.hdl.codec.line_record import GROUP_BYTES, group_layout
from cdma.hdl.codec.payload.group_coder import GroupCoder, group_coder_latency
from cdma.hdl.codec.routing import Gather, Ranks, Steer, joined_ranks, ranks_layout, swap_layout
from cdma.hdl.codec.scan import Scan
from cdma.hdl.common.bits import thermometer
from cdma.hdl.common.skid import Skid
from cdma.hdl.common.stage import behind

__all__ = ["RowPacker", "packed_row_layout", "raw_row_layout", "stored_beat_layout"]

_FEW = 8
"""Units of a beat that are counted and routed in one cycle; more take two."""


def stored_beat_layout(beat_bytes: int, sizes: tuple[int, ...], exponents: tuple[int, ...] = ()) -> data.StructLayout:
    """A raw beat as it waits for the row packer.

    Bytes that are missing in a block's last beat are 0. With exponents also ``live``: a flag for each lane of the
    smallest element size, set for the uppermost lane of each element that is not zero. The group coder reads these
    flags and need not look for zeros.
    """
    return data.StructLayout({"data": 8 * beat_bytes, **({"live": beat_bytes // min(sizes)} if exponents else {})})


def raw_row_layout(beat_bytes: int, sizes: tuple[int, ...], exponents: tuple[int, ...] = ()) -> data.StructLayout:
    """A raw beat of a block.

    ``data`` and ``live`` as in :func:`stored_beat_layout`. ``first`` and ``last`` beat of its block; ``element`` is
    one-hot, ``raw`` keeps the zeros as well. ``before`` is read with ``first``: the number of the last unit of the
    first row that holds something else already; the number of the row's last unit means that the row is free.

    With exponents, a unit is a byte. ``coded``: the beat is coded with exponents, as ``groups`` say; never in a block
    that is ``raw``.
    """
    units = beat_bytes // _grain(sizes, exponents)
    groups = {"coded": 1, "groups": data.ArrayLayout(group_layout(), beat_bytes // GROUP_BYTES)} if exponents else {}
    return data.StructLayout({**stored_beat_layout(beat_bytes, sizes, exponents).members, "first": 1, "last": 1,
                              "raw": 1, "element": element_layout(sizes), "before": exact_log2(units), **groups})


def _grain(sizes: tuple[int, ...], exponents: tuple[int, ...]) -> int:
    """Bytes of a unit."""
    return 1 if exponents else min(sizes)


def packed_row_layout(beat_bytes: int) -> data.StructLayout:
    """A packed row; ``last`` ends the data of a block.

    Units before its first and behind its last element are undefined.
    """
    return data.StructLayout({"data": 8 * beat_bytes, "last": 1})


class RowPacker(wiring.Component):
    """Packs the elements that are not zero into rows, one raw beat per cycle.

    ::

               +------+   +-------+   +-------+   +--------+
        i ---->| scan |-->| count |-->| place |-->| gather |--+----------> o
               +------+   +-------+   +-------+   +--------+  |    ^
                  0           1           2           3       +->[open row]

    With at most 8 units in a beat, count and place are one stage. With exponents, the flags that come with a beat take
    the place of the scan, and a group coder for each 32 bytes that of the register behind it::

               +--------------+   +------------------------------+   +-------+   +--------+
        i ---->| group coder: |-->| group coder: steer, network, |-->| place |-->| gather |---> ...
               | count, tails |   | rests; count                 |   +-------+   +--------+
               +--------------+   +------------------------------+

    In the pipeline ``fast`` there is a register in front of all and one behind the gather network, and the group coder
    has its registers behind steer, network and bytes: 4 cycles more.

    Units move to the lanes behind those of the beat before. A unit that finds its row full begins the next one: the
    full row leaves. The last row of a block leaves with the block's last beat, or, if that beat has filled a row, a
    cycle later. A block without an element gives no row.

    The critical loop is the place: ``before`` of a beat is the sum of that of the beat before and its count.

    ======  =======  ==========================  =========================================================
    cycle   stage    registers at its end        what it does
    ======  =======  ==========================  =========================================================
    0       scan     beat, mask                  which units are not zero
    1       count    beat, counts                set bits before each block of the network
    2       place    beat, swap bits, ``older``  where its units go, which rows they fill
    3       gather   open row                    every unit is on its lane; the row leaves if it is full, or the last
    ======  =======  ==========================  =========================================================

    Latency: 3 cycles from a beat to the row that it fills (2 if count and place are one stage). Throughput: one beat
    per cycle. One cycle is lost where a block's last beat gives two rows and the next block's first beat fills a row
    too. All stages move together when ``o.ready`` is high.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat and of a row: 16, 32 or 64; with exponents 32 or 64.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.
    pipeline : str
        ``small`` or ``fast``: ``fast`` adds a skid buffer in front of all, for memories whose output is late, a
        register behind the gather network, and stages in the group coder. It counts in each half of the beat, and adds
        up a stage later.
    exponents : tuple of int
        Element sizes that can be coded with exponents as well: 2 for bfloat16, 4 for float32; each also in ``sizes``.

    Members
    -------
    i : In(stream.Signature(raw_row_layout(beat_bytes, sizes, exponents)))
        Raw beats of blocks.
    o : Out(stream.Signature(packed_row_layout(beat_bytes)))
        Packed rows.

    Source: docs/formats.md, "Tags first" and "Exponents".
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], pipeline: str = "small",
                 exponents: tuple[int, ...] = ()):
        self._beat_bytes = beat_bytes
        self._pipeline = pipeline
        self._sizes = tuple(sorted(sizes))
        self._exponents = tuple(sorted(exponents))
        self._grain = _grain(self._sizes, self._exponents)
        self._units = beat_bytes // self._grain
        super().__init__({
            "i": In(stream.Signature(raw_row_layout(beat_bytes, self._sizes, self._exponents))),
            "o": Out(stream.Signature(packed_row_layout(beat_bytes))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, grain, units = self._beat_bytes, self._grain, self._units
        moves = Signal()
        if self._pipeline != "fast":
            m.d.comb += self.i.ready.eq(moves)

        def stage(name: str, **fields: ShapeLike) -> tuple[Signal, Any]:
            """Registers of a stage: whether it holds a beat, and the beat."""
            layout = data.StructLayout({"data": 8 * n, **fields})
            return Signal(name=f"{name}_valid"), Signal(layout, name=name, reset_less=True)

        comes, beat = self.i.valid, self.i.payload
        if self._pipeline == "fast":
            m.submodules.taken = taken = Skid(self.i.payload.shape())
            m.d.comb += taken.o.ready.eq(moves)
            wiring.connect(m, wiring.flipped(self.i), taken.i)
            comes, beat = taken.o.valid, taken.o.payload
        if self._exponents:
            valid, scanned = self._coded(m, moves, comes, beat)
        else:
            m.submodules.scan = scan = Scan(n, self._sizes)
            m.d.comb += [scan.data.eq(beat.data), scan.present.eq(-1), scan.element.eq(beat.element)]
            valid, scanned = stage("scanned", first=1, last=1, mask=units, before=exact_log2(units))
            with m.If(moves):
                m.d.sync += [valid.eq(comes), scanned.mask.eq(scan.mask | beat.raw.replicate(units)),
                             *(scanned[name].eq(beat[name]) for name in ("data", "first", "last", "before"))]

        if units > _FEW and self._pipeline == "fast":
            counts, count = self._halves(m, moves, scanned.mask)
            came, (valid, counted) = valid, stage("counted", first=1, last=1, before=exact_log2(units))
            with m.If(moves):
                m.d.sync += [valid.eq(came),
                             *(counted[name].eq(scanned[name]) for name in ("data", "first", "last", "before"))]
            self._packed(m, moves, *self._placed(m, moves, stage, valid, counted, counts, count))
            return m
        m.submodules.ranks = ranks = Ranks(n, grain)
        m.d.comb += ranks.mask.eq(scanned.mask)
        counted, counts, count = scanned, ranks.before, ranks.count
        if units > _FEW:
            came, (valid, counted) = valid, stage("counted", first=1, last=1, before=exact_log2(units))
            counts = Signal(ranks_layout(n, grain), reset_less=True)
            halves = Signal.like(ranks.halves, reset_less=True)
            with m.If(moves):
                m.d.sync += [valid.eq(came), counts.eq(ranks.before), halves.eq(ranks.halves),
                             *(counted[name].eq(scanned[name]) for name in ("data", "first", "last", "before"))]
            count = halves[0] + halves[1]
        self._packed(m, moves, *self._placed(m, moves, stage, valid, counted, counts, count))
        return m

    def _halves(self, m: Module, moves: Signal, mask: Value) -> tuple[Any, Value]:
        """The set bits before each block, and all of them: counted in each half, and added up behind the register."""
        counted: list[Any] = []
        for k in range(2):
            m.submodules[f"ranks_{k}"] = ranks = Ranks(self._beat_bytes // 2, self._grain)
            m.d.comb += ranks.mask.eq(mask.word_select(k, self._units // 2))
            counted += [behind(m, moves, ranks.before, f"before_{k}"), behind(m, moves, ranks.count, f"count_{k}")]
        low, low_count, high, high_count = counted
        counts = Signal(ranks_layout(self._beat_bytes, self._grain), name="joined")
        joined_ranks(m, counts, low, high, low_count)
        return counts, low_count + high_count

    def _coded(self, m: Module, moves: Signal, comes: Value, beat: Any) -> tuple[Signal, Any]:
        """The beat behind the group coders, combinational from their registers."""
        layout = data.StructLayout({"data": 8 * self._beat_bytes, "first": 1, "last": 1, "mask": self._units,
                                    "before": exact_log2(self._units)})
        valid, coded = Signal(name="coded_valid"), Signal(layout, name="coded")
        kept = Signal(data.StructLayout({"first": 1, "last": 1, "before": exact_log2(self._units)}), name="kept",
                      reset_less=True)
        # Of each byte: the flag of its element, in the element's uppermost lane.
        mask, grain = Signal(self._units), self._sizes[0]
        m.d.comb += mask.eq(beat.raw.replicate(self._units) | Cat(select(beat.element, {
            size: beat.live[(byte // size + 1) * size // grain - 1] for size in self._sizes})
            for byte in range(self._units)))
        passed = beat
        for number in range(1, group_coder_latency(self._pipeline)):
            earlier, passed = passed, Signal.like(kept, name=f"passed_{number}", reset_less=True)
            came, comes = comes, Signal(name=f"came_{number}")
            with m.If(moves):
                m.d.sync += [comes.eq(came), *(passed[name].eq(earlier[name]) for name in ("first", "last", "before"))]
        with m.If(moves):
            m.d.sync += [valid.eq(comes), *(kept[name].eq(passed[name]) for name in ("first", "last", "before"))]
        m.d.comb += [coded[name].eq(kept[name]) for name in ("first", "last", "before")]
        lane_bytes = self._exponents[0]
        for k in range(self._beat_bytes // GROUP_BYTES):
            m.submodules[f"coder_{k}"] = coder = GroupCoder(self._exponents, self._pipeline)
            m.d.comb += [
                coder.move.eq(moves), coder.coded.eq(beat.coded), coder.group.eq(beat.groups[k]),
                *(coder.element[f"b{size}"].eq(beat.element[f"b{size}"]) for size in self._exponents),
                coder.data.eq(beat.data.word_select(k, 8 * GROUP_BYTES)),
                coder.mask.eq(mask.word_select(k, GROUP_BYTES)),
                coder.live.eq(Cat(beat.live[end // grain - 1] for end in range(
                    k * GROUP_BYTES + lane_bytes, (k + 1) * GROUP_BYTES + 1, lane_bytes))),
                coded.data.word_select(k, 8 * GROUP_BYTES).eq(coder.o),
                coded.mask.word_select(k, GROUP_BYTES).eq(coder.o_mask),
            ]
        return valid, coded

    def _placed(self, m: Module, moves: Signal, stage: Any, valid: Signal, counted: Any, counts: Any,
                count: Value) -> tuple[Signal, Any, Any]:
        """Where the units go, which rows they fill, and which row is the block's last."""
        n, grain, units = self._beat_bytes, self._grain, self._units
        position = exact_log2(units)
        m.submodules.steer = steer = Steer(n, grain)
        place = Signal(position)
        before = Signal(position)
        total = Signal(position + 1)
        # Whether the open row is free, and whether the block has had an element.
        free, some = Signal(), Signal()
        was_free, had = Signal(), Signal()
        m.d.comb += [
            before.eq(Mux(counted.first, counted.before, place)),
            total.eq(before + count),
            was_free.eq(Mux(counted.first, counted.before == units - 1, free)),
            had.eq(some & ~counted.first),
            steer.before.eq(counts),
            steer.start.eq(before + 1),
        ]
        crosses = total[position]
        holds, placed = stage("placed", older=units, fills=1, ends=1)
        swap = Signal(swap_layout(n, grain), reset_less=True)
        with m.If(moves):
            m.d.sync += [
                holds.eq(valid), swap.eq(steer.swap), placed.data.eq(counted.data),
                # Units that older beats have in the row; none if this beat begins it.
                placed.older.eq(Cat(Const(1), thermometer(before, units - 1)) & ~was_free.replicate(units)),
                placed.fills.eq(crosses & ~was_free),
                placed.ends.eq(counted.last & (had | (count != 0))),
            ]
            with m.If(valid):
                m.d.sync += [place.eq(total), free.eq(was_free & ~crosses), some.eq(had | (count != 0))]
        return holds, placed, swap

    def _packed(self, m: Module, moves: Signal, holds: Signal, placed: Any, swap: Signal) -> None:
        """Moves the units to their lanes, and joins them with the open row."""
        n, grain, units = self._beat_bytes, self._grain, self._units
        m.submodules.gather = gather = Gather(n, grain)
        m.d.comb += [gather.i.eq(placed.data), gather.swap.eq(swap)]
        lanes, older, row_fills, block_ends = gather.o, placed.older, placed.fills, placed.ends
        if self._pipeline == "fast":
            holds = behind(m, moves, holds, "gathered_valid", init=0)
            lanes, older, row_fills, block_ends = (behind(m, moves, value, f"gathered_{name}") for name, value in (
                ("lanes", lanes), ("older", older), ("fills", row_fills), ("ends", block_ends)))
        opened = Signal(8 * n, reset_less=True)
        # The beat fills a row; the block's data end with the row that is open then; that row is still to leave.
        fills, ends, due = Signal(), Signal(), Signal()
        held = Signal()
        m.d.comb += [
            fills.eq(holds & row_fills),
            ends.eq(holds & block_ends),
            # Both rows of a last beat, and one of the next block's first beat.
            held.eq(due & (fills | ends)),
            moves.eq(self.o.ready & ~held),
            self.o.valid.eq(due | fills | ends),
            self.o.payload.last.eq(due | ~fills),
        ]
        for unit in range(units):
            old, new = (each.word_select(unit, 8 * grain) for each in (opened, lanes))
            m.d.comb += self.o.payload.data.word_select(unit, 8 * grain).eq(Mux(older[unit] | due, old, new))
            with m.If(moves & holds & (row_fills | ~older[unit])):
                m.d.sync += old.eq(new)
        with m.If(self.o.ready):
            m.d.sync += due.eq(~held & fills & ends)
