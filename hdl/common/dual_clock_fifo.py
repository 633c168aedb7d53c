"""A FIFO between two clock domains."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.common.synchronizer import Synchronizer

__all__ = ["DualClockFifo", "GrayCount", "TakenRow"]

_SHALLOW = 32


class GrayCount(wiring.Component):
    """Counts, and gives its count as Gray code too, from a register.

    Constraints name that register, ``gray``; so it is a module of its own.

    Parameters
    ----------
    domain : str
        Clock domain.
    bits : int
        Of the count.

    Members
    -------
    moves : In(1)
        Counts in this cycle.
    clear : In(1)
        Makes it 0. The reset of the domain does not.
    count, gray : Out(bits)
        The count, and its Gray code.
    """

    def __init__(self, domain: str, bits: int):
        self._domain = domain
        super().__init__({"moves": In(1), "clear": In(1), "count": Out(bits), "gray": Out(bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(len(self.count), reset_less=True)
        gray = Signal(len(self.gray), reset_less=True)
        after = Signal(len(self.count))
        m.d.comb += [after.eq(Mux(self.clear, 0, count + self.moves)), self.count.eq(count), self.gray.eq(gray)]
        m.d[self._domain] += [count.eq(after), gray.eq(after ^ (after >> 1))]
        return m


class TakenRow(wiring.Component):
    """Takes a row that another clock domain has written, when it does not change any more.

    Constraints name the register, ``row``; so it is a module of its own.

    Parameters
    ----------
    domain : str
        Clock domain of the register.
    width : int
        Bits of a row.

    Members
    -------
    data : In(width)
        The row, from the memory.
    takes : In(1)
        Takes it in this cycle.
    row : Out(width)
        What was taken last.
    """

    def __init__(self, domain: str, width: int):
        self._domain = domain
        super().__init__({"data": In(width), "takes": In(1), "row": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row = Signal(len(self.row), reset_less=True)
        with m.If(self.takes):
            m.d[self._domain] += row.eq(self.data)
        m.d.comb += self.row.eq(row)
        return m


class DualClockFifo(wiring.Component):
    """First in, first out, written with one clock and read with another, whatever their frequencies are.

    ::

                          writes  |  reads
        i --> [rows] -----------------------> [out] --> o
        written --> [gray] --> [to_read: 2 registers] --> is a row there?
        is there room? <-- [to_write: 2 registers] <-- [gray] <-- taken

    Places are counted with one bit more than a row's number has, and passed on as Gray code: only one bit changes at a
    time, so a count that is sampled while it changes is the old or the new one. A row is read only when its count has
    arrived, and it has not changed since.

    Latency: one cycle of the writer, and 3 to 4 of the reader. With 16 rows a transfer passes in every cycle of the
    slower clock, whichever it is.

    **Clearing.** A count that is reset jumps, and Gray code does not protect jumps. So no reset of a domain reaches the
    FIFO: ``i_clear`` and ``o_clear`` do, and who uses it makes sure that a side is cleared only while the other one is
    not used, and used only when both have been: see :class:`cdma.hdl.common.crossing_reset.CrossingReset`. Amaranth's
    FIFO has an asynchronous reset from the writer instead, and does not empty when the reader is reset.

    More than 32 rows are in a memory whose read port has the reader's clock, as block RAM has; fewer are in LUTs or
    registers, and ``out`` takes them into the reader's domain.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Rows of the memory, a power of two from 4 on. One more is in the register.
    writes, reads : str
        Clock domains of ``i`` and of ``o``.

    Members
    -------
    i, o : stream.Signature(shape)
        In and out, each in its domain.
    i_clear, o_clear : In(1)
        Empties the FIFO, each in the domain of its side.

    Source: Cummings, Simulation and Synthesis Techniques for Asynchronous FIFO Design (SNUG 2002).
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike, depth: int, *, writes: str, reads: str):
        if exact_log2(depth) < 2:
            raise ValueError(f"depth must be a power of two from 4 on, not {depth}")
        self._shape = shape
        self._depth = depth
        self._domains = writes, reads
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape)),
                          "i_clear": In(1), "o_clear": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        writes_in, reads_in = self._domains
        bits = exact_log2(self._depth) + 1
        m.submodules.written = written = GrayCount(writes_in, bits)
        m.submodules.taken = taken = GrayCount(reads_in, bits)
        m.submodules.to_read = to_read = Synchronizer(reads_in, bits)
        m.submodules.to_write = to_write = Synchronizer(writes_in, bits)
        writes, reads, shown = Signal(), Signal(), Signal(reset_less=True)
        m.d.comb += [
            to_read.i.eq(written.gray), to_write.i.eq(taken.gray),
            written.moves.eq(writes), written.clear.eq(self.i_clear), taken.moves.eq(reads),
            taken.clear.eq(self.o_clear),
            # The reader is a whole round behind: the two highest bits of the codes differ, and no other.
            self.i.ready.eq(written.gray != Cat(to_write.o[:-2], ~to_write.o[-2:])),
            writes.eq(self.i.valid & self.i.ready),
            reads.eq((to_read.o != taken.gray) & (~shown | self.o.ready)),
            self.o.valid.eq(shown),
        ]
        m.d[reads_in] += shown.eq(~self.o_clear & (reads | (shown & ~self.o.ready)))

        shallow = self._depth <= _SHALLOW
        width = Shape.cast(self._shape).width
        m.submodules.rows = rows = Memory(shape=width, depth=self._depth, init=[],
                                          attrs={"ram_style": "distributed"} if shallow else {})
        write = rows.write_port(domain=writes_in)
        read = rows.read_port(domain="comb" if shallow else reads_in)
        m.d.comb += [
            write.en.eq(writes), write.addr.eq(written.count), write.data.eq(Value.cast(self.i.payload)),
            read.addr.eq(taken.count),
        ]
        if shallow:
            m.submodules.out = out = TakenRow(reads_in, width)
            m.d.comb += [out.data.eq(read.data), out.takes.eq(reads), Value.cast(self.o.payload).eq(out.row)]
        else:
            m.d.comb += [read.en.eq(reads), Value.cast(self.o.payload).eq(read.data)]
        return m
