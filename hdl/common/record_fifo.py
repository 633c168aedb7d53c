"""Records of what is in progress: a FIFO in a memory of words, or wires if only one thing is."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Shape, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cdma.hdl.common.sram import LEAST_BITS

__all__ = ["WORD_BITS", "RecordFifo", "load_words", "word_memory"]

WORD_BITS = 32
"""Bits of a row of a memory that keeps records."""


def word_memory(width: int, most: int) -> tuple[Memory, int]:
    """A memory for records that are written and read word by word, and the bits of the address of a word in a record.

    The upper bits of an address are the record's place. A memory that is too small for a macro would be built of
    registers, which take more area than rows that are not used. On an FPGA it is in LUTs: an engine has six of them,
    and none would fill an eighth of a block RAM.

    Parameters
    ----------
    width : int
        Bits of a record.
    most : int
        Records it holds.
    """
    word_bits = ceil_log2(-(-width // WORD_BITS))
    rows = max(1 << (word_bits + ceil_log2(most)), LEAST_BITS // WORD_BITS)
    return Memory(shape=WORD_BITS, depth=rows, init=[], attrs={"ram_style": "distributed"}), word_bits


def load_words(m: Module, target: Value, start: int, word: Value, content: Value) -> None:
    """Loads a part of a record, one word after the other.

    Parameters
    ----------
    m : Module
        Where the statements go.
    target : Value
        Bits of the record from bit ``start`` on.
    start : int
        Where they begin.
    word, content : Value
        A word of the record: its number, and what it contains.
    """
    for number in range(start // WORD_BITS, -(-(start + len(target)) // WORD_BITS)):
        below = WORD_BITS * number
        first, end = max(start, below), min(start + len(target), below + WORD_BITS)
        with m.If(word == number):
            m.d.sync += target[first - start:end - start].eq(content[first - below:end - below])


class RecordFifo(wiring.Component):
    """Keeps records in order, in a memory of words; the oldest one is in a register.

    ::

        i -+--> word by word --> [memory] --> word by word --+--> [oldest] --> o
           +---------------- if there is none ---------------+

    Of records of ``n`` words, an only one passes in one cycle, and one behind others is written in ``n`` cycles. The
    next one is there ``n + 2`` cycles after the oldest was taken.

    Parameters
    ----------
    layout : data.StructLayout
        Of a record.
    most : int
        Records at the same time at most. A single one is not stored: ``i.payload`` must not change until it was taken.

    Members
    -------
    i : In(stream.Signature(layout))
        Records; there is always a place for one. With ``most`` = 1, ``ready`` is always high.
    o : Out(stream.Signature(layout))
        The same, one cycle later at least.
    keep : In(1)
        No further record comes: ``o.payload`` stays as it is, though it was taken. It is high from the cycle after that
        on; of a single record, ``i.payload`` must not change as long.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, layout: data.StructLayout, most: int):
        self._layout = layout
        self._most = most
        super().__init__({"i": In(stream.Signature(layout)), "o": Out(stream.Signature(layout)), "keep": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        there = Signal()
        m.d.comb += self.o.valid.eq(there)
        with m.If(self.o.ready):
            m.d.sync += there.eq(0)
        if self._most == 1:
            m.d.comb += [self.i.ready.eq(1), self.o.payload.eq(self.i.payload)]
            with m.If(self.i.valid):
                m.d.sync += there.eq(1)
            return m
        width = Shape.cast(self._layout).width
        words = -(-width // WORD_BITS)
        memory, word_bits = word_memory(width, self._most)
        m.submodules.memory = memory
        write, read = memory.write_port(), memory.read_port()
        place_bits = ceil_log2(memory.depth) - word_bits
        given, taken = (Signal(place_bits, name=name) for name in ("given", "taken"))     # places
        level = Signal(place_bits + 1)          # records in the memory
        writes_word, reads_word, comes_word = (
            Signal(range(max(words, 2)), name=name) for name in ("writes_word", "reads_word", "comes_word"))
        passes, writes, stored, reads, fetched, comes, lands = (Signal(name=name) for name in (
            "passes", "writes", "stored", "reads", "fetched", "comes", "lands"))
        oldest = Signal(width, reset_less=True)
        record = Signal(words * WORD_BITS)
        m.d.comb += [
            Value.cast(self.o.payload).eq(oldest), record.eq(Value.cast(self.i.payload)),
            passes.eq(self.i.valid & ~there & ~self.keep & (level == 0) & ~comes & (writes_word == 0)),
            writes.eq(self.i.valid & ~passes), stored.eq(writes & (writes_word == words - 1)),
            self.i.ready.eq(passes | stored),
            write.en.eq(writes), write.addr.eq(Cat(writes_word[:word_bits], given)),
            write.data.eq(record.word_select(writes_word, WORD_BITS)),
            lands.eq(comes & (comes_word == words - 1)),
            reads.eq((level != 0) & ~there & ~lands & ~self.keep), fetched.eq(reads & (reads_word == words - 1)),
            read.en.eq(reads), read.addr.eq(Cat(reads_word[:word_bits], taken)),
        ]
        m.d.sync += [comes.eq(reads), level.eq(level + stored - fetched), comes_word.eq(reads_word)]
        for word, moves, done, place in ((writes_word, writes, stored, given), (reads_word, reads, fetched, taken)):
            with m.If(moves):
                m.d.sync += word.eq(word + 1)
            with m.If(done):
                m.d.sync += [word.eq(0), place.eq(place + 1)]
        with m.If(passes):
            m.d.sync += oldest.eq(Value.cast(self.i.payload))
        with m.Elif(comes):
            load_words(m, oldest, 0, comes_word, read.data)
        with m.If(passes | lands):
            m.d.sync += there.eq(1)
        return m
