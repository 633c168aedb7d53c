"""One test: sends data through both cores, compares the result with the input, and counts."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cdma.hdl.codec.lines.compressor import Compressor
from cdma.hdl.codec.lines.decompressor import Decompressor
from cdma.hdl.codec.packets import ErrorCode, coded_beat_layout
from cdma.hdl.common.bits import length
from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.selftest.config import CoresTestConfig
from cdma.hdl.selftest.source import ITEMS, Source

__all__ = ["Trial", "patience"]

_FIFO_BEATS = 31


def patience(beats: int) -> int:
    """Bits of the counter that ends a test: it counts at least four times the cycles that the beats take."""
    return ceil_log2(4 * beats + 1024)


class Trial(wiring.Component):
    """Sends a packet through compressor and decompressor and compares the result with the input.

    ::

        source --> compressor --> flip --> FIFO --> decompressor --> compare --> passed
                 |              fault         |                   |     ^
               cycles                    packed bytes         raw bytes |
                                                                     source, a second time

    The input is generated a second time for the comparison, so the latency of the cores does not matter. A test passes
    if every byte, the end of the packet and the decompressor's error code are right. A test that does not end in time
    fails. After a test that failed the cores are held in reset until the next one.

    Parameters
    ----------
    config : CoresTestConfig
        What to build.
    lines : bytes
        The lines of the dump.

    Members
    -------
    start : In(1)
        Begin a test. ``item``, ``group`` and ``fault`` must hold until it is done.
    item : In(range(ITEMS))
        As for :class:`~cdma.hdl.selftest.source.Source`.
    group : In(range(len(config.element_bits)))
        Which of the element sizes.
    fault : In(1)
        Flip the first bit of the packed packet, which is of a tag: no such packet decodes to what went in.
    done : Out(1)
        One cycle, at the end of a test; what follows is valid until the next start.
    passed : Out(1)
        The data came back unchanged.
    raw, packed : Out
        Bytes that came out of the decompressor and that went into it.
    cycles : Out
        From the first beat into the compressor to the last beat out of the decompressor, both counted.
    """

    items = ITEMS
    counts = ("raw", "packed", "cycles")
    failure: tuple[str, ...] = ()

    def __init__(self, config: CoresTestConfig, lines: bytes):
        self.heading = f"beats of {config.beat_bytes} bytes"
        self.groups = tuple(f"{bits}bit" for bits in config.element_bits)
        self._config = config
        self._lines = lines
        self._patience = patience(max(config.raw_bytes, len(lines)) // config.beat_bytes)
        # No unit gives more than one beat per cycle.
        widest = (config.beat_bytes << self._patience) + 1
        super().__init__({
            "start": In(1), "item": In(range(ITEMS)), "group": In(range(max(2, len(self.groups)))), "fault": In(1),
            "done": Out(1), "passed": Out(1),
            "raw": Out(range(widest)), "packed": Out(range(widest)), "cycles": Out(self._patience + 1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        n, sizes = config.beat_bytes, config.element_bytes
        clear = Signal()
        element = Signal(3)
        m.d.comb += element.eq(Array(config.element_bytes)[self.group])
        source, again = (Source(n, sizes, config.raw_bytes, self._lines) for _ in range(2))
        compressor = Compressor(n, sizes, config.pipeline)
        fifo = StreamFifo(coded_beat_layout(n), _FIFO_BEATS)
        decompressor = Decompressor(n, sizes, config.pipeline)
        m.submodules.source, m.submodules.again = source, again
        for name, part in {"compressor": compressor, "fifo": fifo, "decompressor": decompressor}.items():
            m.submodules[name] = ResetInserter(clear)(part)
        for each in (source, again):
            m.d.comb += [each.start.eq(self.start), each.item.eq(self.item), each.element.eq(element)]

        wiring.connect(m, source.o, compressor.i)
        wiring.connect(m, fifo.o, decompressor.i)
        first = Signal(init=1)
        packed: stream.Interface = compressor.o
        m.d.comb += [
            fifo.i.valid.eq(packed.valid),
            packed.ready.eq(fifo.i.ready),
            fifo.i.payload.data.eq(packed.payload.data ^ (self.fault & first)),
            fifo.i.payload.keep.eq(packed.payload.keep),
            fifo.i.payload.last.eq(packed.payload.last),
            fifo.i.payload.element.eq(element),
        ]
        with m.If(packed.valid & packed.ready):
            m.d.sync += first.eq(0)

        # Both sides of the comparison are registered.
        out, wanted = decompressor.o, again.o
        came, ends = Signal(), Signal()
        seen, right = Signal(8 * n, reset_less=True), Signal(8 * n, reset_less=True)
        odd = Signal()
        m.d.comb += [out.ready.eq(1), wanted.ready.eq(out.valid)]
        m.d.sync += [
            came.eq(out.valid),
            ends.eq(out.valid & out.payload.last),
            seen.eq(out.payload.data),
            right.eq(wanted.payload.data),
            odd.eq(~wanted.valid | (out.payload.last != wanted.payload.last) | (out.payload.last & (
                ~out.payload.keep.all() | (decompressor.error.code != ErrorCode.OK)))),
        ]
        differing = Signal(n)
        finished = Signal()
        running = Signal()
        wrong = Signal()
        late = Signal()
        age = Signal(self._patience + 1)
        m.d.comb += late.eq(age[-1])
        m.d.sync += [
            differing.eq(Cat(seen.word_select(k, 8) != right.word_select(k, 8) for k in range(n))
                         & came.replicate(n)),
            finished.eq(ends),
            wrong.eq(wrong | (came & odd) | differing.any()),
            self.done.eq(0),
        ]

        counting = Signal()
        with m.If(source.o.valid & source.o.ready):
            m.d.sync += counting.eq(1)
        with m.If(out.valid & out.payload.last):
            m.d.sync += counting.eq(0)
        with m.If(counting | (source.o.valid & source.o.ready)):
            m.d.sync += self.cycles.eq(self.cycles + 1)
        with m.If(fifo.o.valid & fifo.o.ready):
            m.d.sync += self.packed.eq(self.packed + Mux(fifo.o.payload.last, length(fifo.o.payload.keep), n))
        with m.If(out.valid):
            m.d.sync += self.raw.eq(self.raw + Mux(out.payload.last, length(out.payload.keep), n))

        with m.If(self.start):
            m.d.sync += [running.eq(1), clear.eq(0), first.eq(1), age.eq(0), wrong.eq(0), counting.eq(0),
                         self.cycles.eq(0), self.packed.eq(0), self.raw.eq(0)]
        with m.Elif(running):
            m.d.sync += age.eq(age + 1)
            with m.If(finished | late):
                right_in_time = finished & ~wrong & ~differing.any()
                m.d.sync += [running.eq(0), self.done.eq(1), self.passed.eq(right_in_time), clear.eq(~right_in_time)]
        return m
