"""Stimuli for the compressor."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from cdma.verif.common.stream import Packet
from cdma.verif.common.tensors import corners
from cdma.verif.core import stimulus
from cdma.verif.core.benches.common import (
    across_stalls,
    each_condition,
    generator,
    random_conditions,
    ready,
    reset_in_packets,
    share,
)


@cocotb.test()
async def corner_cases(dut: Any) -> None:
    """Directed corners of every element size, under every condition."""
    bench = await ready(dut)
    seed = int(generator().integers(1 << 30))
    await across_stalls(bench, [packet for size in bench.config.element_bytes
                                for packet in corners(size, bench.config.beat_bytes, seed)])


@cocotb.test()
async def every_partial_line(dut: Any) -> None:
    """Last lines of every length."""
    bench = await ready(dut)
    rng = generator()
    for size in bench.config.element_bytes:
        for _ in each_condition(bench, rng, share(3)):
            await bench.play(list(stimulus.partial_lines(size, int(rng.integers(1 << 30)))))


@cocotb.test()
async def sizes_back_to_back(dut: Any) -> None:
    """Short packets of different element sizes without a cycle between them."""
    bench = await ready(dut)
    await across_stalls(bench, stimulus.random_packets(generator(), bench.config.element_bytes, share(150), 1))


@cocotb.test()
async def random_packets(dut: Any) -> None:
    """Random lengths, densities and element sizes, under random conditions."""
    bench = await ready(dut)
    rng = generator()
    for _ in random_conditions(bench, rng, share(12)):
        await bench.play(stimulus.random_packets(rng, bench.config.element_bytes, share(40)))


@cocotb.test()
async def fractions_of_elements(dut: Any) -> None:
    """Lengths that are not a multiple of the element size: dropped, reported, and nothing left for the next packet."""
    bench = await ready(dut)
    rng = generator()
    sizes = [size for size in bench.config.element_bytes if size > 1]
    packets = [packet for size in sizes for packet in stimulus.fractions(size, int(rng.integers(1 << 30)))]
    for _ in each_condition(bench, rng, share(4)):
        await bench.play(packets)


@cocotb.test()
async def reset_in_mid_packet(dut: Any) -> None:
    """Nothing of a packet that a reset cuts off shows up later."""

    bench = await ready(dut)

    def make(rng: np.random.Generator) -> Packet:
        return stimulus.random_packets(rng, bench.config.element_bytes, 1)[0]

    await reset_in_packets(bench, make)
