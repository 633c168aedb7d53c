"""Joins the line headers, bases and widths of a block to rows."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.coding import LINE_BYTES
from hdl.common.bits import length, thermometer
from hdl.common.row_fifo import RowFifo

__all__ = ["SECTIONS", "FactsPacker", "most_fact_rows"]

SECTIONS = 3
"""Line headers, bases, widths."""

WORDS = 8
"""Words of a row, in which the bytes are read."""


def most_fact_rows(beat_bytes: int, block_bytes: int) -> int:
    """Rows that the facts of a block take at most."""
    return -(-SECTIONS * (block_bytes // LINE_BYTES) // beat_bytes)


class FactsPacker(wiring.Component):
    """Keeps the bytes of a block by section while it comes, and joins the sections when it has ended.

    ::

                 +--------------------+   words   +--------+   +------+   +--------------+
        line --->| bytes, two blocks, |---------->| rotate |-->| held |-->| rows, memory |--> o
                 | by sections        |  n/8 bytes +--------+   +------+   +--------------+
                 +--------------------+

    A line has a byte for each section, or none. The bytes of two blocks have places in a memory (two memories for
    beats of 64 bytes, which write the bytes of a line in two cycles). A word of a section goes behind the bytes that
    are held; if a word is full then, it is written to its place of the row, and what is left is held. Bytes behind the
    last one of the block are 0.

    =====  ==========================================================================
    cycle  for a block of 32 lines, all with base and widths; 32 bytes a beat
    =====  ==========================================================================
    0      ``done``, ``final``: its last line; the byte of the header is written
    1, 2   the bytes of base and widths are written
    3      the first word is read, then one per cycle
    11     the first row is complete; ``o.valid`` in cycle 13
    27     all words have been read: ``joined`` (of 4 lines in cycle 3)
    =====  ==========================================================================

    Parameters
    ----------
    beat_bytes, block_bytes : int
        Bytes of a row, 32 or 64, and of a block at most.

    Members
    -------
    done : In(1)
        A line has ended; then none ends for as many cycles as a line has beats, and ``bytes`` stay.
    there : In(SECTIONS)
        Sections that the line has a byte for, with ``done``; it stays as well.
    bytes : In(ArrayLayout(8, SECTIONS))
        The byte for each section.
    final : In(1)
        It is the last line of its block; with ``done``.
    joined : Out(1)
        The bytes of a block have left the memory, or will within four cycles. While those of two blocks are in it, no
        line may end: the first one of a third block is done five cycles later at the earliest.
    o : Out(stream.Signature(8 * beat_bytes))
        Rows: the bytes of a block begin a row. A block without a byte has no row. What is behind the word of the last
        byte is undefined.

    Source: docs/formats.md, "Exponents".
    """

    o: stream.Interface

    def __init__(self, beat_bytes: int, block_bytes: int):
        self._beat_bytes = beat_bytes
        self._lines = block_bytes // LINE_BYTES
        self._rows = most_fact_rows(beat_bytes, block_bytes)
        super().__init__({
            "done": In(1), "there": In(SECTIONS), "bytes": In(data.ArrayLayout(8, SECTIONS)), "final": In(1),
            "joined": Out(1), "o": Out(stream.Signature(8 * beat_bytes)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = self._beat_bytes // WORDS
        address = data.StructLayout({"word": range(max(2, -(-self._lines // word))), "section": 2, "bank": 1})
        memories = []
        # The bytes of a line are written within its cycles: section k to memory k modulo their number.
        for k in range(-(-SECTIONS // (LINE_BYTES // self._beat_bytes))):
            m.submodules[f"bytes_{k}"] = memory = Memory(shape=8 * word, depth=1 << address.size, init=[])
            memories.append((memory.write_port(granularity=8), memory.read_port()))
        m.submodules.rows = rows = RowFifo(8 * self._beat_bytes, WORDS, 2 * self._rows + 3)
        wiring.connect(m, rows.o, wiring.flipped(self.o))
        # The block that is written, its bytes, and whether it has ended but is not read yet.
        bank, ended = Signal(), Signal()
        counts = Signal(data.ArrayLayout(range(self._lines + 1), SECTIONS))
        total = Signal.like(counts, name="total")
        closes, begins = Signal(), Signal()
        m.d.sync += [counts.eq(Mux(begins, 0, total)), ended.eq((closes | ended) & ~begins)]
        with m.If(begins):
            m.d.sync += bank.eq(~bank)
        self._write(m, [write for write, _ in memories], address, bank, counts, total, closes)
        came = self._read(m, [read for _, read in memories], rows, bank, total, closes | ended, begins)
        self._join(m, rows, *came)
        return m

    def _write(self, m: Module, ports: list[Any], address: data.StructLayout, bank: Signal, counts: Any,
               total: Any, closes: Signal) -> None:
        """Writes the bytes of a line, and counts them; whether its block ends with it."""
        low = exact_log2(self._beat_bytes // WORDS)
        steps = Signal(-(-SECTIONS // len(ports)))
        final, held = Signal(), Signal(reset_less=True)
        m.d.comb += [steps[0].eq(self.done), final.eq(Mux(self.done, self.final, held)),
                     closes.eq(steps[-1] & final)]
        m.d.sync += [steps[1:].eq(steps), held.eq(final)]
        m.d.comb += total.eq(counts)
        for section in range(SECTIONS):
            port, count = ports[section % len(ports)], counts[section]
            with m.If(steps[section // len(ports)] & self.there[section]):
                place = Signal(address, name=f"place_{section}")
                m.d.comb += [
                    place.bank.eq(bank), place.section.eq(section), place.word.eq(count >> low),
                    port.addr.eq(place), port.en.eq(1 << count[:low]),
                    port.data.eq(self.bytes[section].replicate(1 << low)),
                ]
                m.d.comb += total[section].eq(count + 1)

    def _read(self, m: Module, ports: list[Any], rows: RowFifo, bank: Signal, counts: Any, ended: Value,
              begins: Signal) -> tuple[Value, Signal, Signal, Signal]:
        """Reads the words of a block, in order: the word, which of its bytes count, whether there is one, and whether
        the block ends behind those before it."""
        word = self._beat_bytes // WORDS
        # The sections that are still to be read, the current one first.
        left = Signal.like(counts, name="left", reset_less=True)
        section, source = Signal(range(SECTIONS + 1)), Signal(reset_less=True)
        # A block is at hand; it is read once there is room for all its rows.
        active, started, reads = Signal(), Signal(), Signal()
        place = Signal(range(max(2, -(-self._lines // word))), reset_less=True)
        room, ends = Signal(), Signal()
        # A block of a word in each section is read in four cycles. No byte of another one comes as early as that.
        soon, was_soon = Signal(), Signal(reset_less=True)
        m.d.comb += [
            begins.eq(ended & ~active), reads.eq(active & (started | room)),
            ends.eq(reads & (section == SECTIONS)),
            soon.eq(reads & ~started & Cat(each <= word for each in left).all()),
            self.joined.eq(soon | (ends & ~was_soon)),
        ]
        with m.If(reads & ~started):
            m.d.sync += was_soon.eq(soon)
        # The last row of the block before may be missing in the level. There is a place for it.
        m.d.sync += [room.eq(rows.level <= self._rows), started.eq(reads & ~ends)]
        with m.If(begins):
            m.d.sync += [active.eq(1), left.eq(counts), source.eq(bank), section.eq(0), place.eq(0)]
        with m.Elif(ends):
            m.d.sync += active.eq(0)
        with m.Elif(reads & (left[0] <= word)):
            m.d.sync += [*(left[k].eq(left[k + 1]) for k in range(SECTIONS - 1)), left[-1].eq(0),
                         section.eq(section + 1), place.eq(0)]
        with m.Elif(reads):
            m.d.sync += [left[0].eq(left[0] - word), place.eq(place + 1)]
        for port in ports:
            m.d.comb += [port.addr.eq(Cat(place, section, source)), port.en.eq(reads)]
        kept, valid, end = Signal(word, reset_less=True), Signal(), Signal(reset_less=True)
        m.d.sync += [valid.eq(reads), end.eq(ends), kept.eq(Cat(thermometer(left[0], word)))]
        found: Value = ports[0].data
        if len(ports) > 1:
            second = Signal(reset_less=True)
            m.d.sync += second.eq(section[0])
            found = Mux(second, ports[1].data, ports[0].data)
        return found, kept, valid, end

    def _join(self, m: Module, rows: RowFifo, found: Value, kept: Signal, valid: Signal, end: Signal) -> None:
        """Puts the word behind the bytes that are held, and what is full into the row."""
        word = self._beat_bytes // WORDS
        held, fill = Signal(8 * word, reset_less=True), Signal(exact_log2(word))
        place = Signal(range(WORDS))
        total, emits = Signal(len(fill) + 1), Signal()
        came, joined = Signal(8 * word), Signal(8 * word)
        turned: Value = came
        for bit in range(len(fill)):
            turned = Mux(fill[bit], turned.rotate_left(8 << bit), turned)
        m.d.comb += [
            came.eq(Cat(found.word_select(k, 8) & (kept[k] & ~end).replicate(8) for k in range(word))),
            # The last byte is never held.
            joined.eq(Cat(*(Mux(fill > k, held.word_select(k, 8), turned.word_select(k, 8)) for k in range(word - 1)),
                          turned.word_select(word - 1, 8))),
            total.eq(fill + Mux(end, 0, length(kept))),
            emits.eq(valid & (total[-1] | (end & (fill != 0)))),
            rows.enable.eq(Mux(emits, 1 << place, 0)),
            rows.data.eq(joined.replicate(WORDS)),
            rows.commit.eq((emits & place.all()) | (valid & end & ((fill != 0) | (place != 0)))),
        ]
        with m.If(valid):
            m.d.sync += [held.eq(Mux(emits, turned, joined)), fill.eq(Mux(end, 0, total)),
                         place.eq(Mux(end, 0, place + emits))]
