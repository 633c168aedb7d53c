"""Fills the memories of the engine's self-test, disturbs the stream in one, and compares what came back."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from cdma.hdl.common.bits import ones, thermometer
from cdma.hdl.selftest.axi_memory import local_port
from cdma.hdl.selftest.config import EngineTestConfig
from cdma.hdl.selftest.program import Action
from cdma.hdl.selftest.source import ITEMS, Source

__all__ = ["PLACES", "Pattern"]

PLACES = 12, 332
"""Bytes of the stream of which a bit is flipped: one in the first block's metadata, one in its data."""


class Pattern(wiring.Component):
    """Writes and reads the memories past their AXI ports, beat by beat of the source's data.

    ::

        source --+--> FILL: the data to the source's place in device memory, their inverse to the destination
                 |          and to link memory; elements that are not zero --> nonzero
                 +--> COMPARE: the destination must hold the data up to `raw_bytes`, and the inverse behind
        FLIP: a bit in link memory

    A beat takes two cycles. The first half of device memory is the tensor's place before the transfers, the second half
    is where prefetch writes it. The inverse shows what the engine has written and what not.

    Parameters
    ----------
    config : EngineTestConfig
        What to build.
    lines : bytes
        The lines of the dump.

    Members
    -------
    action : In(Action)
        FILL, FLIP or COMPARE.
    go : In(1)
        Begin it; what follows must hold until it is done.
    item, element, floats : In
        As for :class:`~cdma.hdl.selftest.source.Source`.
    raw_bytes : In(range(config.raw_bytes + 1))
        Bytes of the tensor.
    place : In(1)
        Which of :data:`PLACES` is flipped.
    outside : In(1)
        Compare only what is behind the tensor.
    done : Out(1)
        One cycle, at the end; with it:
    wrong : Out(range(...))
        Beats of the comparison that were wrong.
    nonzero : Out(range(config.raw_bytes + 1))
        Elements of the tensor that are not zero, from FILL on.
    device0, device1, ..., link : Out(local_port(...))
        The memories: one for each lane, and that of the link.
    """

    def __init__(self, config: EngineTestConfig, lines: bytes):
        self._config = config
        self._lines = lines
        n = config.beat_bytes
        self._room = (1 << ceil_log2(config.raw_bytes)) // n
        self._beats = max(config.raw_bytes, len(lines)) // n
        super().__init__({
            "action": In(Action), "go": In(1), "item": In(range(ITEMS)), "element": In(3), "floats": In(1),
            "raw_bytes": In(range(config.raw_bytes + 1)), "place": In(1), "outside": In(1),
            "done": Out(1), "wrong": Out(range(self._beats + 1)), "nonzero": Out(range(config.raw_bytes + 1)),
            **{f"device{lane}": Out(local_port(2 * self._room // config.lanes, n)) for lane in range(config.lanes)},
            "link": Out(local_port(-(-config.capacity // n), n)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        n, sizes = config.beat_bytes, config.element_bytes
        shift = exact_log2(n)
        m.submodules.source = source = Source(n, sizes, config.raw_bytes, self._lines)
        m.d.comb += [
            source.start.eq(self.go), source.item.eq(self.item), source.element.eq(self.element),
            source.floats.eq(self.floats),
        ]
        beat = source.o
        row = Signal(range(self._room))
        left = Signal(range(config.raw_bytes + 1))
        mine = Signal(n)
        inverse = Signal(8 * n)
        wanted = Signal(8 * n)
        m.d.comb += [
            mine.eq(thermometer(left[:shift], n) | (left[shift:] != 0).replicate(n)),
            inverse.eq(~beat.payload.data),
            wanted.eq(beat.payload.data ^ Cat((~kept).replicate(8) for kept in mine)),
        ]
        # The two places of device memory, and the memory of the lane to which a block belongs.
        upper = Signal()
        writes, written = Signal(n), Signal(8 * n)
        block, others = exact_log2(config.block_bytes // n), exact_log2(config.lanes)
        lane = row[block:block + others]
        devices = [getattr(self, f"device{k}") for k in range(config.lanes)]
        use = Signal()
        for k, device in enumerate(devices):
            chosen = lane == k if others else 1
            m.d.comb += [
                device.use.eq(use), device.row.eq(Cat(row[:block], row[block + others:], upper)),
                device.write.eq(Mux(chosen, writes, 0)), device.write_data.eq(written),
            ]
        found = Array(device.read_data for device in devices)[lane] if others else devices[0].read_data

        changed = Signal(range(max(2, len(PLACES))))
        m.d.comb += changed.eq(self.place)
        flips = Array((1 << place % n) for place in PLACES)[changed]
        m.d.comb += [self.link.use.eq(use), self.link.row.eq(row)]

        alive, present = Signal(n), Signal()
        differing = Signal(n)
        compared = Signal()
        m.d.sync += [present.eq(0), compared.eq(0), self.done.eq(0)]
        with m.If(present):
            m.d.sync += self.nonzero.eq(self.nonzero + ones(alive))
        with m.If(compared):
            m.d.sync += self.wrong.eq(self.wrong + differing.any())

        def advance() -> None:
            m.d.sync += [row.eq(row + 1), left.eq(Mux(left[shift:] != 0, left - n, 0)), upper.eq(0)]

        with m.FSM():
            with m.State("idle"):
                with m.If(self.go):
                    m.d.sync += [row.eq(0), upper.eq(0), left.eq(self.raw_bytes), self.wrong.eq(0)]
                    with m.Switch(self.action):
                        with m.Case(Action.FILL):
                            m.d.sync += self.nonzero.eq(0)
                            m.next = "fill"
                        with m.Case(Action.COMPARE):
                            m.d.sync += upper.eq(1)
                            m.next = "read"
                        with m.Default():
                            m.d.sync += row.eq(Array(place // n for place in PLACES)[changed])
                            m.next = "flip"
            with m.State("fill"):
                m.d.comb += [use.eq(1), written.eq(Mux(upper, inverse, beat.payload.data)),
                             writes.eq(beat.valid.replicate(n)), self.link.write_data.eq(inverse),
                             self.link.write.eq((beat.valid & upper).replicate(n)), beat.ready.eq(upper)]
                with m.If(beat.valid & ~upper):
                    m.d.sync += [upper.eq(1), present.eq(1), alive.eq(self._alive(beat.payload.data, mine, sizes))]
                with m.If(beat.valid & upper):
                    advance()
                    with m.If(beat.payload.last):
                        m.d.sync += self.done.eq(1)
                        m.next = "idle"
            with m.State("read"):
                m.d.comb += use.eq(1)
                with m.If(beat.valid):
                    m.next = "compare"
            with m.State("compare"):
                m.d.comb += beat.ready.eq(1)
                m.d.sync += [
                    compared.eq(1),
                    differing.eq(Cat(found.word_select(k, 8) != wanted.word_select(k, 8) for k in range(n))
                                 & ~(mine & self.outside.replicate(n))),
                ]
                advance()
                m.d.sync += upper.eq(1)
                m.next = "read"
                with m.If(beat.payload.last):
                    m.next = "last"
            with m.State("last"):
                m.d.sync += self.done.eq(1)
                m.next = "idle"
            with m.State("flip"):
                m.d.comb += use.eq(1)
                m.next = "flipped"
            with m.State("flipped"):
                m.d.comb += [use.eq(1), self.link.write.eq(flips),
                             self.link.write_data.eq(Cat(self.link.read_data.word_select(k, 8) ^ 1 for k in range(n)))]
                m.d.sync += self.done.eq(1)
                m.next = "idle"
        return m

    def _alive(self, beat: Value, mine: Value, sizes: tuple[int, ...]) -> Value:
        """A bit for each element of the tensor that is not zero, at its first byte."""
        used = [beat.word_select(k, 8).any() & mine[k] for k in range(len(mine))]
        result: Value = Value.cast(0)
        for size in sizes:
            bits = Cat(Cat(used[k:k + size]).any() if k % size == 0 else 0 for k in range(len(mine)))
            result = result | Mux(self.element == size, bits, 0)
        return result

