"""A queue of descriptors or completions in one memory of 32-bit words."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.engine.control.descriptor import RECORD_WORDS

__all__ = ["RecordQueue", "record_port"]

_WORD_BITS = exact_log2(RECORD_WORDS)


def record_port() -> wiring.Signature:
    """The port that writes records, as the writer has it.

    ``write`` stores ``data`` as word ``word`` of the record after the newest one. ``push``, in the cycle of the last
    word, adds that record to the queue.
    """
    return wiring.Signature({"write": Out(1), "word": Out(_WORD_BITS), "data": Out(32), "push": Out(1)})


class RecordQueue(wiring.Component):
    """A FIFO of records of 16 words; the words of a record are written and read in any order.

    ::

        i --> [memory, synchronous read] --> data
                 ^ tail           ^ head, word

    Parameters
    ----------
    depth : int
        Records it holds, a power of two.

    Members
    -------
    i : In(record_port())
        New records; none may be pushed while the queue is full.
    word : In(4)
        Number of the word of the oldest record to read.
    data : Out(32)
        That word, in the next cycle.
    pop : In(1)
        Removes the oldest record.
    level : Out(range(depth + 1))
        Records in the queue.
    head, tail : Out(range(depth))
        Place of the oldest record, and of the next record to be pushed.
    """

    def __init__(self, depth: int):
        self._depth = depth
        super().__init__({
            "i": In(record_port()), "word": In(_WORD_BITS), "data": Out(32), "pop": In(1),
            "level": Out(range(depth + 1)), "head": Out(range(depth)), "tail": Out(range(depth)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=32, depth=RECORD_WORDS * self._depth, init=[])
        write, read = memory.write_port(), memory.read_port()
        m.d.comb += [
            write.en.eq(self.i.write),
            write.addr.eq(Cat(self.i.word, self.tail)),
            write.data.eq(self.i.data),
            read.en.eq(1),
            read.addr.eq(Cat(self.word, self.head)),
            self.data.eq(read.data),
        ]
        change = Signal(2)
        m.d.comb += change.eq(Cat(self.i.push, self.pop))
        with m.If(self.i.push):
            m.d.sync += self.tail.eq(self.tail + 1)
        with m.If(self.pop):
            m.d.sync += self.head.eq(self.head + 1)
        with m.Switch(change):
            with m.Case(1):
                m.d.sync += self.level.eq(self.level + 1)
            with m.Case(2):
                m.d.sync += self.level.eq(self.level - 1)
        return m
