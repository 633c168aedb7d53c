"""The registers of the buffers' parity: errors are counted, and injected into one memory of a lane."""

from __future__ import annotations

import random
from typing import Any

from cdma.hdl.engine.transfer.buffers import LaneMemory
from tests.hdl.engine.control.bench import CONFIG, Bench

_CONFIG = CONFIG.replace(buffer_parity=True)
_MOST = 0xFFFF


def test_errors_are_counted_up_to_the_largest_count() -> None:
    bench = Bench(_CONFIG, seed=1)
    rng, dut = random.Random(1), bench.dut
    counts = {"offload": 0, "prefetch": 0}

    async def driver(ctx: Any) -> None:
        for _ in range(12):
            for name in counts:
                found = rng.randrange(_CONFIG.lanes + 1)
                ctx.set(getattr(dut, f"{name}_events").buffer_errors, found)
                counts[name] += found
            await ctx.tick()
            for name in counts:
                ctx.set(getattr(dut, f"{name}_events").buffer_errors, 0)
            await bench.wait(ctx, rng.randrange(3))
        assert await bench.read(ctx, "BUFFER_ERRORS") == counts["offload"] | counts["prefetch"] << 16
        # The other direction goes on.
        ctx.set(dut.prefetch_events.buffer_errors, _CONFIG.lanes)
        await bench.wait(ctx, _MOST // _CONFIG.lanes + 9)
        ctx.set(dut.prefetch_events.buffer_errors, 0)
        assert await bench.read(ctx, "BUFFER_ERRORS") == counts["offload"] | _MOST << 16
        await bench.write(ctx, "BUFFER_ERRORS", 0, response=2)
        await bench.write(ctx, "CONTROL", 1)
        await bench.until(ctx, "CONTROL", 1, 0)
        assert await bench.read(ctx, "BUFFER_ERRORS") == 0

    bench.run(driver)


def test_an_error_goes_to_one_memory_of_one_lane() -> None:
    bench = Bench(_CONFIG, seed=2)
    rng, dut = random.Random(2), bench.dut
    asked: list[tuple[str, int, int]] = []
    seen: list[tuple[str, int, int]] = []

    async def driver(ctx: Any) -> None:
        for memory in LaneMemory:
            for lane in range(4):
                for inject in (0, 1):
                    value = inject << 31 | memory.value << 8 | lane | rng.getrandbits(1) << 5 | rng.getrandbits(1) << 20
                    await bench.write(ctx, "BUFFER_INJECT", value)
                    if inject and lane < _CONFIG.lanes:
                        name = "prefetch" if memory.value >= 8 else "offload"
                        asked.append((name, lane, 1 << memory.value % 8))
        await bench.write(ctx, "BUFFER_INJECT", 1 << 31, 0b0111, response=2)
        assert await bench.read(ctx, "BUFFER_INJECT") == 0

    async def watch(ctx: Any) -> None:
        while True:
            await ctx.tick()
            for name in ("offload", "prefetch"):
                inject = ctx.get(getattr(dut, f"{name}_inject"))
                if inject.memories:
                    seen.append((name, inject.lane, inject.memories))

    bench.run(driver, watch)
    assert seen == asked
