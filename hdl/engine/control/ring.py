"""The registers of a ring of descriptors or completions, and the place of its next entry."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.common.counters import joined_carry, part_carries
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.pages import window_layout
from cdma.hdl.engine.control.table import RING_INDEX_BITS, WINDOW_BITS

__all__ = ["Ring", "ring_layout"]

_ALIGNMENT_BITS = 6


def ring_layout(config: EngineConfig) -> data.StructLayout:
    """Registers of a ring; ``base`` without the bits that are always zero."""
    return data.StructLayout({
        "base": config.address_bits - _ALIGNMENT_BITS, "size": RING_INDEX_BITS + 1, "tail": RING_INDEX_BITS,
        "head": RING_INDEX_BITS, "enable": 1})


class Ring(wiring.Component):
    """Registers of a ring in link memory. The driver writes entries at ``tail``; the engine reads them at ``head``.

    Several entries may be *open*: begun and not yet read. ``head`` is the oldest of them. ``enable`` reads 1 while an
    entry is open, even if 0 has been written. When it reads 0 the ring is idle. Base and size can be changed only while
    the ring is idle. A ring that ends beyond the last address, or is not inside the link's window, cannot be enabled.

    With ``writes`` it is a write-back ring: the engine writes entries, and ``tail`` is the entry that the driver reads
    next; ``next`` is the entry that is begun next. The ring is full when ``tail`` is the entry after ``next``. "Read"
    means "written" below then.

    Parameters
    ----------
    config : EngineConfig
        What is built.
    writes : bool
        The engine writes the entries.

    Members
    -------
    write : In
        One bit for each register that is written in this cycle with ``data``; in every third cycle at most.
    data : In(32)
        The value written; in the pipeline ``fast`` it is there the cycle before, too.
    window : In(window_layout(address_bits))
        The link's window, if windows are built. It does not change while the ring is not idle.
    refuse : Out(1)
        In the cycle of a write: the write is not allowed, and changes nothing.
    values : Out(ring_layout(config))
        Values of the registers.
    pending : Out(1)
        The ring is not empty, open entries included; with ``writes``, there is a place to write one. In the pipeline
        ``fast`` with several entries ahead: it is enabled; the fetcher compares the indices.
    open, advance, fail : In(1)
        Entries are open; the oldest one was read; it could not be read.
    begin, back : In(1)
        With ``writes``: an entry is begun; no entry is open, and the ring begins again at ``head``.
    next, next_phase : Out
        With ``writes``: the entry that is begun next, and its phase.
    full, phase : Out(1)
        With ``writes``: no place is free; what tells the record at ``head`` from the one of the pass before, 1 first.
    """

    def __init__(self, config: EngineConfig, writes: bool = False):
        self._config = config
        self._writes = writes
        super().__init__({
            "write": In(data.StructLayout({"base_lo": 1, "base_hi": 1, "size": 1, "tail": 1, "control": 1})),
            "data": In(32), "refuse": Out(1), "values": Out(ring_layout(config)),
            "pending": Out(1), "open": In(1), "advance": In(1), "fail": In(1),
            **({"window": In(window_layout(config.address_bits))} if config.address_windows else {}),
            **({"begin": In(1), "back": In(1), "next": Out(RING_INDEX_BITS), "next_phase": Out(1),
                "full": Out(1), "phase": Out(1)} if writes else {}),
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
        fast = self._config.pipeline == "fast"
        waits: Value = Const(1) if fast and self._config.entries_ahead > 1 else head != tail
        if self._writes:
            waits = ~self._full(m, tail, mask)
        at_rest = Signal()
        beyond = Signal()                           # the last entry ends beyond the last address
        m.d.comb += [
            # Of the size one bit is set: FPGAs subtract faster than they find all bits below it.
            below.eq(((size << 1) - 1)[:RING_INDEX_BITS] if fast else Cat(
                size[bit:].any() for bit in range(RING_INDEX_BITS))),
            at_rest.eq(~enable & ~self.open),
            self.values.base.eq(base),
            self.values.size.eq(Cat(0, size)),
            self.values.tail.eq(tail),
            self.values.head.eq(head),
            self.values.enable.eq(~at_rest),
            self.pending.eq(enable & waits),
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
        strays: Value = (self.data[:RING_INDEX_BITS] & ~mask).any() | self.data[RING_INDEX_BITS:].any()
        if fast:
            # The data are there in the cycle before they are written, too.
            (one_bit, came), (strays, strayed) = (Signal(name="one_bit_came"), one_bit), (Signal(name="strays"), strays)
            m.d.sync += [one_bit.eq(came), strays.eq(strayed)]
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
            m.d.comb += self.refuse.eq(strays)
            with m.If(~self.refuse):
                m.d.sync += tail.eq(self.data)
        misplaced = beyond
        if self._config.address_windows:
            misplaced = beyond | self._outside(m, base, self.values.size)
        with m.If(self.write.control):
            m.d.comb += self.refuse.eq(self.data[0] & misplaced)
            with m.If(~self.refuse):
                m.d.sync += enable.eq(self.data[0])

        with m.If(self.advance):
            m.d.sync += head.eq((head + 1) & mask)
        with m.If(self.fail):
            m.d.sync += enable.eq(0)
        if self._writes:
            self._open(m, head, mask, self.write.size & at_rest & one_bit)
        return m

    def _open(self, m: Module, head: Value, mask: Value, empties: Value) -> None:
        """The entry that is begun next, and both phases. ``empties``: the ring begins again at its first entry."""
        last = Signal()             # the oldest open entry is the ring's last one
        phase, next_phase = Signal(init=1), Signal(init=1)
        m.d.comb += [self.phase.eq(phase), self.next_phase.eq(next_phase)]
        m.d.sync += last.eq(head == mask)
        with m.If(self.advance & last):
            m.d.sync += phase.eq(~phase)
        with m.If(self.back):
            m.d.sync += [self.next.eq(head), next_phase.eq(phase)]
        with m.Elif(self.begin):
            m.d.sync += [self.next.eq((self.next + 1) & mask), next_phase.eq(next_phase ^ (self.next == mask))]
        with m.If(empties):
            m.d.sync += [self.next.eq(0), phase.eq(1), next_phase.eq(1)]

    def _full(self, m: Module, tail: Value, mask: Value) -> Value:
        """Whether no place is free, or that is not known yet. The sum and the comparison take a cycle each, so for two
        cycles after an entry was begun the ring counts as full."""
        following = Signal(RING_INDEX_BITS, init=1)
        recent = Signal(2)
        m.d.sync += [
            following.eq((self.next + 1) & mask),
            self.full.eq(following == tail),
            recent.eq(Cat(self.begin | self.back, recent[0])),
        ]
        return self.full | recent.any()

    def _outside(self, m: Module, base: Value, size: Value) -> Signal:
        """Whether the ring is not inside the window, two cycles after any of its registers was written: before the bus
        can write again.

        Its end, base and size, is not computed: the window's limit is subtracted at once, and three numbers are two
        after one row of full adders. After a reset the registers say "outside" until the comparison is through.
        """
        page = WINDOW_BITS - _ALIGNMENT_BITS
        behind = ~Cat(Const(0, page), self.window.limit)
        size = Cat(size, Const(0, len(base) - len(size)))
        sums, carries = base ^ size ^ behind, (base & size) | (base & behind) | (size & behind)
        begins, ends = (part_carries(self.window.base, ~base[page:]),
                        part_carries(sums, Cat(Const(0, 1), carries[:-1])))
        before, after = (Signal(len(parts), init=(1 << len(parts)) - 1, name=name)
                         for name, parts in (("before", begins), ("after", ends)))
        over = Signal()
        outside = Signal(init=1)
        m.d.sync += [
            before.eq(begins), after.eq(ends), over.eq(carries[-1]),
            outside.eq(joined_carry(before) | (~self.window.unlimited & (over | joined_carry(after)))),
        ]
        return outside
