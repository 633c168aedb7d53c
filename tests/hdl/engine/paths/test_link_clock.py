"""Both data paths behind a link with a clock of its own: transfers, and resets of the link in mid-transfer."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Elaboratable, Module
from amaranth.lib.wiring import Out

from cdma.golden.engine import Operation, Status
from cdma.hdl.engine.axi.crossing import AxiCrossing
from tests.hdl.bench import Bench
from tests.hdl.clocks import FarClock, LateBits, TwoClocks
from tests.hdl.engine.paths.bench import LEAN, PathBench, path

_SLVERR = 2
_OPENING = 300e-6
_MOMENTS = {Operation.OFFLOAD: range(140, 440, 100), Operation.PREFETCH: range(10, 70, 20)}
"""Cycles of ``sync`` in which the link is busy, from the request on."""


class _Path(Elaboratable):
    """A path with the crossing between its link's master and the port; its other ports are the path's."""

    def __init__(self, operation: Operation) -> None:
        self._path = path(LEAN, operation)
        self._crossing = AxiCrossing(LEAN.address_bits, LEAN.link_beat_bytes, LEAN.outstanding_reads, 128)
        self.link = self._crossing.o

    def __getattr__(self, name: str) -> Any:
        return getattr(self._path, name)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.path, m.submodules.crossing = self._path, self._crossing
        for name, member in self._path.link.signature.members.items():
            outside, inside = getattr(self._crossing.i, name), getattr(self._path.link, name)
            m.d.comb += outside.eq(inside) if member.flow is Out else inside.eq(outside)
        return m


class _Run(PathBench):
    """A path and its memories, that of the link in its own domain."""

    def __init__(self, operation: Operation, ratio: float):
        dut = _Path(operation)
        self.design = TwoClocks(dut)
        super().__init__(LEAN, operation, seed=3, pauses=0.2,
                         prepared=(dut, Bench(self.design, LateBits(f"{operation} {ratio}"))))
        self.link.domain = "link"
        self._clock = FarClock(self.design, ratio, random.Random(ratio))
        self._resets: list[int] = []

    def run(self, process: Any) -> None:
        async def start(ctx: Any) -> None:
            await ctx.delay(_OPENING)
            await process(ctx)

        ports = range(self.config.lanes + 1)
        self._bench.run(start, self._clock.run, self._reset, self._front, *map(self._memory, ports))

    def reset_link(self, cycles: int, wait: int) -> None:
        """Resets the link in so many of its cycles, for some of them."""
        self._resets += [wait, cycles]

    async def _reset(self, ctx: Any) -> None:
        while True:
            while not self._resets:
                await ctx.tick("link")
            wait, cycles = self._resets
            for level, count in ((0, wait), (1, cycles)):
                ctx.set(self.design.far.rst, level)
                for _ in range(count):
                    await ctx.tick("link")
            ctx.set(self.design.far.rst, 0)
            self._resets.clear()


@pytest.mark.parametrize("ratio", [0.31, 2.7])
@pytest.mark.parametrize("operation", [Operation.OFFLOAD, Operation.PREFETCH], ids=["offload", "prefetch"])
def test_resets_of_the_link_in_mid_transfer(operation: Operation, ratio: float) -> None:
    """A transfer succeeds, or ends with an error of the link; the next one succeeds."""
    bench = _Run(operation, ratio)
    lost = Status.LINK_WRITE_ERROR if operation is Operation.OFFLOAD else Status.LINK_READ_ERROR
    found = []

    async def process(ctx: Any) -> None:
        await bench.once(ctx, bench.asked())
        for moment in _MOMENTS[operation]:
            asked = bench.asked()
            right = bench.golden.outcomes(asked)
            bench.reset_link(bench.rng.choice((1, 2, 30)), int(moment * ratio))
            await bench.begin(ctx, asked)
            seen = await bench.result(ctx)
            found.append(seen.status)
            assert seen in right or (seen.status, seen.response) == (lost, _SLVERR), seen
            bench.compare(asked, seen.status is Status.OK)
            await ctx.delay(2 * _OPENING)
            await bench.once(ctx, bench.asked())

    bench.run(process)
    assert lost in found
