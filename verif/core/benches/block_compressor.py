"""Stimuli for the block compressor."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from cdma.hdl.codec.coding import CODINGS
from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.verif.common.stream import Packet
from cdma.verif.common.tensors import random_raw
from cdma.verif.core.benches.block_common import block_ready
from cdma.verif.core.benches.common import CONDITIONS, generator, reset_in_packets, share
from cdma.verif.core.blocks import stimulus
from cdma.verif.core.blocks.packets import Expected, RawPacket, payloads
from cdma.verif.core.blocks.testbench import BlockTestbench


@cocotb.test()
async def corner_cases(dut: Any) -> None:
    """Directed corners of every coding, coded and raw, under several conditions."""
    bench = await block_ready(dut)
    packets = list(stimulus.corner_packets(bench.config, int(generator().integers(1 << 30))))
    for number, (idle, backpressure, burst) in enumerate(CONDITIONS):
        # Each condition sees its share of the packets, and each packet two conditions.
        bench.stall(idle, backpressure, int(generator().integers(1 << 30)), burst)
        await bench.play(packets[number % 3::3][:share(len(packets))])


@cocotb.test()
async def random_packets(dut: Any) -> None:
    """Random codings, lengths and densities, under random conditions."""
    bench = await block_ready(dut)
    rng = generator()
    for _ in range(share(6)):
        idle, backpressure = rng.choice([0, 0, 0.1, 0.5, 0.8], 2).tolist()
        bench.stall(idle, backpressure, int(rng.integers(1 << 30)), float(rng.choice([1, 4, 20])))
        await bench.play(stimulus.random_packets(rng, bench.config, share(20)))


@cocotb.test()
async def fractions_of_elements(dut: Any) -> None:
    """Packets that end within an element: its bytes are dropped, the block says so, the next packet is whole."""
    bench = await block_ready(dut)
    rng = generator()
    packets = list(stimulus.fractions(bench.config, int(rng.integers(1 << 30))))
    # A fraction, and the whole packet behind it.
    chosen = rng.permutation(len(packets) // 2)[:share(len(packets) // 2)].tolist()
    packets = [packet for each in chosen for packet in packets[2 * each:2 * each + 2]]
    for idle, backpressure, burst in CONDITIONS[:share(2)]:
        bench.stall(idle, backpressure, int(rng.integers(1 << 30)), burst)
        await bench.play(packets)


@cocotb.test()
async def a_coding_that_is_not_built(dut: Any) -> None:
    """It counts as zero-value coding of its element size, or of the largest size that is built; ``tuser`` says so."""
    def expect(packet: Packet, config: BlockCoreConfig) -> list[Expected]:
        assert isinstance(packet, RawPacket)
        size, sizes = packet.coding & 7, config.element_bytes
        instead = CODINGS[f"zvc{8 * (size if size in sizes else sizes[-1])}"]
        built = RawPacket.of(packet.data, instead, packet.fallback)
        return [Expected(payload.data, payload.user, about=f"coding {packet.coding:#04x}")
                for payload in payloads(built, config.block_bytes)]

    ready = await block_ready(dut)
    ready.close()
    bench = BlockTestbench(dut, ready.config, expect)
    await bench.reset()
    rng = generator()
    packets = [RawPacket.of(random_raw(rng, 96, 4, 0.5), coding)
               for coding in (0, 1, 2, 4, 8, 0x0F, 0x11, 0x12, 0x13, 0x14, 0x22, 0x24, 0x64, 0x7F)
               if coding not in bench.config.numbers]
    await bench.play(packets)


@cocotb.test()
async def reset_in_mid_packet(dut: Any) -> None:
    """Nothing of a packet that a reset cuts off shows up later."""
    bench = await block_ready(dut)

    def make(rng: np.random.Generator) -> Packet:
        return stimulus.random_packets(rng, bench.config, 1, 1)[0]

    await reset_in_packets(bench, make)
