"""A queue of descriptors or completions in one memory of 32-bit words."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.engine.control.descriptor import RECORD_WORDS

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

    With ``ahead``, records are read before they are removed: ``data`` is a word of the record at a place of its own,
    that of the oldest record until ``step``. Not all records may be read ahead when the queue is full.

    Parameters
    ----------
    depth : int
        Records it holds, a power of two.
    ahead : bool
        Whether records are read ahead.

    Members
    -------
    i : In(record_port())
        New records; none may be pushed while the queue is full.
    word : In(4)
        Number of the word to read, of the oldest record; with ``ahead``, of the one that is read.
    data : Out(32)
        That word, in the next cycle.
    pop : In(1)
        Removes the oldest record.
    level : Out(range(depth + 1))
        Records in the queue.
    head, tail : Out(range(depth))
        Place of the oldest record, and of the next record to be pushed.
    step, back : In(1)
        With ``ahead``: read the next record; read the oldest one again. Not both; ``back`` not together with ``pop``,
        ``step`` only if the record that is removed was read.
    """

    def __init__(self, depth: int, ahead: bool = False):
        self._depth = depth
        self._ahead = ahead
        super().__init__({
            "i": In(record_port()), "word": In(_WORD_BITS), "data": Out(32), "pop": In(1),
            "level": Out(range(depth + 1)), "head": Out(range(depth)), "tail": Out(range(depth)),
            **({"step": In(1), "back": In(1)} if ahead else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=32, depth=RECORD_WORDS * self._depth, init=[])
        write, read = memory.write_port(), memory.read_port()
        place = self._place(m) if self._ahead else self.head
        m.d.comb += [
            write.en.eq(self.i.write),
            write.addr.eq(Cat(self.i.word, self.tail)),
            write.data.eq(self.i.data),
            read.en.eq(1),
            read.addr.eq(Cat(self.word, place)),
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

    def _place(self, m: Module) -> Signal:
        """The place of the record that is read: the oldest, or one behind it."""
        place = Signal.like(self.head, name="place")
        with m.If(self.back):
            m.d.sync += place.eq(self.head)
        with m.Elif(self.step | (self.pop & (place == self.head))):
            m.d.sync += place.eq(place + 1)
        return place
