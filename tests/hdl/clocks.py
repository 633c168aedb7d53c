"""Designs with two unrelated clocks, on Amaranth's simulator: jitter, a clock that stands, and bits that come late."""

from __future__ import annotations

import random
from typing import Any

from amaranth.hdl import Cat, ClockDomain, Elaboratable, Module, Mux, Signal

from cdma.hdl.common.synchronizer import Synchronizer
from tests.hdl.memories import WrongCollisions

__all__ = ["FAR_HALF", "RATIOS", "FarClock", "LateBits", "TwoClocks"]

RATIOS = (0.23, 0.97, 4.3)
"""Frequencies of the other clock, relative to that of ``sync``."""

FAR_HALF = 0.5e-6
"""Seconds of half a period of ``sync``."""

_NOISE_BITS = 64


class LateBits(WrongCollisions):
    """A platform whose synchronisers are as bad as hardware's: each bit that changes may come a cycle late.

    Bits that change together come apart. A design that takes several of them for one value, and relies on more than
    Gray code, fails.
    """

    def __init__(self, seed: str):
        super().__init__()
        self._rng = random.Random(seed)

    def get_synchronizer(self, synchronizer: Synchronizer) -> Module:
        """A synchroniser whose first register may take the value of a cycle ago, bit by bit."""
        m = Module()
        width = len(synchronizer.i)
        noise = Signal(_NOISE_BITS, init=self._rng.getrandbits(_NOISE_BITS) | 1, reset_less=True)
        before = Signal(width, reset_less=True)
        # xorshift: a full period of 2^64 - 1.
        first, second = Signal(_NOISE_BITS), Signal(_NOISE_BITS)
        m.d.comb += [first.eq(noise ^ (noise << 13)), second.eq(first ^ (first >> 7))]
        m.d[synchronizer.domain] += [noise.eq(Mux(noise == 0, 1, second ^ (second << 17))), before.eq(synchronizer.i)]
        late = noise[20:20 + width]
        m.submodules.stages = synchronizer.stages(Cat(
            Mux(each, old, new) for each, old, new in zip(late, before, synchronizer.i, strict=True)))
        return m


class TwoClocks(Elaboratable):
    """A design with the other clock domain, ``link``, whose clock and reset a test drives."""

    def __init__(self, dut: Any):
        self._dut = dut
        self.far = ClockDomain("link")
        self.near = ClockDomain("sync")

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.link = self.far
        m.domains.sync = self.near
        m.submodules.dut = self._dut
        return m


class FarClock:
    """Drives the clock of ``link``.

    Parameters
    ----------
    design : TwoClocks
        Whose clock it is.
    ratio : float
        Its frequency, relative to that of ``sync``.
    rng : random.Random
        Source of the jitter: a tenth of half a period.
    """

    def __init__(self, design: TwoClocks, ratio: float, rng: random.Random):
        self._design, self._half, self._rng = design, FAR_HALF / ratio, rng
        self.stands = False

    async def run(self, ctx: Any) -> None:
        """Runs for ever; a clock that stands is low."""
        await ctx.delay(self._rng.random() * self._half)
        while True:
            if not self.stands:
                ctx.set(self._design.far.clk, 1)
            await ctx.delay(self._half * self._rng.uniform(0.9, 1.1))
            ctx.set(self._design.far.clk, 0)
            await ctx.delay(self._half * self._rng.uniform(0.9, 1.1))
