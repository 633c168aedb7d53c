"""Pseudo-random words, the same after every restart."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Noise", "seed"]


def seed(word: int) -> int:
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
        words = [Signal(32, name=f"word_{k}", init=seed(k)) for k in range(self._words)]
        m.d.comb += self.bits.eq(Cat(words))
        for k, word in enumerate(words):
            with m.If(self.restart):
                m.d.sync += word.eq(seed(k))
            with m.Elif(self.step):
                m.d.sync += word.eq(_stepped(word))
        return m


def _stepped(word: Value) -> Value:
    first = (word ^ (word << 13))[:32]
    second = first ^ (first >> 17)
    return (second ^ (second << 5))[:32]
