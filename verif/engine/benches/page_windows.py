"""Page lists in engines with address windows: no burst touches a page, or an entry, outside the link's window.

The memories know the window too: every burst that leaves it breaks one of their rules.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import cocotb

from cdma.golden.engine import OPEN, WINDOW_BYTES, Status, Window, Windows
from cdma.verif.engine.recovery import right_pair, rounds
from cdma.verif.engine.testbench import ready, share

_BYTES = 20_000         # of a tensor at most: some need several pages


@cocotb.test()
async def pages_outside(dut: Any) -> None:
    """Lists of which some pages lie outside, and lists that lie outside themselves, among transfers that succeed."""
    bench = await ready(dut)
    bench.page_share = 1
    seen: Counter[Status] = Counter()
    async for _ in rounds(bench, 2 + 4 * share(6), 2):
        blocks = max(3 * bench.config.lanes, _BYTES // bench.config.block_bytes)
        descriptors = [each for _ in range(6) for each in right_pair(bench, blocks)]
        await bench.load()
        used = bench.link_arena.take(0) - bench.link_arena.base
        # It cuts off some of the first places, some of the last ones, or both.
        first, last = (int(bench.rng.integers(most + 1)) for most in (used // 4, used // 3))
        base, limit = (bench.link_arena.base + place // WINDOW_BYTES * WINDOW_BYTES
                       for place in (first, used - last))
        await bench.confine(Windows(OPEN.device, Window(base, limit)))
        seen.update(each.status for each in await bench.run(descriptors))
        await bench.compare()
        await bench.confine(OPEN)
    missing = {Status.OK, Status.PAGE_OUTSIDE, Status.SOURCE_OUTSIDE_WINDOW,
               Status.DESTINATION_OUTSIDE_WINDOW} - set(seen)
    assert not missing, f"no transfer ended with {', '.join(each.name for each in missing)}"
