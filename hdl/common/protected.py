"""Memories whose words carry parity: what was changed while it was stored is found when it is read."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Shape, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cdma.hdl.common.fifo import StreamFifo

__all__ = ["ParityCheck", "ProtectedFifo", "ProtectedMemory", "memory_of", "protection", "stream_fifo"]

_WORD = 32
"""Bits for each bit of parity in memories that are written by whole rows."""

_PIECE = 9
"""Bits that are added up in the cycle in which a memory shows them: a byte and its parity, where there is one."""


def protection(built: bool, memories: int = 1) -> dict[str, wiring.Member]:
    """Members of a unit with protected memories, none if they are not ``built``.

    ``inject``: a bit for each memory: of the row that is read next and used, a bit is changed. ``bad``: a row with an
    error was read. It is high two cycles after the read, and longer while the row stays at the output of its memory.
    """
    return {"inject": In(memories), "bad": Out(1)} if built else {}


def _parities(width: int) -> int:
    """Bits of parity of so many bits that are written together."""
    return -(-width // _WORD)


def _groups(value: Value) -> list[Value]:
    """The bits that each bit of parity is for: neighbours belong to different ones."""
    count = _parities(len(value))
    return [value[first::count] for first in range(count)]


class ParityCheck(wiring.Component):
    """Compares parts of a row with their parity, in two cycles.

    ::

        data, parity --> [sums of up to 9 bits] --> [register] --> sum of each group, any of them --> bad

    Members
    -------
    data, parity : In
        The row, and the bits of parity of each part, in the order of the parts.
    check : In(parts)
        The row at ``data`` is used: these parts of it.
    bad : Out(1)
        In the cycle after: a part had an error.
    """

    def __init__(self, width: int, parts: int):
        self._part = width // parts
        super().__init__({"data": In(width), "parity": In(parts * _parities(self._part)), "check": In(parts),
                          "bad": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        wrong: list[Value] = []
        checked = Signal.like(self.check, name="checked")
        m.d.sync += checked.eq(self.check)
        count = _parities(self._part)
        for part in range(len(self.check)):
            groups = _groups(self.data.word_select(part, self._part))
            for number, group in enumerate(groups):
                bits = Cat(group, self.parity[part * count + number])
                pieces = [bits[first:first + _PIECE] for first in range(0, len(bits), _PIECE)]
                sums = Signal(len(pieces), name=f"sums_{part}_{number}", reset_less=True)
                m.d.sync += sums.eq(Cat(piece.xor() for piece in pieces))
                wrong.append(sums.xor() & checked[part])
        m.d.comb += self.bad.eq(Cat(wrong).any())
        return m


class ProtectedMemory(wiring.Component):
    """A memory with one port to write and one to read, and parity.

    ::

        write --> [parity] --> [memory: data and parity] --> [error to inject] --+--> read
                                                                                 +--> [check] --> bad

    A part of a row that has its own write enable has its own parity: a bit for each 32 bits, or fewer that it has. Bit
    ``k`` of ``n`` is the sum of bits ``k``, ``k + n``, ``k + 2 n`` ... of the part, so ``n`` neighbours that change
    together are found. It is even: bits and their parity have an even number of ones.

    Parameters
    ----------
    shape : ShapeLike
        A row.
    depth : int
        Rows.
    parts : int, optional
        Parts of a row that are written apart, all of the same width.
    attrs : dict, optional
        Its attributes for synthesis.

    Members
    -------
    write : In({en, addr, data}), read : In({en, addr, data})
        As the ports of :class:`amaranth.lib.memory.Memory`: ``write.en`` has a bit for each part.
    check : In(parts)
        What ``read.data`` shows in this cycle is used: these parts of it.
    inject : In(1)
        The lowest bit of each part is changed in the row that is read next and of which a part is checked.
    bad : Out(1)
        In the cycle after ``check``: a part had an error.
    """

    def __init__(self, shape: ShapeLike, depth: int, parts: int = 1, attrs: dict[str, str] | None = None):
        self._attrs = attrs
        self._width, self._depth, self._parts = Shape.cast(shape).width, depth, parts
        address = ceil_log2(depth)
        super().__init__({
            "write": In(wiring.Signature({"en": Out(parts), "addr": Out(address), "data": Out(shape)})),
            "read": In(wiring.Signature({"en": Out(1), "addr": Out(address), "data": In(shape)})),
            "check": In(parts), **protection(True),
        })

    def write_port(self, *, granularity: int | None = None) -> Any:
        """The port ``write``; ``granularity``, if given, is the width of a part."""
        assert granularity in (None, self._width // self._parts), "parts are those that the memory was made with"
        return self.write

    def read_port(self) -> Any:
        """The port ``read``."""
        return self.read

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part = self._width // self._parts
        each = part + _parities(part)
        m.submodules.rows = memory = Memory(shape=self._parts * each, depth=self._depth, init=[], attrs=self._attrs)
        into, out = memory.write_port(granularity=each), memory.read_port()
        m.submodules.check = check = ParityCheck(self._width, self._parts)
        armed, hit = Signal(), Signal()
        m.d.sync += armed.eq(self.inject | (armed & ~(hit & self.check.any())))
        with m.If(self.read.en):
            m.d.sync += hit.eq(armed & ~(hit & self.check.any()))
        whole = Value.cast(self.write.data)
        words = [out.data.word_select(number, each) for number in range(self._parts)]
        stored: list[Value] = []
        for number in range(self._parts):
            data = whole.word_select(number, part)
            stored += [data, *(group.xor() for group in _groups(data))]
        m.d.comb += [
            into.en.eq(self.write.en), into.addr.eq(self.write.addr), into.data.eq(Cat(stored)),
            out.en.eq(self.read.en), out.addr.eq(self.read.addr),
            Value.cast(self.read.data).eq(Cat(row[:part] ^ hit for row in words)),
            check.data.eq(Value.cast(self.read.data)), check.parity.eq(Cat(row[part:] for row in words)),
            check.check.eq(self.check), self.bad.eq(check.bad),
        ]
        return m


class ProtectedFifo(wiring.Component):
    """As :class:`cdma.hdl.common.fifo.StreamFifo`, and each transfer has parity.

    Members
    -------
    i, o, level
        As those of :class:`cdma.hdl.common.fifo.StreamFifo`.
    inject, bad
        As :func:`protection` says; ``bad`` is high in the cycle after the transfer is at ``o``. What waits there stays.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike, depth: int):
        self._width, self._depth = Shape.cast(shape).width, depth
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape)),
                          "level": Out(range(depth + 2)), **protection(True)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = self._width
        m.submodules.fifo = fifo = StreamFifo(width + _parities(width), self._depth)
        m.submodules.check = check = ParityCheck(width, 1)
        data = Signal(width)
        armed, hit, shown = Signal(), Signal(), Signal(width)
        m.d.sync += armed.eq(self.inject | (armed & ~(hit & fifo.o.valid)))
        with m.If(~fifo.o.valid | self.o.ready):
            m.d.sync += hit.eq(armed & ~(hit & fifo.o.valid))
        m.d.comb += [
            data.eq(Value.cast(self.i.payload)),
            shown.eq(fifo.o.payload[:width] ^ hit),
            fifo.i.payload.eq(Cat(data, *(group.xor() for group in _groups(data)))),
            fifo.i.valid.eq(self.i.valid), self.i.ready.eq(fifo.i.ready),
            Value.cast(self.o.payload).eq(shown),
            self.o.valid.eq(fifo.o.valid), fifo.o.ready.eq(self.o.ready), self.level.eq(fifo.level),
            check.data.eq(shown), check.parity.eq(fifo.o.payload[width:]),
            check.check.eq(fifo.o.valid), self.bad.eq(check.bad),
        ]
        return m


def stream_fifo(shape: ShapeLike, depth: int, protected: bool) -> StreamFifo | ProtectedFifo:
    """A FIFO, with or without parity."""
    return ProtectedFifo(shape, depth) if protected else StreamFifo(shape, depth)


def memory_of(shape: ShapeLike, depth: int, protected: bool, parts: int = 1,
              attrs: dict[str, str] | None = None) -> Any:
    """A memory, with or without parity; ports as those of :class:`amaranth.lib.memory.Memory`."""
    if protected:
        return ProtectedMemory(shape, depth, parts, attrs)
    return Memory(shape=shape, depth=depth, init=[], attrs=attrs)
