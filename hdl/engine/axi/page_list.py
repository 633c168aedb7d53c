"""Reads page lists from link memory, ahead of the streams that need their pages."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from cdma.hdl.common.bits import thermometer
from cdma.hdl.common.counters import decreased, increased, joined_carry, part_carries
from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.engine.axi.bursts import MOST_BEATS, fault_layout
from cdma.hdl.engine.axi.pages import (
    LARGEST_PAGE,
    PAGE_SIZE_BITS,
    PAGES_BITS,
    SMALLEST_PAGE,
    Entry,
    entry_layout,
    window_layout,
)
from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.signature import axi_read

__all__ = ["ENTRY_BYTES", "PageList", "list_layout"]

ENTRY_BYTES = 8
"""Bytes of an entry of a page list."""

_CHUNK = 16         # entries that are read at a time
_KEPT = 2 * _CHUNK  # entries of a list that are kept


def list_layout(address_bits: int) -> data.StructLayout:
    """A page list: the ``address`` of its first entry, the number of its entries, ``pages``, and the ``size`` of a page
    as in :func:`cdma.hdl.engine.axi.pages.paging_layout`."""
    return data.StructLayout({"address": address_bits, "pages": PAGES_BITS, "size": PAGE_SIZE_BITS})


class PageList(wiring.Component):
    """Reads the entries of page lists, checks them, and gives those of the oldest list.

    ::

                 +-------------------+      +-----------+
        lists -->| what is left to   |----->| AxiReader |<--> axi
                 | read of each list |      +-----------+
                 +-------------------+            |
                           +-- FIFO of chunks --> | entry by entry
                                                  v
                                       [check] --> [memory] --> entries

    A list is read 16 entries at a time. When the stream of a list begins to use its second 16 entries, the next 16 are
    requested. The first entries of the lists behind the oldest one are read while that one is in use, so that a stream
    finds its pages when it begins. With pages of 4 KiB, 16 entries last for 64 KiB of the stream. The memory has this
    time to answer, and bursts that were requested before.

    Entries are checked when they arrive. One that is not good only counts when it is used. Behind the last entry of a
    list, ``entries`` shows one that is ``MISSING``; one that came with an error response is ``UNREAD``, and nothing
    more of its list is requested. Other lists go on, and an error in entries that no stream uses has no effect.

    Latency: an entry is valid 5 cycles after its beat was taken (6 if ``windowed``), and 3 cycles after the one before
    it was taken.

    Parameters
    ----------
    address_bits, beat_bytes : int
        Bits of an address, bytes of a beat.
    lists : int
        Lists that are kept at the same time, a power of two.
    most_beats : int
        Greatest number of beats of a burst, a power of two.
    windowed : bool
        Whether pages have to be inside a window.

    Members
    -------
    lists : In(stream.Signature(list_layout(address_bits)))
        Lists, in the order of their streams, each of one entry or more. They end within the address space.
    entries : Out(stream.Signature(entry_layout(address_bits)))
        Entries of the oldest list.
    done : In(1)
        The stream of the oldest list has all its pages: forget the list. ``entries`` must not be ready in this cycle.
    window : In(window_layout(address_bits))
        If ``windowed``: where pages may be, each with all of its bytes. It does not change while there is a list.
    axi : Out(axi_read(address_bits, beat_bytes))
        Link memory.
    stop : In(1)
        Begin no new burst.
    idle : Out(1)
        No burst is outstanding.
    busy : Out(1)
        Entries are being read, or are about to be, perhaps of a list that was forgotten.
    wanted : Out(1)
        There is a list.
    fault : Out(fault_layout(address_bits))
        The first error response to a read of the oldest list.
    """

    lists: stream.Interface
    entries: stream.Interface

    def __init__(self, address_bits: int, beat_bytes: int, lists: int, most_beats: int = MOST_BEATS,
                 windowed: bool = False):
        self._windowed = windowed
        self._most_beats = most_beats
        self._address_bits = address_bits
        self._beat_bytes = beat_bytes
        self._lists = lists
        super().__init__({
            "lists": In(stream.Signature(list_layout(address_bits))),
            "entries": Out(stream.Signature(entry_layout(address_bits))), "done": In(1),
            "axi": Out(axi_read(address_bits, beat_bytes)), "stop": In(1), "idle": Out(1), "busy": Out(1),
            "wanted": Out(1), "fault": Out(fault_layout(address_bits)),
            **({"window": In(window_layout(address_bits))} if windowed else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count, given = self._lists, self.lists.payload
        length_bits = exact_log2(_CHUNK * ENTRY_BYTES) + 1
        m.submodules.reader = reader = AxiReader(
            self._address_bits, self._beat_bytes, length_bits, count, self._most_beats, passes_errors=True)
        # Chunks that were requested: whose list they belong to, and whether it is still the same list.
        chunk_layout = data.StructLayout({"list": ceil_log2(count), "turn": 1})
        m.submodules.chunks = chunks = StreamFifo(chunk_layout, count + 1)
        wiring.connect(m, reader.axi, wiring.flipped(self.axi))
        m.d.comb += [reader.stop.eq(self.stop), self.idle.eq(reader.idle)]

        # By list: whether it is there, which one it is, what is left to read of it, entries that were requested, that
        # came, and that were used; whether an error came, and the first one.
        record = data.StructLayout({"address": self._address_bits, "left": PAGES_BITS, "asked": range(2 * _KEPT)})
        there, turn = Signal(count), Signal(count)
        size = [Signal(given.size.shape(), name=f"size_{k}", reset_less=True) for k in range(count)]
        records = [Signal(record, name=f"record_{k}", reset_less=True) for k in range(count)]
        came, used = ([Signal(range(2 * _KEPT), name=f"{name}_{k}", reset_less=True) for k in range(count)]
                      for name in ("came", "used"))
        failed = Signal(count)
        causes = [Signal(self.fault.shape(), name=f"cause_{k}", reset_less=True) for k in range(count)]
        oldest, newest = (Signal(range(max(count, 2)), name=name) for name in ("oldest", "newest"))
        begins = Signal()
        m.d.comb += [
            self.lists.ready.eq(~there.bit_select(newest, 1)), self.wanted.eq(there.any()),
            begins.eq(self.lists.valid & self.lists.ready),
            self.fault.eq(Array(Value.cast(each) for each in causes)[oldest]),
            self.fault.valid.eq((there & failed).bit_select(oldest, 1)),
        ]
        self._ask(m, reader, chunks, there & ~failed, turn, records, used, oldest)
        with m.If(reader.o.valid & reader.fault.valid):
            for number, cause in enumerate(causes):
                with m.If((chunks.o.payload.list == number) & there[number] & ~failed[number]
                          & (turn[number] == chunks.o.payload.turn)):
                    m.d.sync += [failed[number].eq(1), cause.eq(reader.fault)]
        self._give(m, self._take(m, reader, chunks, there, turn, size, came), there, records, came, used, oldest)
        for number in range(count):
            with m.If(begins & (newest == number)):
                m.d.sync += [
                    there[number].eq(1), turn[number].eq(~turn[number]), size[number].eq(given.size),
                    records[number].address.eq(given.address), records[number].left.eq(given.pages),
                    records[number].asked.eq(0), came[number].eq(0), used[number].eq(0), failed[number].eq(0),
                ]
            with m.Elif(self.done & (oldest == number)):
                m.d.sync += there[number].eq(0)
        with m.If(begins):
            m.d.sync += newest.eq(self._after(newest))
        with m.If(self.done):
            m.d.sync += oldest.eq(self._after(oldest))
        return m

    def _after(self, number: Value) -> Value:
        """The list behind this one."""
        return (number + 1)[:len(number)] if self._lists > 1 else Const(0, 1)

    def _ask(self, m: Module, reader: AxiReader, chunks: StreamFifo, wanted: Value, turn: Signal,
             records: list[data.View], used: list[Signal], oldest: Signal) -> None:
        """Requests the next chunk of the oldest list that is wanted, has one left and a place for it."""
        count = self._lists
        # A list of which nothing was used has its first entries only; so many places are free that it can have more.
        needs = Signal(count)
        m.d.sync += needs.eq(Cat(
            wanted[k] & records[k].left.any() & ((records[k].asked - used[k])[:len(used[k])] <= _KEPT - _CHUNK)
            for k in range(count)))
        chosen = Signal(range(max(count, 2)), reset_less=True)
        same = Signal(reset_less=True)
        work = Signal.like(Value.cast(records[0]), reset_less=True)
        record = data.View(records[0].shape(), work)
        after = Signal(records[0].shape(), reset_less=True)
        number = Signal(range(_CHUNK + 1))
        whole = record.left[exact_log2(_CHUNK):].any()
        chunk_bytes = exact_log2(_CHUNK * ENTRY_BYTES)
        m.d.comb += [
            number.eq(Mux(whole, _CHUNK, record.left[:exact_log2(_CHUNK)])),
            reader.i.payload.address.eq(record.address),
            reader.i.payload.bytes.eq(number * ENTRY_BYTES),
            chunks.i.payload.list.eq(chosen), chunks.i.payload.turn.eq(same),
        ]
        with m.FSM() as fsm:
            m.d.comb += self.busy.eq((chunks.level != 0) | ~fsm.ongoing("look"))
            with m.State("look"):
                with m.Switch(oldest):
                    for first in range(count):
                        with m.Case(first):
                            for k in reversed([(first + k) % count for k in range(count)]):
                                with m.If(needs[k]):
                                    m.d.sync += chosen.eq(k)
                with m.If(needs.any() & ~self.stop):
                    m.next = "load"
            with m.State("load"):
                m.d.sync += [work.eq(Array(Value.cast(each) for each in records)[chosen]),
                             same.eq(turn.bit_select(chosen, 1))]
                m.next = "ask"
            with m.State("ask"):
                m.d.comb += [
                    reader.i.valid.eq(chunks.i.ready), chunks.i.valid.eq(reader.i.valid & reader.i.ready),
                ]
                m.d.sync += [
                    after.address.eq(Cat(record.address[:chunk_bytes], increased(record.address[chunk_bytes:]))),
                    after.left.eq(Mux(whole, Cat(record.left[:exact_log2(_CHUNK)],
                                                 decreased(record.left[exact_log2(_CHUNK):])), 0)),
                    after.asked.eq(record.asked + number),
                ]
                with m.If(self.stop):
                    m.next = "look"
                with m.Elif(chunks.i.valid):
                    m.next = "store"
            with m.State("store"):
                for k, each in enumerate(records):
                    with m.If((chosen == k) & (turn[k] == same)):
                        m.d.sync += each.eq(after)
                # What it needs is known again one cycle later.
                m.next = "settle"
            with m.State("settle"):
                m.next = "look"

    def _take(self, m: Module, reader: AxiReader, chunks: StreamFifo, there: Signal, turn: Signal,
              size: list[Signal], came: list[Signal]) -> Memory:
        """Takes beats apart into entries, checks and stores these; returns their memory."""
        words = self._beat_bytes // ENTRY_BYTES
        entry = entry_layout(self._address_bits)
        m.submodules.memory = memory = Memory(shape=entry, depth=self._lists * _KEPT, init=[])
        write = memory.write_port()
        beat, chunk = reader.o.payload, chunks.o.payload
        word = Signal(range(words))
        ends = Signal()
        raw, unread = Signal(8 * ENTRY_BYTES, reset_less=True), Signal(reset_less=True)
        valid, owner = Signal(), Signal(chunk.shape(), reset_less=True)
        kept = Cat(beat.keep[ENTRY_BYTES * k] for k in range(1, words)) if words > 1 else Const(0, 1)
        m.d.comb += [
            ends.eq((word == words - 1) | ~kept.bit_select(word, 1)),
            reader.o.ready.eq(ends),
            chunks.o.ready.eq(reader.o.valid & ends & beat.last),
        ]
        m.d.sync += [valid.eq(reader.o.valid), raw.eq(beat.data.word_select(word, 8 * ENTRY_BYTES)), owner.eq(chunk),
                     unread.eq(reader.fault.valid)]
        with m.If(reader.o.valid):
            m.d.sync += word.eq(Mux(ends, 0, word + 1))

        page_bits = LARGEST_PAGE - SMALLEST_PAGE
        inside = thermometer(Array(size)[owner.list], page_bits)
        misaligned = raw[:SMALLEST_PAGE].any() | (raw[SMALLEST_PAGE:LARGEST_PAGE] & inside).any()
        checked = Signal(entry)
        m.d.comb += [
            checked.page.eq(raw[SMALLEST_PAGE:self._address_bits]),
            checked.state.eq(Mux(unread, Entry.UNREAD, Mux(raw[self._address_bits:].any(), Entry.OUTSIDE, Mux(
                misaligned, Entry.MISALIGNED, Entry.GOOD)))),
        ]
        if self._windowed:
            checked, valid, owner = self._confined(m, checked, inside, valid, owner)
        m.d.comb += [
            write.addr.eq(Cat(Value.cast(Array(came)[owner.list])[:exact_log2(_KEPT)], owner.list)),
            write.data.eq(checked),
            write.en.eq(valid & there.bit_select(owner.list, 1) & (turn.bit_select(owner.list, 1) == owner.turn)),
        ]
        for k, each in enumerate(came):
            with m.If(write.en & (owner.list == k)):
                m.d.sync += each.eq(each + 1)
        return memory

    def _confined(self, m: Module, entry: data.View, inside: Value, valid: Signal, owner: Signal
                  ) -> tuple[Signal, Signal, Signal]:
        """The same entry one cycle later, compared with the window: its first 4 KiB with the base, its last ones with
        the limit. ``inside``: bits of the page's number that are a place in the page."""
        last = Cat(entry.page[:len(inside)] | inside, entry.page[len(inside):])
        later, confined = Signal(entry.shape(), name="later", reset_less=True), Signal(entry.shape())
        later_valid, later_owner = Signal(), Signal(owner.shape(), reset_less=True)
        begins, ends = part_carries(entry.page, ~self.window.base), part_carries(self.window.limit, ~last)
        before, behind = (Signal(len(parts), name=name, reset_less=True)
                          for name, parts in (("before", begins), ("behind", ends)))
        m.d.sync += [later.eq(entry), later_valid.eq(valid), later_owner.eq(owner), before.eq(begins), behind.eq(ends)]
        fits = joined_carry(before, 1) & (joined_carry(behind) | self.window.unlimited)
        m.d.comb += confined.eq(later)
        with m.If((later.state == Entry.GOOD) & ~fits):
            m.d.comb += confined.state.eq(Entry.OUTSIDE)
        return confined, later_valid, later_owner

    def _give(self, m: Module, memory: Memory, there: Signal, records: list[data.View], came: list[Signal],
              used: list[Signal], oldest: Signal) -> None:
        """Shows the entries of the oldest list, one by one."""
        read = memory.read_port(transparent_for=())
        place, arrived = Value.cast(Array(used)[oldest]), Value.cast(Array(came)[oldest])
        record = Array(records)[oldest]
        missing = Signal()      # there is no entry to show
        m.d.comb += [
            read.addr.eq(Cat(place[:exact_log2(_KEPT)], oldest[:ceil_log2(self._lists)])),
            self.entries.payload.page.eq(read.data.page),
            self.entries.payload.state.eq(Mux(missing, Entry.MISSING, read.data.state)),
            read.en.eq(0),
        ]
        with m.FSM():
            with m.State("look"):
                m.d.sync += missing.eq(0)
                with m.If(there.bit_select(oldest, 1) & ~self.done):
                    with m.If(place != arrived):
                        m.d.comb += read.en.eq(1)
                        m.next = "show"
                    with m.Elif((record.asked == place) & ~record.left.any()):
                        m.d.sync += missing.eq(1)
                        m.next = "show"
            with m.State("show"):
                m.d.comb += self.entries.valid.eq(1)
                with m.If(self.done):
                    m.next = "look"
                with m.Elif(self.entries.ready):
                    for k, each in enumerate(used):
                        with m.If(oldest == k):
                            m.d.sync += each.eq(each + 1)
                    m.next = "look"
