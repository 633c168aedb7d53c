"""The block compressor: raw beats in, the payloads of blocks out, tags first."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.coding import LINE_BYTES, element_layout, most_tag_rows, one_hot_element, select
from cdma.hdl.codec.line_record import GROUP_BYTES
from cdma.hdl.codec.payload.block_lengths import BlockLengths, length_steps, scanned_layout
from cdma.hdl.codec.payload.block_reader import READ_CYCLES, BlockReader
from cdma.hdl.codec.payload.merger import Merger, packed_block_layout
from cdma.hdl.codec.payload.metadata_packer import QUARTERS, most_metadata_rows
from cdma.hdl.codec.payload.metadata_writer import FACT_CYCLES, MetadataWriter
from cdma.hdl.codec.payload.row_packer import RowPacker, packed_row_layout, stored_beat_layout
from cdma.hdl.codec.payload.tag_writer import SCAN_CYCLES, TagWriter
from cdma.hdl.common.beat import beat_stream
from cdma.hdl.common.beat_width import BeatDownsizer, BeatUpsizer
from cdma.hdl.common.bits import length
from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.common.protected import ProtectedFifo, protection, stream_fifo
from cdma.hdl.common.skid import Skid
from cdma.hdl.common.stage import behind

__all__ = ["MEMORIES", "BlockCompressor", "raw_packet_layout"]

MEMORIES = ("raw beats", "rows of data", "rows of tags", "records of lines", "bytes of facts", "rows of facts and tags")
"""What the memories hold, in the order of the bits of ``inject``; the last three are there with exponents."""

_SPARE = 5
"""Raw beats that the store holds for cycles in which the packer waits."""

_DECISION = SCAN_CYCLES + 1 + length_steps(exponents=False) + READ_CYCLES + _SPARE
"""Raw beats that the store holds beside a block: those that come while its elements are counted, its lengths found, and
its first beat read."""

_FACTS = (FACT_CYCLES[32] - SCAN_CYCLES) + (length_steps(exponents=True) - length_steps(exponents=False)) + (
    LINE_BYTES // GROUP_BYTES - 1)
"""Cycles that this takes longer with exponents, the last ones for beats that are missing in the block's last line."""

_BLOCKS = 2
"""Blocks that may have ended without their lengths being looked for."""

_STOP = 2
"""Rows that are free when the packer is stopped: it is known a cycle late."""

_MORE_ROWS = 4 + _STOP
"""Rows of data that may wait beside those that come while a block's metadata leave: one of each stage of the packer."""

_LEAD = min(FACT_CYCLES.values()) - SCAN_CYCLES + length_steps(exponents=True)
"""Cycles that metadata begin to be joined before the block's lengths are found, and its data packed, at least."""

_MORE_TAGS = 1 + SCAN_CYCLES
"""Rows of tags beside those of two blocks: the open one, and those of beats that come until the input is stopped."""

_LANE_FIELDS = {"leave_raw": 1, "halved": 1}
"""Fields of a packet for a lane alone."""


def raw_packet_layout(beat_bytes: int, for_lane: bool = False) -> data.StructLayout:
    """A raw beat of a packet.

    ``keep`` is read on the last beat. What follows is read on the first: ``element``, the bytes of an element;
    ``exponents``, whether they are coded with exponents; ``fallback``, whether blocks stay raw that would not get
    shorter. For a lane there are two more: ``leave_raw``, whether blocks stay raw in any case; ``halved``, whether a
    whole block has half of ``block_bytes``, so that only one with fewer raw bytes is a short block.
    """
    return data.StructLayout({"data": 8 * beat_bytes, "keep": beat_bytes, "last": 1, "element": 3, "exponents": 1,
                              "fallback": 1, **(_LANE_FIELDS if for_lane else {})})


class BlockCompressor(wiring.Component):
    """Divides packets into blocks and compresses each, one raw beat per cycle.

    ::

             +-------+     +-------+   +--------+   +------------+   +------+   +--------+
        i -->| input |--+->| store |-->| reader |-->| row packer |-->| FIFO |-->|        |
             +-------+  |  +-------+   +--------+   +------------+   +------+   |        |
                        |                 ^   ^ records                         |        |
                        |         +---------+ |                                 |        |
                        |         | lengths |---------------------------------->| merger |--> o, block
                        |         +---------+ |                                 |        |
                        |              ^      |                                 |        |
                        |  +----------+       |         rows of metadata        |        |
                        +->| metadata |-------+-------------------------------->|        |
                        |  | writer   |                                         |        |
                        |  +----------+                                         |        |
                        |         ^ rows of tags                                |        |
                        |  +------------+                                       +--------+
                        +->| tag writer |
                           +------------+

    The metadata of a block comes before its data, and its lengths before all of them. So a block is scanned on its way
    into the store of raw beats, and packed on its way out. While it is packed, its metadata leaves, and its data
    wait in a FIFO that holds as many rows as these take. A block that stays raw is packed like one without zeros. The
    metadata writer is there with exponents only: it puts tags behind line metadata. Without, tags go to the merger.

    With exponents, the tag writer's scan also flags the elements that are not zero, and the store keeps a beat's flags
    beside it: the packer need not look for zeros behind the memory. A flag for each lane of the smallest element size
    widens the store by 1/8 if that is a byte, 1/16 if it is 2 bytes, 1/32 if it is 4. Without exponents the packer has
    time to look for them.

    With exponents and beats of 16 bytes, this is the core for 32 bytes, with pairs of beats: it is needed in every
    second cycle only, and a group is at hand as a whole.

    Latency: 12 cycles from the last beat of a block to the first row of its payload, 20 if that row has data as well as
    tags (beats of 32 bytes, elements of 32 bits); 29 with metadata and data in that row. In the pipeline ``fast`` these
    are 14, 24 and 36. Throughput: 1 raw beat or 1 row of payload per cycle, whichever there are more of.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat on both sides: 16, 32 or 64.
    element_bytes : tuple of int
        Element sizes that packets may choose from: one or more of 1, 2, 4.
    block_bytes : int
        Raw bytes of a block.
    pipeline : str
        ``small`` or ``fast``, for FPGAs: ``fast`` adds a register behind the port, so that a beat's element and mask
        are known in front of the store; one behind the store and one behind the tags or the metadata that is joined,
        since memories show their output late; those of :class:`~cdma.hdl.codec.payload.group_coder.GroupCoder`; and a
        skid buffer behind the merger. The store has a place more, so that beats come in by what was known a cycle
        before.
    exponents : tuple of int
        Element sizes that can be coded with exponents as well: 2 for bfloat16, 4 for float32; each also in
        ``element_bytes``.
    for_lane : bool
        For a lane of the engine: packets say whether they stay raw and whether blocks are halved, and elements are
        counted beside their payload. A packet is then one block: not more than ``block_bytes``, and not more than half
        of them if it is ``halved``.
    store_beats : int, optional
        Raw beats that the store holds, with exponents of 32 bytes at least: those of a block at least. Those of a block
        and 16 when not given, with exponents and 28: with fewer, the input waits while the lengths of a block are
        found.
    protected : bool, optional
        With parity in all memories.

    Members
    -------
    i : In(stream.Signature(raw_packet_layout(beat_bytes, for_lane)))
        Raw beats. An element size that is not built counts as the largest one built; elements that are not built with
        exponents are coded without. A packet longer than a block is several blocks.
    o : Out(beat_stream(beat_bytes))
        Payloads, each a packet. A block without a whole element is a packet of no bytes.
    block : Out(packed_block_layout(beat_bytes, element_bytes, block_bytes, exponents, for_lane))
        Beside every beat of ``o``: what it is; with exponents and beats of 16 bytes, the layout is that for 32.
        ``cut``: its packet ended within an element, whose bytes were dropped.
    inject, bad
        If ``protected``, for ``MEMORIES``: as :func:`cdma.hdl.common.protected.protection` says.

    Raises
    ------
    ValueError
        If the store would hold less than a block.

    Source: docs/formats.md, "Tags first" and "Exponents".
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, element_bytes: tuple[int, ...], block_bytes: int, pipeline: str = "small",
                 exponents: tuple[int, ...] = (), for_lane: bool = False, store_beats: int | None = None,
                 protected: bool = False):
        self._protected = protected
        self._beat_bytes = beat_bytes
        self._pipeline = pipeline
        self._sizes = tuple(sorted(element_bytes))
        self._block_bytes = block_bytes
        self._exponents = tuple(sorted(exponents))
        # Bytes of a beat of the core itself.
        self._core_bytes = max(beat_bytes, GROUP_BYTES) if exponents else beat_bytes
        self._shape = self._core_bytes, self._sizes, block_bytes, self._exponents
        self._for_lane = for_lane
        least = block_bytes // self._core_bytes
        self._store_beats = least + _DECISION + (_FACTS if exponents else 0) if store_beats is None else store_beats
        if self._store_beats < least:
            raise ValueError(
                f"store_beats must be at least {least} for blocks of {block_bytes} bytes, not {store_beats}")
        super().__init__({
            "i": In(stream.Signature(raw_packet_layout(beat_bytes, for_lane))), "o": Out(beat_stream(beat_bytes)),
            "block": Out(packed_block_layout(*self._shape, for_lane)), **protection(protected, len(MEMORIES)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._core_bytes != self._beat_bytes:
            self._in_pairs(m)
        else:
            self._core(m)
        return m

    def _in_pairs(self, m: Module) -> None:
        """A core of twice the width, for pairs of beats."""
        m.submodules.core = core = BlockCompressor(
            self._core_bytes, self._sizes, self._block_bytes, self._pipeline, self._exponents, self._for_lane,
            self._store_beats, self._protected)
        if self._protected:
            m.d.comb += [core.inject.eq(self.inject), self.bad.eq(core.bad)]
        m.submodules.upsizer = upsizer = BeatUpsizer(self._beat_bytes, {
            "element": 3, "exponents": 1, "fallback": 1, **(_LANE_FIELDS if self._for_lane else {})})
        m.submodules.downsizer = downsizer = BeatDownsizer(self._beat_bytes, {"block": self.block.shape()})
        wiring.connect(m, wiring.flipped(self.i), upsizer.i)
        wiring.connect(m, upsizer.o, core.i)
        beat, half = downsizer.i.payload, downsizer.o.payload
        m.d.comb += [
            downsizer.i.valid.eq(core.o.valid), core.o.ready.eq(downsizer.i.ready),
            *(beat[name].eq(core.o.payload[name]) for name in ("data", "keep", "last")), beat.block.eq(core.block),
            self.o.valid.eq(downsizer.o.valid), downsizer.o.ready.eq(self.o.ready),
            *(self.o.payload[name].eq(half[name]) for name in ("data", "keep", "last")), self.block.eq(half.block),
        ]

    def _core(self, m: Module) -> None:
        n, sizes, block_bytes, exponents = self._shape
        tag_rows = most_tag_rows(n, sizes, block_bytes)
        # Rows of data that wait while the metadata leaves; with line metadata, it is joined in quarters of a row.
        joining = QUARTERS * most_metadata_rows(n, block_bytes, exponents) - _LEAD if exponents else 0
        waiting = max(tag_rows, joining) + _MORE_ROWS
        m.submodules.store = store = stream_fifo(
            stored_beat_layout(n, sizes, exponents), self._store_beats + (self._pipeline == "fast"), self._protected)
        m.submodules.scanned = scanned = Skid(scanned_layout(*self._shape, self._for_lane))
        m.submodules.writer = writer = TagWriter(
            n, sizes, block_bytes, 2 * tag_rows + _MORE_TAGS, exponents, self._protected, self._pipeline)
        m.submodules.lengths = lengths = BlockLengths(*self._shape, self._for_lane)
        m.submodules.reader = reader = BlockReader(*self._shape)
        m.submodules.packer = packer = RowPacker(n, sizes, self._pipeline, exponents)
        m.submodules.rows = rows = stream_fifo(packed_row_layout(n), waiting, self._protected)
        m.submodules.merger = merger = Merger(*self._shape, self._for_lane, self._pipeline)
        row_room = Signal()
        m.d.sync += row_room.eq(rows.level <= waiting - _STOP)
        m.d.comb += [rows.i.valid.eq(packer.o.valid & row_room), rows.i.payload.eq(packer.o.payload),
                     packer.o.ready.eq(row_room)]
        wiring.connect(m, lengths.packing, reader.i)
        wiring.connect(m, store.o, reader.beats)
        wiring.connect(m, reader.o, packer.i)
        wiring.connect(m, rows.o, merger.rows)
        if self._pipeline == "fast":
            m.submodules.sent = sent = Skid(data.StructLayout({
                "beat": merger.o.payload.shape(), "block": self.block.shape()}))
            m.d.comb += [
                sent.i.valid.eq(merger.o.valid), merger.o.ready.eq(sent.i.ready),
                sent.i.payload.beat.eq(merger.o.payload), sent.i.payload.block.eq(merger.block),
                self.o.valid.eq(sent.o.valid), sent.o.ready.eq(self.o.ready),
                self.o.payload.eq(sent.o.payload.beat), self.block.eq(sent.o.payload.block),
            ]
        else:
            wiring.connect(m, merger.o, wiring.flipped(self.o))
            m.d.comb += self.block.eq(merger.block)
        # The next block waits here while its data are packed.
        next_waits, next_block = Signal(), Signal(self.block.shape(), reset_less=True)
        m.d.comb += [
            lengths.o.ready.eq(~next_waits), merger.i.valid.eq(next_waits), merger.i.payload.eq(next_block),
        ]
        m.d.sync += next_waits.eq(Mux(next_waits, ~merger.i.ready, lengths.o.valid))
        with m.If(~next_waits):
            m.d.sync += next_block.eq(lengths.o.payload)
        facts = None
        metadata = writer.o
        if exponents:
            m.submodules.facts = facts = MetadataWriter(
                *self._shape, self._store_beats * n // LINE_BYTES, self._pipeline, self._protected)
            wiring.connect(m, facts.lengths, lengths.facts)
            wiring.connect(m, facts.records, reader.lines)
            # Metadata are joined before it is known whether they are sent: a block leaves when both have taken it.
            joined, joins = Signal(), Signal()
            m.d.comb += [facts.joining.valid.eq(scanned.o.valid & ~joined), joins.eq(joined | facts.joining.ready),
                         *(facts.joining.payload[name].eq(scanned.o.payload[name])
                           for name in ("recorded", "element", "lines"))]
            m.d.sync += joined.eq(scanned.o.valid & joins & ~lengths.i.ready)
            wiring.connect(m, writer.o, facts.tags)
            metadata = facts.rows
        else:
            joins = Const(1)
        if self._pipeline == "fast":
            m.submodules.metadata = skid = Skid(8 * n)
            wiring.connect(m, metadata, skid.i)
            metadata = skid.o
        wiring.connect(m, metadata, merger.i_metadata)
        m.d.comb += [lengths.i.valid.eq(scanned.o.valid & joins), lengths.i.payload.eq(scanned.o.payload),
                     scanned.o.ready.eq(lengths.i.ready & joins)]

        if self._protected:
            parts = [store, rows, writer, *([facts] if facts else [])]
            m.d.comb += [Cat(each.inject for each in parts).eq(self.inject),
                         self.bad.eq(Cat(each.bad for each in parts).any())]

        taken, go = self._input(m, store, scanned, writer, facts)
        # Blocks that have ended, and whose lengths are not looked for yet.
        ended = Signal(range(_BLOCKS + 1))
        room = Signal()
        m.d.comb += go.eq(room if self._pipeline == "fast" else room & store.i.ready)
        leaves = Signal()
        m.d.comb += leaves.eq(scanned.o.valid & scanned.o.ready)
        m.d.sync += ended.eq(ended + taken - leaves)
        waits = facts.waits if facts else Const(0)
        may_come: Value = (ended + taken < _BLOCKS) & (writer.level < 2 * tag_rows) & ~waits
        if self._pipeline == "fast":
            # It is known a cycle late, for which the store has a place more.
            may_come = may_come & (store.level < self._store_beats)
        m.d.sync += room.eq(may_come)

    def _input(self, m: Module, store: StreamFifo | ProtectedFifo, scanned: Skid, writer: TagWriter,
               facts: MetadataWriter | None) -> tuple[Value, Value]:
        """Divides packets into blocks, and clears what is behind a packet's last element.

        Returns whether a block ends now, and the signal that lets beats in.
        """
        n, sizes, grain = self._beat_bytes, self._sizes, self._sizes[0]
        beat = self.i.payload
        between, index = Signal(init=1), Signal(range(self._block_bytes // n))
        held = Signal(element_layout(sizes), reset_less=True)
        held_fallback = Signal(reset_less=True)
        go, come = self.i.ready, self.i.valid
        if self._pipeline == "fast":
            go = Signal(name="go")
            come = behind(m, self.i.ready, self.i.valid, "come", init=0)
            m.d.comb += self.i.ready.eq(~come | go)

        def taken(name: str, value: Any) -> Any:
            """The value of a beat behind the register of the pipeline ``fast``."""
            return behind(m, self.i.ready, value, f"taken_{name}") if self._pipeline == "fast" else value

        element, fallback = Signal(element_layout(sizes)), Signal()
        present, raw = Signal(n // grain), Signal(8 * n)
        takes, ends = Signal(), Signal()
        # A beat comes at the port; its own values are at hand when it is taken.
        comes = takes
        if self._pipeline == "fast":
            comes = Signal(name="comes")
            m.d.comb += comes.eq(self.i.valid & self.i.ready)
        own_element, own_ends = taken("element", element), taken("ends", ends)
        own_data, come_present, present = taken("data", beat.data), present, taken("present", present)
        whole = {size: Cat((beat.keep[(unit * grain // size + 1) * size - 1]) for unit in range(n // grain))
                 for size in sizes}
        m.d.comb += [
            element.eq(Mux(between, one_hot_element(beat.element, sizes), held)),
            fallback.eq(Mux(between, beat.fallback, held_fallback)),
            come_present.eq(select(element, whole) | (~beat.last).replicate(n // grain)),
            takes.eq(come & go),
            ends.eq(beat.last | index.all()),
            store.i.valid.eq(takes),
            writer.take.eq(takes), writer.last.eq(own_ends), writer.element.eq(own_element),
        ]
        for unit in range(n // grain):
            place = slice(8 * grain * unit, 8 * grain * (unit + 1))
            m.d.comb += raw[place].eq(own_data[place] & present[unit].replicate(8 * grain))
        m.d.comb += [store.i.payload.data.eq(raw), writer.data.eq(raw)]
        with m.If(comes):
            m.d.sync += [between.eq(beat.last), held.eq(element), held_fallback.eq(fallback),
                         index.eq(Mux(beat.last, 0, index + 1))]

        # What is known of the block goes with the last beat through the stages of the tag writer.
        block: Any = Signal(scanned_layout(*self._shape, self._for_lane))
        begun = Cat(beat.keep[grain * unit] for unit in range(n // grain))
        tail, cut = length(come_present), (begun & ~come_present).any()
        if self._pipeline == "fast":
            # The element is known late: counted for each, then chosen.
            tail = Mux(beat.last, select(element, {size: length(bits) for size, bits in whole.items()}), n // grain)
            cut = select(element, {size: (begun & ~bits).any() for size, bits in whole.items()})
        m.d.comb += [
            block.beats.eq(index), block.element.eq(element), block.fallback.eq(fallback),
            block.tail.eq(tail), block.cut.eq(beat.last & cut),
        ]
        if self._for_lane:
            for name in _LANE_FIELDS:
                held_field = Signal(name=f"held_{name}", reset_less=True)
                m.d.comb += block[name].eq(Mux(between, beat[name], held_field))
                with m.If(comes):
                    m.d.sync += held_field.eq(block[name])
        if facts is not None:
            recorded, held_recorded = Signal(), Signal(reset_less=True)
            own_recorded = taken("recorded", recorded)
            built = Cat(element[f"b{size}"] for size in self._exponents).any()
            m.d.comb += [
                recorded.eq(Mux(between, beat.exponents & built, held_recorded)),
                block.recorded.eq(recorded), writer.exponent.eq(own_recorded),
                facts.take.eq(takes & own_recorded), facts.data.eq(own_data), facts.last.eq(own_ends),
                facts.wide.eq(own_element.b4 if 4 in self._exponents else 0), facts.empty.eq(~present[0]),
                facts.present.eq(Cat(present[2 * k // grain] for k in range(n // 2))),
                facts.groups.eq(writer.groups), store.i.payload.live.eq(writer.live),
            ]
            with m.If(comes):
                m.d.sync += held_recorded.eq(recorded)
        block = taken("block", block)
        for stage in range(SCAN_CYCLES):
            block, earlier = Signal.like(block, name=f"block_{stage}", reset_less=True), block
            m.d.sync += block.eq(earlier)
        m.d.comb += [scanned.i.valid.eq(writer.done), scanned.i.payload.eq(block),
                     scanned.i.payload.elements.eq(writer.elements)]
        if facts is not None:
            m.d.comb += scanned.i.payload.lines.eq(writer.lines)
        return takes & own_ends, go
