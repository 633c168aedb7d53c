"""Page lists: the addresses of the pages that a stream is read from, or written to."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.common.bits import thermometer
from cdma.hdl.engine.axi.bursts import BurstSplitter, burst_layout

__all__ = ["LARGEST_PAGE", "PAGES_BITS", "PAGE_SIZE_BITS", "SMALLEST_PAGE", "Entry", "PageTranslator", "entry_layout",
           "pages_port", "paging_layout", "translated", "window_layout"]

SMALLEST_PAGE, LARGEST_PAGE = 12, 21
"""Logarithms of the page sizes: 4 KiB and 2 MiB."""


PAGE_SIZE_BITS = 4
"""Bits of a page size: the logarithm of its number of 4 KiB."""

PAGES_BITS = 40 - SMALLEST_PAGE
"""Bits of the number of entries of a list: enough pages of 4 KiB for the longest stream."""


class Entry(enum.Enum, shape=3):
    """What an entry of a page list is good for."""

    GOOD = 0
    """The address of a page."""
    MISALIGNED = 1
    """Its address is not a multiple of the page size."""
    OUTSIDE = 2
    """Its page is not within the addresses that were built, or not inside the window."""
    MISSING = 3
    """The list ended before it."""
    UNREAD = 4
    """Memory answered with an error before it came."""


def entry_layout(address_bits: int) -> data.StructLayout:
    """A checked entry of a page list: the number of its first 4 KiB, and what it is good for."""
    return data.StructLayout({"page": address_bits - SMALLEST_PAGE, "state": Entry})


def window_layout(address_bits: int) -> data.StructLayout:
    """The part of a memory that may be accessed, in units of 4 KiB: from ``base`` to before ``limit``; ``unlimited``:
    to the end of the address space.

    A range of addresses is inside if its first unit is at least ``base``, and its last unit is below ``limit`` or
    the window is unlimited. :func:`cdma.hdl.common.counters.part_carries` compares such numbers in two cycles.
    ``unlimited`` follows ``limit`` one cycle later: it belongs to the second of them.
    """
    units = address_bits - SMALLEST_PAGE
    return data.StructLayout({"base": units, "limit": units, "unlimited": 1})


def paging_layout() -> data.StructLayout:
    """How the bytes of a stream are found: ``listed``, from a page list whose pages have ``4 KiB << size``; otherwise
    from one address on. ``final``: the request is the last one of its stream."""
    return data.StructLayout({"listed": 1, "size": PAGE_SIZE_BITS, "final": 1})


def pages_port(address_bits: int) -> wiring.Signature:
    """What a master needs to read or write streams in pages.

    ``paging`` belongs to the request at the master's ``i``, whose address is a place in the stream if it is ``listed``.
    ``entries`` are the pages of listed streams; ``done`` is high for one cycle when the last burst of such a stream has
    its address. ``bad``: the entry that is needed next, for the page that begins at ``place`` of the stream, is not
    good; no burst begins then.
    """
    return wiring.Signature({
        "paging": In(paging_layout()), "entries": In(stream.Signature(entry_layout(address_bits))), "done": Out(1),
        "bad": Out(Entry), "place": Out(address_bits)})


class PageTranslator(wiring.Component):
    """Gives the bursts of a stream in pages their addresses.

    ::

                                       +----------+
        i (place in the stream) ------>| page,    |---> o (address)
        entries (address of a page) -->| register |
                                       +----------+

    The bursts of a stream in pages count from address 0 and do not cross 4 KiB. One that begins a page takes the next
    entry; the ones behind it are in the same page. All other bursts pass unchanged.

    Latency: 1 cycle, and longer while there is no entry. Throughput: one burst every 2 cycles.

    Parameters
    ----------
    address_bits, beat_bytes : int
        Bits of an address, bytes of a beat.

    Members
    -------
    i : In(stream.Signature(burst_layout(address_bits, beat_bytes)))
        Bursts of streams, in order.
    pages : Out(pages_port(address_bits))
        ``paging`` is that of the request which the burst at ``i`` belongs to. ``entries`` has the pages of a stream, in
        order; one is taken for each page that is begun.
    o : Out(stream.Signature(burst_layout(address_bits, beat_bytes)))
        The same bursts; all outputs are registered.
    begin : In(1)
        Another burst may be valid at ``o`` in the next cycle.
    drop : In(1)
        Discard bursts, except one that is already valid at ``o``.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, address_bits: int, beat_bytes: int):
        burst = burst_layout(address_bits, beat_bytes)
        super().__init__({
            "i": In(stream.Signature(burst)), "pages": Out(pages_port(address_bits)), "o": Out(stream.Signature(burst)),
            "begin": In(1), "drop": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pages = self.pages
        burst, paging, entry = self.i.payload, pages.paging, pages.entries.payload
        given = Signal.like(burst, reset_less=True)
        held = Signal()
        page = Signal(entry.page.shape(), reset_less=True)
        bad = Signal(Entry)
        ended = Signal()
        # Bits of the address, from bit 12 on, that are a place in the page.
        inside = Signal(LARGEST_PAGE - SMALLEST_PAGE)
        fresh, needs, moves = Signal(), Signal(), Signal()
        upper = burst.address[SMALLEST_PAGE:]
        found = Value.cast(Mux(fresh, entry.page, page))
        width = len(inside)
        m.d.comb += [
            inside.eq(thermometer(paging.size, width)),
            fresh.eq(~burst.address[:SMALLEST_PAGE].any() & ~(upper[:width] & inside).any()),
            needs.eq(paging.listed & fresh),
            moves.eq(self.i.valid & ~held & self.begin & ~self.drop & (bad == Entry.GOOD)
                     & (~needs | (pages.entries.valid & (entry.state == Entry.GOOD)))),
            self.i.ready.eq(moves | self.drop),
            pages.entries.ready.eq(moves & needs),
            self.o.valid.eq(held),
            self.o.payload.eq(given),
            pages.bad.eq(bad),
            pages.place.eq(burst.address),
            pages.done.eq(ended),
        ]
        m.d.sync += [held.eq(moves | (held & ~self.o.ready)),
                     ended.eq(moves & paging.listed & paging.final & burst.last)]
        with m.If(moves):
            m.d.sync += given.eq(burst)
            with m.If(paging.listed):
                m.d.sync += given.address[SMALLEST_PAGE:].eq(
                    Cat((upper[:width] & inside) | (found[:width] & ~inside), found[width:]))
            with m.If(needs):
                m.d.sync += page.eq(entry.page)
        with m.If(self.i.valid & ~held & needs & pages.entries.valid & ~self.drop & (bad == Entry.GOOD)):
            m.d.sync += bad.eq(entry.state)
        return m


def translated(m: Module, splitter: BurstSplitter, master: wiring.Component) -> PageTranslator:
    """Adds a translator behind the splitter of a master that has :func:`pages_port` as ``pages``.

    Its ``o``, ``begin`` and ``drop`` take the place of the splitter's.
    """
    pages, request, burst = master.pages, master.i, splitter.o.payload
    translator = PageTranslator(len(burst.address), 1 << len(burst.tail))
    m.submodules.translator = translator
    # The splitter has one request at a time.
    paging = Signal(paging_layout(), reset_less=True)
    with m.If(request.valid & request.ready):
        m.d.sync += paging.eq(pages.paging)
    wiring.connect(m, splitter.o, translator.i)
    wiring.connect(m, wiring.flipped(pages.entries), translator.pages.entries)
    m.d.comb += [
        translator.pages.paging.eq(paging), pages.done.eq(translator.pages.done), pages.bad.eq(translator.pages.bad),
        pages.place.eq(translator.pages.place),
        splitter.begin.eq(1), splitter.drop.eq(translator.drop),
    ]
    return translator
