"""The registers of a descriptor ring, and the place of its next entry."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.config.engine import EngineConfig
from hdl.engine.control.table import RING_INDEX_BITS

__all__ = ["Ring", "ring_layout"]

_ALIGNMENT_BITS = 6


def ring_layout(config: EngineConfig) -> data.StructLayout:
    """Registers of a ring; ``base`` without the bits that are always zero."""
    return data.StructLayout({
        "base": config.address_bits - _ALIGNMENT_BITS, "size": RING_INDEX_BITS + 1, "tail": RING_INDEX_BITS,
        "head": RING_INDEX_BITS, "enable": 1})


class Ring(wiring.Component):
    """Registers of a ring in link memory. The driver writes entries at ``tail``; the engine reads them at ``head``.

    ``enable`` reads 1 while an entry is being read, even if 0 has been written. When it reads 0 the ring is idle.
    Base and size can be changed only while the ring is idle. A ring that ends beyond the last address cannot be
    enabled.

    Parameters
    ----------
    config : EngineConfig
        What is built.

    Members
    -------
    write : In
        One bit for each register that is written in this cycle with ``data``; in every third cycle at most.
    data : In(32)
        The value written.
    refuse : Out(1)
        In the cycle of a write: the write is not allowed, and changes nothing.
    values : Out(ring_layout(config))
        Values of the registers.
    pending : Out(1)
        There is an entry to read.
    begin, advance, fail : In(1)
        Reading the entry begins; it was read; it could not be read.
    reading : Out(1)
        An entry is being read.
    """

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({
            "write": In(data.StructLayout({"base_lo": 1, "base_hi": 1, "size": 1, "tail": 1, "control": 1})),
            "data": In(32), "refuse": Out(1), "values": Out(ring_layout(config)),
            "pending": Out(1), "begin": In(1), "advance": In(1), "fail": In(1), "reading": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        low_bits = 32 - _ALIGNMENT_BITS
        base = Signal(self._config.address_bits - _ALIGNMENT_BITS)
        size = Signal(RING_INDEX_BITS, init=1)      # without its lowest bit, which is never set
        tail = Signal(RING_INDEX_BITS)
        head = Signal(RING_INDEX_BITS)
        enable = Signal()
        below = Signal(RING_INDEX_BITS)             # the size less one
        mask = Signal(RING_INDEX_BITS, init=1)      # the same, registered: bits of an index
        at_rest = Signal()
        beyond = Signal()                           # the last entry ends beyond the last address
        m.d.comb += [
            below.eq(Cat(size[bit:].any() for bit in range(RING_INDEX_BITS))),
            at_rest.eq(~enable & ~self.reading),
            self.values.base.eq(base),
            self.values.size.eq(Cat(0, size)),
            self.values.tail.eq(tail),
            self.values.head.eq(head),
            self.values.enable.eq(~at_rest),
            self.pending.eq(enable & (head != tail) & ~self.reading),
        ]

        # The size is a power of two, so no adder is needed: the ring ends beyond the last address when all bits of the
        # base from the size's bit on are ones and a lower one is set. The mask is known one cycle after the size was
        # written, and this one cycle later: before the bus can write again.
        m.d.sync += [
            mask.eq(below),
            beyond.eq((base[:RING_INDEX_BITS] | mask).all() & base[RING_INDEX_BITS:].all()
                      & (base[:RING_INDEX_BITS] & mask).any()),
        ]
        given = self.data[1:RING_INDEX_BITS + 1]
        one_bit = Signal()
        m.d.comb += one_bit.eq(given.any() & ((given & (given - 1)[:len(given)]) == 0) & ~self.data[0]
                               & ~self.data[RING_INDEX_BITS + 1:].any())
        with m.If(self.write.base_lo | self.write.base_hi):
            m.d.comb += self.refuse.eq(~at_rest)
        with m.If(self.write.base_lo & at_rest):
            m.d.sync += base[:low_bits].eq(self.data[_ALIGNMENT_BITS:])
        with m.If(self.write.base_hi & at_rest):
            m.d.sync += base[low_bits:].eq(self.data)
        with m.If(self.write.size):
            m.d.comb += self.refuse.eq(~at_rest | ~one_bit)
            with m.If(at_rest & one_bit):
                m.d.sync += [size.eq(given), head.eq(0), tail.eq(0)]
        with m.If(self.write.tail):
            m.d.comb += self.refuse.eq((self.data[:RING_INDEX_BITS] & ~mask).any() | self.data[RING_INDEX_BITS:].any())
            with m.If(~self.refuse):
                m.d.sync += tail.eq(self.data)
        with m.If(self.write.control):
            m.d.comb += self.refuse.eq(self.data[0] & beyond)
            with m.If(~self.refuse):
                m.d.sync += enable.eq(self.data[0])

        with m.If(self.begin):
            m.d.sync += self.reading.eq(1)
        with m.If(self.advance | self.fail):
            m.d.sync += self.reading.eq(0)
        with m.If(self.advance):
            m.d.sync += head.eq((head + 1) & mask)
        with m.If(self.fail):
            m.d.sync += enable.eq(0)
        return m
