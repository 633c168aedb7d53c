"""The registers of the buffers' parity: errors are counted, and injected into one memory of a lane."""

from __future__ import annotations

from typing import Any

from cdma.hdl.engine.transfer.buffers import LaneMemory
from tests.hdl.engine.control.bench import CONFIG, DIRECTIONS, SLVERR, Bench, simulated

_CONFIG = CONFIG.replace(buffer_parity=True)
_MOST = 0xFFFF


@simulated(lambda: Bench(_CONFIG, seed=1))
async def test_errors_are_counted_up_to_the_largest_count(bench: Bench, ctx: Any) -> None:
    ports = [getattr(bench.dut, f"{name}_events").buffer_errors for name, _ in DIRECTIONS]
    counts = [0, 0]
    for _ in range(12):
        found = [bench.rng.randrange(_CONFIG.lanes + 1) for _ in ports]
        for port, errors in zip(ports, found, strict=True):
            ctx.set(port, errors)
        await ctx.tick()
        for port in ports:
            ctx.set(port, 0)
        counts = [sum(each) for each in zip(counts, found, strict=True)]
        await bench.wait(bench.rng.randrange(3))
    await bench.reads(BUFFER_ERRORS=counts[0] | counts[1] << 16)
    # The other direction goes on.
    ctx.set(ports[1], _CONFIG.lanes)
    await bench.wait(_MOST // _CONFIG.lanes + 9)
    ctx.set(ports[1], 0)
    await bench.reads(BUFFER_ERRORS=counts[0] | _MOST << 16)
    await bench.write("BUFFER_ERRORS", 0, response=SLVERR)
    await bench.soft_reset()
    await bench.reads(BUFFER_ERRORS=0)


def test_an_error_goes_to_one_memory_of_one_lane() -> None:
    bench = Bench(_CONFIG, seed=2)
    asked: list[tuple[str, int, int]] = []
    seen: list[tuple[str, int, int]] = []

    async def driver(ctx: Any) -> None:
        for memory in LaneMemory:
            for lane in range(4):
                for inject in (0, 1):
                    other = bench.rng.getrandbits(32) & (1 << 5 | 1 << 20)
                    await bench.write("BUFFER_INJECT", inject << 31 | memory.value << 8 | lane | other)
                    if inject and lane < _CONFIG.lanes:
                        asked.append((DIRECTIONS[memory.value >> 3][0], lane, 1 << memory.value % 8))
        await bench.write("BUFFER_INJECT", 1 << 31, 0b0111, response=SLVERR)
        await bench.reads(BUFFER_INJECT=0)

    async def watch(ctx: Any) -> None:
        while True:
            await ctx.tick()
            for name, _ in DIRECTIONS:
                inject = ctx.get(getattr(bench.dut, f"{name}_inject"))
                if inject.memories:
                    seen.append((name, inject.lane, inject.memories))

    bench.run(driver, watch)
    assert seen == asked
