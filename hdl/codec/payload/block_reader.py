"""Reads the raw beats of a block from the store for the row packer."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES, element_layout
from cdma.hdl.codec.line_record import GROUP_BYTES, line_record_layout
from cdma.hdl.codec.payload.row_packer import raw_row_layout, stored_beat_layout

__all__ = ["READ_CYCLES", "BlockReader", "packing_layout"]

READ_CYCLES = 2
"""Cycles from a block that is to be packed to its first beat."""


def packing_layout(beat_bytes: int, sizes: tuple[int, ...], block_bytes: int,
                   exponents: tuple[int, ...] = ()) -> data.StructLayout:
    """A block that is to be packed.

    ``raw``, ``element`` and ``before`` as in :func:`~cdma.hdl.codec.payload.row_packer.raw_row_layout`; ``beats``: raw
    beats of it less one; ``empty``: its last beat has no whole element. With exponents, ``recorded``: there is a record
    for each of its lines, because it was to be coded; if it is not ``raw`` it is.
    """
    units = beat_bytes // (1 if exponents else min(sizes))
    return data.StructLayout({
        "raw": 1, "element": element_layout(sizes), "before": exact_log2(units),
        "beats": range(block_bytes // beat_bytes), "empty": 1, **({"recorded": 1} if exponents else {})})


class BlockReader(wiring.Component):
    """Gives each raw beat what the row packer must know of its block, its line and its groups.

    ::

        i -----> [coming] -> [current] --+
        beats ---------------------------+---> o
        lines ------> [groups of beat] --+

    The block to come waits in a register, so that a block's end does not reach back to ``i.ready`` within a cycle.

    Latency: 2 cycles from a block on ``i`` to its first beat; none from ``beats`` to ``o``. One beat per cycle, without
    an idle cycle between blocks of more than one.

    Parameters
    ----------
    beat_bytes, block_bytes : int
        Bytes of a beat, and of a block.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.
    exponents : tuple of int
        Those that can be coded with exponents.

    Members
    -------
    i : In(stream.Signature(packing_layout(beat_bytes, sizes, block_bytes, exponents)))
        Blocks, in order. ``i.ready`` is registered.
    beats : In(stream.Signature(stored_beat_layout(beat_bytes, sizes, exponents)))
        Raw beats of all blocks.
    lines : In(stream.Signature(line_record_layout()))
        Records of the lines of blocks that are ``recorded``, in order; one is taken with the last beat of a line. Only
        with ``exponents``.
    o : Out(stream.Signature(raw_row_layout(beat_bytes, sizes, exponents)))
        Raw beats for the packer, combinational from ``beats`` and ``lines``.
    """

    i: stream.Interface
    beats: stream.Interface
    lines: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int, exponents: tuple[int, ...] = ()):
        self._beat_bytes = beat_bytes
        self._exponents = exponents
        members = {
            "i": In(stream.Signature(packing_layout(beat_bytes, sizes, block_bytes, exponents))),
            "beats": In(stream.Signature(stored_beat_layout(beat_bytes, sizes, exponents))),
            "o": Out(stream.Signature(raw_row_layout(beat_bytes, sizes, exponents))),
        }
        if exponents:
            members["lines"] = In(stream.Signature(line_record_layout()))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        block: Any = self.i.payload
        beat: Any = self.o.payload
        waits, coming = Signal(), Signal.like(block, name="coming", reset_less=True)
        active, current = Signal(), Signal.like(block, name="current", reset_less=True)
        # The beat is the block's first one, or its last one. `final` is registered, `current.beats` counts down.
        first, final, will_end = Signal(reset_less=True), Signal(reset_less=True), Signal(reset_less=True)
        takes, begins, goes, there = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~waits),
            takes.eq(self.i.valid & ~waits),
            begins.eq(~active | (goes & final)),
            there.eq(active & self._groups(m, current, final, goes)),
            self.o.valid.eq(there & self.beats.valid),
            self.beats.ready.eq(there & self.o.ready),
            goes.eq(self.o.valid & self.o.ready),
            *(beat[name].eq(self.beats.payload[name]) for name in self.beats.payload.shape().members),
            beat.first.eq(first), beat.last.eq(final),
            # The last beat has no byte that counts if the packet ended within its first element.
            beat.raw.eq(current.raw & ~(final & current.empty)),
            beat.element.eq(current.element), beat.before.eq(current.before),
        ]
        with m.If(takes):
            m.d.sync += [coming.eq(block), will_end.eq(block.beats == 0)]
        m.d.sync += waits.eq(takes | (waits & ~begins))
        with m.If(begins):
            m.d.sync += [active.eq(waits), first.eq(1), final.eq(will_end), current.eq(coming)]
        with m.Elif(goes):
            m.d.sync += [first.eq(0), current.beats.eq(current.beats - 1), final.eq(current.beats == 1)]
        return m

    def _groups(self, m: Module, current: Any, final: Signal, goes: Signal) -> Any:
        """Takes the groups of a beat from the record of its line; whether the record is there, if one is needed."""
        if not self._exponents:
            return 1
        line: Any = self.lines.payload
        groups = self._beat_bytes // GROUP_BYTES
        # Which beat of its line it is.
        part = Signal(exact_log2(LINE_BYTES // self._beat_bytes))
        with m.If(goes):
            m.d.sync += part.eq(part + 1)
            with m.If(final):
                m.d.sync += part.eq(0)
        m.d.comb += [self.lines.ready.eq(goes & current.recorded & (final | part.all())),
                     self.o.payload.coded.eq(current.recorded & ~current.raw)]
        less = Cat(line.less).word_select(part, 2 * groups)
        for k, group in enumerate(self.o.payload.groups):
            m.d.comb += [group[name].eq(line[name]) for name in ("signs", "escape", "base")]
            m.d.comb += group.width.eq(line.width - less.word_select(k, 2))
        return self.lines.valid | ~current.recorded
