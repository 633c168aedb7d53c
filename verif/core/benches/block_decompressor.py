"""Stimuli for the block decompressor."""

from __future__ import annotations

from functools import partial
from typing import Any

import cocotb
import numpy as np

from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.verif.common.stream import Bytes, Packet
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
from cdma.verif.core.packets import Payload, RawPacket, expected_raw, payloads


def _payloads(packets: list[RawPacket], block_bytes: int) -> list[Payload]:
    """The payloads of packets, as a compressor without the raw fallback gives them; whole elements only."""
    found = []
    for packet in packets:
        if packet.data.size:
            made = payloads(RawPacket.of(packet.data, packet.coding, False, packet.about), block_bytes)
            for payload in made:
                payload.noise = packet.noise
            found += made
    return found


@cocotb.test()
async def corner_cases(dut: Any) -> None:
    """Payloads of the directed corners of every coding, under several conditions."""
    bench = await ready(dut)
    packets = _payloads(list(stimulus.corner_packets(bench.config, int(generator().integers(1 << 30)))),
                        bench.config.block_bytes)
    await across_thirds(bench, packets)


@cocotb.test()
async def random_payloads(dut: Any) -> None:
    """Payloads of random codings, lengths and densities, under random conditions."""
    bench = await ready(dut)
    rng = generator()
    for _ in random_conditions(bench, rng, share(6)):
        await bench.play(_payloads(stimulus.random_packets(rng, bench.config, share(20)), bench.config.block_bytes))


@cocotb.test()
async def malformed_payloads(dut: Any) -> None:
    """Faults of every kind: golden's code and line, and the blocks between them are right."""
    bench = await ready(dut)
    rng = generator()
    for _ in each_condition(bench, rng, share(4)):
        packets = stimulus.damaged(rng, bench.config, 8 * share(8)) + stimulus.refused(rng, bench.config, share(16))
        order = rng.permutation(len(packets))
        await bench.play([packets[place] for place in order])


def _ends(config: Any, coding: int, error: PayloadError, line: int, content: Bytes, raw_bytes: int = 2 * LINE_BYTES,
          number: int | None = None) -> Payload:
    """A payload that golden says ends so; ``number`` in its header where that is not its coding."""
    packet = Payload(content, coding & 0x0F, error.name, coding=number or coding, raw_bytes=raw_bytes)
    said = expected_raw(packet, config)
    assert (said.error, said.line) == (error, line), f"golden says {said.error}, line {said.line} of {packet}"
    return packet


@cocotb.test()
async def every_error_code(dut: Any) -> None:
    """A payload for each error code, made by hand from a block of two lines."""
    bench = await ready(dut)
    for coding in bench.config.numbers:
        size = coding & 0x0F
        ends = partial(_ends, bench.config, coding)
        if coding & 0x10:
            tags, data = np.full(2 * 16 // size, 0xFF, np.uint8), np.ones(256, np.uint8)
            whole = np.concatenate([tags, data])
            packets = [ends(PayloadError.OK, 0, whole), ends(PayloadError.BAD_CODING, 0, whole, number=0x08),
                       ends(PayloadError.BAD_LENGTH, 0, whole, 0), ends(PayloadError.TRUNCATED_TAG, 0, tags[1:]),
                       ends(PayloadError.BAD_TAG, 1, np.concatenate([tags, data[size:]]), 256 - size),
                       ends(PayloadError.TRUNCATED_DATA, 1, whole[:-1]),
                       ends(PayloadError.TRUNCATED_DATA, 0, whole[:-130]),
                       ends(PayloadError.TRAILING_BYTES, 1, np.append(whole, data[:1]))]
        else:
            # A dense line with whole exponents, and one of zeros; 1.0 has 0x3f80 or 0x3f800000.
            ones = np.tile(np.array([*[0] * (size - 2), 0x80, 0x3F], np.uint8), LINE_BYTES // size)
            whole = payloads(RawPacket.of(np.concatenate([ones, np.zeros(LINE_BYTES, np.uint8)]), coding, False),
                             bench.config.block_bytes)[0].data
            bad = whole.copy()
            bad[1] = 0x2F
            wide = np.insert(whole, 3, 0xFF)[:-1]
            wide[0] |= 0x40
            packets = [ends(PayloadError.OK, 0, whole), ends(PayloadError.TRUNCATED_FACTS, 0, whole[:3]),
                       ends(PayloadError.BAD_FACTS, 1, bad), ends(PayloadError.BAD_FACTS, 0, wide),
                       ends(PayloadError.TRUNCATED_DATA, 0, whole[:-1]),
                       ends(PayloadError.TRAILING_BYTES, 1, np.append(whole, whole[:1]))]
        await bench.play(packets)


@cocotb.test()
async def reset_in_mid_packet(dut: Any) -> None:
    """Nothing of a payload that a reset cuts off shows up later; right and damaged payloads."""
    bench = await ready(dut)

    def make(rng: np.random.Generator) -> Packet:
        if rng.random() < 0.3:
            return stimulus.damaged(rng, bench.config, int(rng.integers(1, 9)))[-1]
        return _payloads(stimulus.random_packets(rng, bench.config, 1, 1), bench.config.block_bytes)[0]

    await reset_in_packets(bench, make)
