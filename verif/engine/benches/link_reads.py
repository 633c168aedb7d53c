"""Reads at the link with an identifier each: answered in any order, with their beats mixed, and at the full rate.

The memory finds every read whose identifier one of the outstanding ones has.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import cocotb
import numpy as np

from cdma.golden.engine import Descriptor, Status
from cdma.hdl.engine.axi.bursts import burst_beats
from cdma.verif.engine.control import enabled
from cdma.verif.engine.link_clock import TURN
from cdma.verif.engine.memory import ANSWER, Behaviour
from cdma.verif.engine.recovery import goes_on, reset_softly, right_pair, rounds
from cdma.verif.engine.stimulus import RawTensor, codings, random_behaviour
from cdma.verif.engine.testbench import EngineTestbench, ready, share

_RATE_BYTES = 1 << 17
_ANY_ORDER = 0.7
"""Beats per cycle in any order, at least. If the memory answers the oldest burst last, no others can be requested
meanwhile, and all that follow wait for the whole latency: a short stream may lose a sixth of its cycles."""
_BURSTS = 2     # of each identifier, in a stream that has several outstanding


@cocotb.test()
async def any_order(dut: Any) -> None:
    """Both directions, their descriptors from rings, with whole bursts in another order and with mixed beats; then a
    soft reset while reads are outstanding."""
    bench = await ready(dut)
    shuffled = 0
    for shuffle, longest in ((0.001, 100), (0.1, 100), (1.0, 1)):
        # With a latency that is longer than two short bursts, one may always end before the other can begin.
        await bench.behave(random_behaviour(bench.rng), Behaviour(
            latency=int(bench.rng.integers(longest)), stalls=float(bench.rng.choice([0, 0.4])), longest=4,
            shuffle=shuffle))
        bench.clear()
        descriptors = [each for _ in range(4) for each in right_pair(bench, 8 * bench.config.lanes)]
        # Random streams may be of a burst each, which leaves no order to choose.
        descriptors.append(_dense(bench, _BURSTS * bench.config.link_read_ids * _burst_bytes(bench)))
        rings = bench.rings(16)
        await bench.load()
        await bench.link.clear()
        async with enabled(*rings.values()):
            assert {each.status for each in await bench.run(descriptors, rings)} == {Status.OK}
        shuffled += await bench.link.count("shuffled", 0)
        await goes_on(bench)
        async for _ in rounds(bench, share(10), 0):
            descriptors = right_pair(bench, 4 * bench.config.lanes)
            await bench.load()
            await reset_softly(bench, descriptors)
    assert shuffled > 0, "reads were answered in order"


@cocotb.test()
async def the_rate(dut: Any) -> None:
    """A beat in every cycle while the bursts of all identifiers but one cover the latency; with half of the latency, in
    most cycles whatever the order: how many depends on which burst is the last one. Fewer where lanes or the engine's
    clock are slower; lanes are slower with one write outstanding, too. No rate is expected where the bursts do not
    cover the crossing between clocks."""
    bench = await ready(dut)
    config = bench.config
    ratio = 1.0 if bench.link_clock is None else bench.link_clock.ratio
    limit = min(1.0, min(1.0, _lanes_rate(bench) / config.link_beat_bytes) / ratio)
    crossing = 0 if bench.link_clock is None else ceil(TURN * max(1.0, ratio))
    covered = (config.link_read_ids - 1) * _burst_bytes(bench) // config.link_beat_bytes - 16 - crossing
    bench.page_share = 0.0
    for latency, shuffle, least in ((0, 0.0, 0.99), (covered, 0.0, 0.99), (covered // 2, 0.001, _ANY_ORDER),
                                    (covered // 2, 1.0, _ANY_ORDER)):
        await bench.behave(Behaviour(), Behaviour(latency=max(0, latency), shuffle=shuffle))
        bench.clear()
        prefetch = _dense(bench, _RATE_BYTES)
        await bench.load()
        await bench.link.clear()
        await bench.run([prefetch])
        seen = await bench.link.traffic()
        busy = seen.read_beats / (seen.last_read - seen.first_read + 1)
        dut._log.info(f"{config.link_read_ids} identifiers, latency {latency}, shuffle {shuffle}: "
                      f"{busy:.4f} beats per cycle")
        assert covered < 0 or busy >= least * limit, (latency, shuffle, busy, limit)
    await bench.compare()


def _burst_bytes(bench: EngineTestbench) -> int:
    """Bytes of a whole burst at the link."""
    config = bench.config
    return config.link_beat_bytes * burst_beats(config.link_beat_bytes, config.burst_beats)


def _lanes_rate(bench: EngineTestbench) -> float:
    """Bytes in a cycle that all lanes write, at least. A single lane waits for a cycle, now and then, where a beat of
    the link has the end of a block and the header of the next one."""
    config = bench.config
    burst = config.beat_bytes * burst_beats(config.beat_bytes, config.burst_beats)
    if config.lanes > 1:    # the next block is another lane's
        burst = min(burst, config.block_bytes)
    answer = ANSWER if config.outstanding_reads == 1 else 0
    shared = burst / config.block_bytes if config.lanes == 1 else 0
    return config.lanes * burst / (burst / config.beat_bytes + answer + shared)


def _dense(bench: EngineTestbench, raw_bytes: int) -> Descriptor:
    """A prefetch of a tensor without zeros, whose blocks are raw."""
    tensor = RawTensor(bench.rng.integers(1, 256, raw_bytes, dtype=np.uint8), codings(bench.config)[-1])
    return bench.prefetch(bench.stream(tensor, leave_raw=True), tensor)
