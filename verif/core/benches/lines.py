"""Stimuli for both cores of lines: raw packets, or for a decompressor the streams that they pack to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cocotb

from cdma.verif.common.stream import Packet
from cdma.verif.common.tensors import corners
from cdma.verif.core import stimulus
from cdma.verif.core.benches.common import (
    across_stalls,
    each_condition,
    generator,
    random_conditions,
    ready,
    share,
)
from cdma.verif.core.testbench import CoreTestbench

__all__ = ["corner_cases", "every_partial_line", "random_packets", "sizes_back_to_back"]


def _of(bench: CoreTestbench, packets: Iterable[Packet]) -> list[Packet]:
    """What the core gets of raw packets."""
    return [*(map(stimulus.packed, packets) if bench.config.core == "decompressor" else packets)]


@cocotb.test()
async def corner_cases(dut: Any) -> None:
    """Directed corners of every element size, under every condition."""
    bench = await ready(dut)
    seed = int(generator().integers(1 << 30))
    await across_stalls(bench, _of(bench, (packet for size in bench.config.element_bytes
                                           for packet in corners(size, bench.config.beat_bytes, seed))))


@cocotb.test()
async def every_partial_line(dut: Any) -> None:
    """Last lines of every length."""
    bench = await ready(dut)
    rng = generator()
    for size in bench.config.element_bytes:
        for _ in each_condition(bench, rng, share(3)):
            await bench.play(_of(bench, stimulus.partial_lines(size, int(rng.integers(1 << 30)))))


@cocotb.test()
async def sizes_back_to_back(dut: Any) -> None:
    """Short packets of different element sizes without a cycle between them."""
    bench = await ready(dut)
    await across_stalls(bench, _of(bench, stimulus.random_packets(generator(), bench.config.element_bytes, share(150),
                                                                  1)))


@cocotb.test()
async def random_packets(dut: Any) -> None:
    """Random lengths, densities and element sizes, under random conditions."""
    bench = await ready(dut)
    rng = generator()
    for _ in random_conditions(bench, rng, share(12)):
        await bench.play(_of(bench, stimulus.random_packets(rng, bench.config.element_bytes, share(40))))
