"""Holds raw blocks until it is known whether to code them."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.coding import LINE_BYTES, largest_payload, tag_bytes
from hdl.common.beat import beat_stream
from hdl.common.bits import thermometer
from hdl.common.fifo import StreamFifo

__all__ = ["BLOCKS", "RawStore", "scanned_layout"]

BLOCKS = 8
"""Blocks whose facts the queue holds at least."""


def scanned_layout(block_bytes: int) -> data.StructLayout:
    """Facts of a scanned block: raw bytes, bytes of its non-zero elements, element size, whether it may stay raw
    (``fallback``), whether it must stay raw (``leave_raw``), and its number modulo 256."""
    return data.StructLayout({"bytes": range(block_bytes + 1), "nonzero_bytes": range(block_bytes + 1),
                              "element": 3, "fallback": 1, "leave_raw": 1, "sequence": 8})


class RawStore(wiring.Component):
    """Holds two blocks and sends each with the decision whether it stays raw.

    ::

        i -------> [memory: two blocks] ----------------> o
        scanned -> [FIFO] --> compare lengths --> [next] --> block, raw

    A block stays raw if it must, or if it may and coding would not make it shorter. Its coded length follows exactly
    from the bytes of its non-zero elements.

    Parameters
    ----------
    beat_bytes, block_bytes : int
        Bytes of a beat, and of a block.
    sizes : tuple of int
        Element sizes in bytes that blocks may choose from.

    Members
    -------
    i : In(stream.Signature(8 * beat_bytes))
        Beats of blocks.
    scanned : In(stream.Signature(scanned_layout(block_bytes)))
        Facts of the blocks, in order, each at any time after its block's first beat. Always ready when ``room`` was
        high 4 cycles before.
    room : Out(1)
        The FIFO has room for the facts of another block and of those under way.
    o : Out(beat_stream(beat_bytes))
        The blocks, as packets.
    raw : Out(1)
        Beside every beat of ``o``: the block stays raw.
    block : Out(scanned_layout(block_bytes))
        Beside every beat of ``o``: its facts.
    """

    i: stream.Interface
    o: stream.Interface
    scanned: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int):
        self._beat_bytes = beat_bytes
        self._sizes = sizes
        self._block_bytes = block_bytes
        super().__init__({
            "i": In(stream.Signature(8 * beat_bytes)),
            "scanned": In(stream.Signature(scanned_layout(block_bytes))),
            "room": Out(1), "o": Out(beat_stream(beat_bytes)), "raw": Out(1),
            "block": Out(scanned_layout(block_bytes)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, block_bytes = self._beat_bytes, self._block_bytes
        shift = exact_log2(n)
        m.submodules.memory = memory = StreamFifo(8 * n, 2 * block_bytes // n)
        m.submodules.facts = facts = StreamFifo(scanned_layout(block_bytes), BLOCKS)
        wiring.connect(m, wiring.flipped(self.i), memory.i)
        wiring.connect(m, wiring.flipped(self.scanned), facts.i)
        m.d.comb += self.room.eq(facts.level <= BLOCKS - 5)

        # One cycle computes the coded length, the next one compares it.
        summed, decided = Signal(), Signal()
        shape = scanned_layout(block_bytes)
        first, second = (Signal(shape, name=name, reset_less=True) for name in ("first", "second"))
        coded_bytes = Signal(range(largest_payload(block_bytes, self._sizes) + 1), reset_less=True)
        raw_next = Signal(reset_less=True)
        block = Signal(scanned_layout(block_bytes), reset_less=True)
        raw = Signal(reset_less=True)
        active = Signal()
        behind = Signal(range(block_bytes // n), reset_less=True)
        takes = Signal()
        facing = facts.o.payload
        lines = ((facing.bytes + (LINE_BYTES - 1)) >> exact_log2(LINE_BYTES))
        tags = {size: lines * tag_bytes(size) for size in self._sizes}
        tag_total = Signal(range(largest_payload(block_bytes, self._sizes) + 1))
        with m.Switch(facing.element):
            for size, value in tags.items():
                with m.Case(size):
                    m.d.comb += tag_total.eq(value)
        m.d.comb += facts.o.ready.eq(~summed | ~decided | takes)
        with m.If(facts.o.ready):
            m.d.sync += [summed.eq(facts.o.valid), first.eq(facing), coded_bytes.eq(facing.nonzero_bytes + tag_total)]
        with m.If(~decided | takes):
            m.d.sync += [decided.eq(summed), second.eq(first),
                         raw_next.eq(first.leave_raw | (first.fallback & (coded_bytes >= first.bytes)))]

        final = Signal(reset_less=True)     # this beat is the block's last; registered, because its fan-out is large
        goes = Signal()
        tail = block.bytes[:shift]
        m.d.comb += [
            self.o.valid.eq(active & memory.o.valid),
            goes.eq(self.o.valid & self.o.ready),
            memory.o.ready.eq(active & self.o.ready),
            self.o.payload.data.eq(memory.o.payload),
            self.o.payload.last.eq(final),
            self.o.payload.keep.eq(Mux(final & (tail != 0), Cat(thermometer(tail, n)), (1 << n) - 1)),
            self.raw.eq(raw),
            self.block.eq(block),
            takes.eq(decided & (~active | (goes & final))),
        ]
        with m.If(takes):
            m.d.sync += [active.eq(1), block.eq(second), raw.eq(raw_next), behind.eq((second.bytes - 1) >> shift),
                         final.eq(second.bytes <= n)]
        with m.Elif(goes):
            m.d.sync += [active.eq(~final), behind.eq(behind - 1), final.eq(behind == 1)]
        return m
