"""Stimuli for the block compressor."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from cdma.hdl.codec.coding import CODINGS
from cdma.verif.common.stream import Packet
from cdma.verif.common.tensors import random_raw
from cdma.verif.core import block_stimulus as stimulus
from cdma.verif.core.benches.common import (
    across_thirds,
    each_condition,
    generator,
    random_conditions,
    ready,
    reset_in_packets,
    share,
)
from cdma.verif.core.packets import Expected, RawPacket, payloads


@cocotb.test()
async def corner_cases(dut: Any) -> None:
    """Directed corners of every coding, coded and raw, under several conditions."""
    bench = await ready(dut)
    packets = list(stimulus.corner_packets(bench.config, int(generator().integers(1 << 30))))
    await across_thirds(bench, packets)


@cocotb.test()
async def random_packets(dut: Any) -> None:
    """Random codings, lengths and densities, under random conditions."""
    bench = await ready(dut)
    rng = generator()
    for _ in random_conditions(bench, rng, share(6)):
        await bench.play(stimulus.random_packets(rng, bench.config, share(20)))


@cocotb.test()
async def fractions_of_elements(dut: Any) -> None:
    """Packets that end within an element: its bytes are dropped, the block says so, the next packet is whole."""
    bench = await ready(dut)
    rng = generator()
    packets = list(stimulus.fractions(bench.config, int(rng.integers(1 << 30))))
    # A fraction, and the whole packet behind it.
    chosen = rng.permutation(len(packets) // 2)[:share(len(packets) // 2)].tolist()
    packets = [packet for each in chosen for packet in packets[2 * each:2 * each + 2]]
    for _ in each_condition(bench, rng, share(2)):
        await bench.play(packets)


@cocotb.test()
async def a_coding_that_is_not_built(dut: Any) -> None:
    """It counts as zero-value coding of its element size, or of the largest size that is built; ``tuser`` says so."""
    def expect(packet: Packet, config: Any) -> list[Expected]:
        assert isinstance(packet, RawPacket)
        size, sizes = packet.coding & 7, config.element_bytes
        instead = CODINGS[f"zvc{8 * (size if size in sizes else sizes[-1])}"]
        built = RawPacket.of(packet.data, instead, packet.fallback)
        return [Expected(payload.data, payload.user, about=f"coding {packet.coding:#04x}")
                for payload in payloads(built, config.block_bytes)]

    bench = await ready(dut, expect)
    rng = generator()
    packets = [RawPacket.of(random_raw(rng, 96, 4, 0.5), coding)
               for coding in (0, 1, 2, 4, 8, 0x0F, 0x11, 0x12, 0x13, 0x14, 0x22, 0x24, 0x64, 0x7F)
               if coding not in bench.config.numbers]
    await bench.play(packets)


@cocotb.test()
async def reset_in_mid_packet(dut: Any) -> None:
    """Nothing of a packet that a reset cuts off shows up later."""
    bench = await ready(dut)

    def make(rng: np.random.Generator) -> Packet:
        return stimulus.random_packets(rng, bench.config, 1, 1)[0]

    await reset_in_packets(bench, make)
