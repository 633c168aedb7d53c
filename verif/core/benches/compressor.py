"""Stimuli for the compressor."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from cdma.verif.common.stream import Packet
from cdma.verif.core import stimulus
from cdma.verif.core.benches.common import (
    each_condition,
    generator,
    ready,
    reset_in_packets,
    share,
)
from cdma.verif.core.benches.lines import corner_cases, every_partial_line, random_packets, sizes_back_to_back

__all__ = ["corner_cases", "every_partial_line", "random_packets", "sizes_back_to_back"]


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
