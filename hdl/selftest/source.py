"""Test data: elements of a chosen density, or lines of a dump."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.coding import element_layout, one_hot_element, select
from cdma.hdl.codec.packets import coded_beat_stream

__all__ = ["DUMP", "ITEMS", "Noise", "Source"]

DUMP = 9
"""The item that sends the lines of the dump; the items below are densities, 0 to 8 eighths."""

ITEMS = DUMP + 1
"""How many items there are."""

_DRAWN = 0b1000_0011
_EXPONENT = 0b0011_1100
"""Of the last byte of a value whose exponent is close to others: the bits that are noise, and the others."""


def _seed(word: int) -> int:
    """The seed of a word: never zero, and far from the seeds of the words beside it."""
    return 0x9E3779B9 * (2 * word + 1) & 0xFFFFFFFF


class Noise(wiring.Component):
    """Words of 32 bits, each from a xorshift generator that makes a new word per step.

    ::

        [word 0] <-- shift and xor --+        word ^= word << 13; word ^= word >> 17; word ^= word << 5
        [word 1] <-- shift and xor --+

    Parameters
    ----------
    words : int
        How many.

    Members
    -------
    restart : In(1)
        All words go back to their seeds.
    step : In(1)
        All words advance.
    bits : Out(32 * words)
        The words, word 0 first.

    Source: Marsaglia, Xorshift RNGs, Journal of Statistical Software 8 (2003), 14.
    """

    def __init__(self, words: int):
        self._words = words
        super().__init__({"restart": In(1), "step": In(1), "bits": Out(32 * words)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = [Signal(32, name=f"word_{k}", init=_seed(k)) for k in range(self._words)]
        m.d.comb += self.bits.eq(Cat(words))
        for k, word in enumerate(words):
            with m.If(self.restart):
                m.d.sync += word.eq(_seed(k))
            with m.Elif(self.step):
                m.d.sync += word.eq(_stepped(word))
        return m


def _stepped(word: Value) -> Value:
    first = (word ^ (word << 13))[:32]
    second = first ^ (first >> 17)
    return (second ^ (second << 5))[:32]


class Source(wiring.Component):
    """Sends one packet per start: generated data like activations after a ReLU, or the lines of a dump.

    ::

        noise --> [words] --> zero or not --+
                                            +--> [output] --> o
        address --> [block RAM] ------------+

    An element of the generated data is zero with the chosen density: three bits of noise, those of its first byte, are
    compared with the density in eighths. The others are noise, with their lowest bit set so that none is zero by
    chance. If they are ``floats``, of 2 or 4 bytes, their exponents are noise between 120 and 127, close to each other
    as those of activations are. Every start begins with the same noise.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.
    raw_bytes : int
        Bytes of a packet of generated data: a multiple of a line.
    lines : bytes
        The lines of the dump: at least one, and whole ones.

    Members
    -------
    start : In(1)
        Begin a packet, and drop one that is under way; what follows must hold until the next start.
    item : In(range(ITEMS))
        Density in eighths, or ``DUMP``.
    element : In(3)
        Element size in bytes.
    floats : In(1)
        The generated data are floating-point values.
    o : Out(coded_beat_stream(beat_bytes))
        The packet: one beat per cycle.
    """

    o: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], raw_bytes: int, lines: bytes):
        self._beat_bytes = beat_bytes
        self._sizes = tuple(sorted(sizes))
        self._beats = raw_bytes // beat_bytes
        self._rows = [int.from_bytes(lines[at:at + beat_bytes], "little") for at in range(0, len(lines), beat_bytes)]
        super().__init__({
            "start": In(1), "item": In(range(ITEMS)), "element": In(3), "floats": In(1),
            "o": Out(coded_beat_stream(beat_bytes)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self._beat_bytes
        m.submodules.noise = noise = Noise(-(-(8 + 3) * n // 32))
        m.submodules.lines = lines = memory.Memory(shape=8 * n, depth=len(self._rows), init=self._rows)
        row = lines.read_port()

        moves = Signal()
        fetching, fetched = Signal(), Signal()
        final, final_fetched = Signal(), Signal()
        behind = Signal(range(max(self._beats, len(self._rows))))
        plays = Signal()
        element = Signal(element_layout(self._sizes))
        m.d.comb += [
            element.eq(one_hot_element(self.element, self._sizes)),
            plays.eq(self.item == DUMP),
            moves.eq(~self.o.valid | self.o.ready),
            final.eq(behind == 0),
            row.en.eq(moves),
            noise.restart.eq(self.start),
            noise.step.eq(moves & fetched),
            self.o.payload.keep.eq(Const(1).replicate(n)),
            self.o.payload.element.eq(self.element),
        ]
        with m.If(self.start):
            m.d.sync += [
                fetching.eq(1), fetched.eq(0), self.o.valid.eq(0), row.addr.eq(0),
                behind.eq(Mux(plays, len(self._rows) - 1, self._beats - 1)),
            ]
        with m.Elif(moves):
            m.d.sync += [
                fetching.eq(fetching & ~final),
                fetched.eq(fetching),
                final_fetched.eq(final),
                row.addr.eq(row.addr + 1),
                behind.eq(behind - 1),
                self.o.valid.eq(fetched),
                self.o.payload.data.eq(Mux(plays, row.data, self._generated(noise.bits, element))),
                self.o.payload.last.eq(final_fetched),
            ]
        return m

    def _generated(self, noise: Value, element: data.View) -> Value:
        n = self._beat_bytes
        values, draws = noise[:8 * n], noise[8 * n:]
        alive = [draws.word_select(byte, 3) < self.item for byte in range(n)]

        def value(byte: int, size: int) -> Value:
            drawn = values.word_select(byte, 8)
            upper = size > 1 and byte % size == size - 1
            return Mux(self.floats, drawn & _DRAWN | _EXPONENT, drawn) if upper else drawn

        def beat(size: int) -> Value:
            return Cat(value(byte, size) & alive[byte - byte % size].replicate(8) | (
                alive[byte] if byte % size == 0 else 0) for byte in range(n))

        return select(element, {size: beat(size) for size in self._sizes})
