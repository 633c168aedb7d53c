"""A FIFO whose rows are written part by part."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.common.protected import memory_of, protection

__all__ = ["RowFifo"]


class RowFifo(wiring.Component):
    """Rows that are written in parts, each with its own write enable, and read whole, in order.

    ::

        enable, data --> [ memory: rows ] --> o
        commit --------> the open row may be read; the next one is open

    No register holds the open row: parts are written where they will be read. A part that is written again takes its
    last value, one that is not written is undefined. There is no ``ready`` on this side: who writes looks at ``level``.

    =====  =====================================================================
    cycle  for a row that is committed in cycle 0, in an empty FIFO
    =====  =====================================================================
    0      ``commit``; its last parts may be written in this cycle
    1      ``level`` is 1; parts are written to the row after it
    2      ``o.valid``
    =====  =====================================================================

    Throughput: a row per cycle.

    Parameters
    ----------
    width : int
        Bits of a row.
    parts : int
        Parts of a row, all of the same width.
    depth : int
        Rows of the memory, at least 2: one is open, and the others are committed. Once more than ``depth`` rows would
        be committed and not yet taken, rows are overwritten.
    protected : bool, optional
        With parity: the first write of a row then writes all of its parts, so that all have the parity of their data.

    Members
    -------
    enable : In(parts)
        Parts of the open row that are written.
    data : In(width)
        What is written.
    commit : In(1)
        The open row is complete with this cycle.
    o : Out(stream.Signature(width))
        Rows. ``o.payload`` is the memory's output register.
    level : Out(range(depth + 1))
        Rows that are committed and not yet taken.
    inject, bad
        If ``protected``: as :func:`cdma.hdl.common.protected.protection` says.
    """

    o: stream.Interface

    def __init__(self, width: int, parts: int, depth: int, protected: bool = False):
        self._protected = protected
        self._width = width
        self._parts = parts
        self._depth = depth
        super().__init__({"enable": In(parts), "data": In(width), "commit": In(1),
                          "o": Out(stream.Signature(width)),
                          "level": Out(range(depth + 1)), **protection(protected)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        opened, oldest = Signal(range(self._depth)), Signal(range(self._depth))
        # Committed rows in the memory; one more may be in its output register.
        inside = Signal(range(self._depth))
        shown, reads = Signal(), Signal()
        m.d.comb += [
            reads.eq((inside != 0) & (~shown | self.o.ready)),
            self.o.valid.eq(shown),
            self.level.eq(inside + shown),
        ]
        m.d.sync += [inside.eq(inside + self.commit - reads), shown.eq(reads | (shown & ~self.o.ready))]
        with m.If(self.commit):
            m.d.sync += opened.eq(self._after(opened))
        with m.If(reads):
            m.d.sync += oldest.eq(self._after(oldest))
        m.submodules.memory = memory = memory_of(self._width, self._depth, self._protected, self._parts)
        write, read = memory.write_port(granularity=self._width // self._parts), memory.read_port()
        enable: Value = self.enable
        if self._protected:
            fresh = Signal(init=1)      # nothing of the open row has been written
            m.d.sync += fresh.eq(self.commit | (fresh & ~enable.any()))
            m.d.comb += [memory.inject.eq(self.inject), memory.check.eq(shown.replicate(self._parts)),
                         self.bad.eq(memory.bad)]
            enable = enable | (fresh & enable.any()).replicate(self._parts)
        m.d.comb += [
            write.en.eq(enable), write.data.eq(self.data), write.addr.eq(opened),
            read.en.eq(reads), read.addr.eq(oldest), self.o.payload.eq(read.data),
        ]
        return m

    def _after(self, row: Signal) -> Value:
        """The row behind this one."""
        return Mux(row == self._depth - 1, 0, row + 1)
