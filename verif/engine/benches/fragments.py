"""Many small tensors through an engine by descriptor rings, with records of their completions; reports how fast they
ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cocotb
from cocotb.utils import get_sim_time

from cdma.golden.codec.coding import Coding
from cdma.golden.engine import Operation
from cdma.verif.common import job
from cdma.verif.common.job import CLOCK_NS
from cdma.verif.common.tensors import network_values
from cdma.verif.engine.control import enabled
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.stimulus import RawTensor
from cdma.verif.engine.testbench import EngineTestbench, ready

_POLL = 16
"""Cycles between two looks at a ring."""

_LONGEST = 1 << 20
"""Cycles that all tensors together may take at most."""


@cocotb.test()
async def fragments(dut: Any) -> None:
    """Offload and prefetch tensors of every size: one direction at a time, in order or in random order; or both."""
    asked = job.load()
    bench = await ready(dut)
    bench.page_share = 0.0
    coding, way, passages = Coding(asked["coding"]), asked["way"], []
    for latency in asked["latencies"]:
        await bench.behave(Behaviour(latency=latency))
        for size, count in asked["loads"]:
            passages += [{"latency": latency, "way": way} | row
                         for row in await _passage(bench, coding, size, count, way, asked["density"])]
    job.report({"passages": passages})


async def _passage(bench: EngineTestbench, coding: Coding, size: int, count: int, way: str,
                   density: float) -> list[dict[str, Any]]:
    """Rows of both directions."""
    tensor = RawTensor(network_values(bench.rng, coding, size // coding.element_bytes, density), coding)
    stream = bench.stream(tensor)
    bench.clear()
    # One after the other without gaps, as in a pool of pages.
    pitch = -(-size // bench.config.block_bytes) * bench.config.block_bytes
    sources, destinations = (bench.device_arena.take(count * pitch, gap=0) for _ in range(2))
    for number in range(count):
        bench.device_arena.view(sources + number * pitch, size)[:] = tensor.raw
    moves = {Operation.OFFLOAD: [bench.offload(tensor, capacity=stream.size, source=sources + number * pitch)
                                 for number in range(count)],
             Operation.PREFETCH: [bench.prefetch(stream, tensor, check_crc=bench.config.crc,
                                                 destination=destinations + number * pitch)
                                  for number in range(count)]}
    if way == "random":
        for descriptors in moves.values():
            bench.rng.shuffle(descriptors)      # type: ignore[arg-type]
    entries = 1 << count.bit_length()
    rings, records = bench.rings(entries), bench.write_back(entries)
    await bench.load()
    found = []
    async with enabled(*rings.values(), *records.values()):
        for together in [list(moves)] if way == "both" else [[each] for each in moves]:
            for operation in together:
                await rings[operation].feed(moves[operation])
            seen = await _ended(bench, together, count)
            found += [{"direction": operation.name.lower(), "raw_bytes": size, "packed_bytes": stream.size,
                       "tensors": count, **seen[operation]} for operation in together]
            for operation in together:
                for descriptor in moves[operation]:
                    await bench.completed(descriptor)
    await bench.compare()
    return found


async def _ended(bench: EngineTestbench, operations: Sequence[Operation],
                 count: int) -> dict[Operation, dict[str, int]]:
    """The tensors whose records came after those of the first eighth, until all of a direction were there; and the
    cycles of that."""
    first: dict[Operation, tuple[int, float]] = {}
    last: dict[Operation, tuple[int, float]] = {}
    waited = 0
    while not any(done == count for done, _ in last.values()):
        await bench.control.wait(_POLL)
        waited += _POLL
        if waited > _LONGEST:
            raise AssertionError(f"no end in {waited} cycles: {await bench.control.state()}")
        for operation in operations:
            done = await bench.control.channels[operation].read("WRITE_BACK_TAIL")
            last[operation] = done, get_sim_time("ns") / CLOCK_NS
            if 8 * done >= count:
                first.setdefault(operation, last[operation])
    return {operation: {"ended": last[operation][0] - first[operation][0],
                        "cycles": round(last[operation][1] - first[operation][1])} for operation in operations}
