"""Stimuli for the decompressor."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from cdma.hdl.codec.packets import ErrorCode
from cdma.verif.common.stream import Packet
from cdma.verif.common.tensors import random_raw
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
async def damaged_streams(dut: Any) -> None:
    """Faults of every kind: the right code and line, no wrong byte, and the next packet right."""
    bench = await ready(dut)
    rng = generator()
    for size in bench.config.element_bytes:
        for _ in each_condition(bench, rng, share(4)):
            await bench.play(stimulus.damaged(rng, size, 7 * share(30)))


@cocotb.test()
async def every_error_code(dut: Any) -> None:
    """One stream for each error code, made by hand, in the first line and in a later one."""
    bench = await ready(dut)
    for size in bench.config.element_bytes:
        for lines in (0, 1, 3):
            before = random_raw(np.random.default_rng(lines), lines * 128 // size, size, 0.4)
            good = stimulus.packed(Packet(before, size)).data
            tag_bytes = 16 // size
            tag, element = np.full(tag_bytes, 0xFF, np.uint8), np.ones(size, np.uint8)
            # A partial last line has ones for the elements that are missing; a zero there means that data is missing.
            holed = tag.copy()
            holed[0] = 0xDF
            tails = [(ErrorCode.OK, tag[:0]),
                     (ErrorCode.TRUNCATED_TAG, tag[:-1]),
                     (ErrorCode.TRUNCATED_TAG, tag[:(tag_bytes + 1) // 2]),
                     (ErrorCode.TRUNCATED_DATA, tag),
                     (ErrorCode.TRUNCATED_DATA, np.concatenate([holed, element])),
                     (ErrorCode.OK, np.concatenate([tag, element]))]
            if size > 1:
                tails.append((ErrorCode.TRAILING_BYTES, np.concatenate([tag, element, element[:1]])))
            packets = [Packet(np.concatenate([good, tail]), size, f"{lines} lines, then {code.name}")
                       for code, tail in tails]
            for (code, _), seen in zip(tails, await bench.play(packets), strict=True):
                line = lines if code is not ErrorCode.OK else seen.line
                assert (seen.error, seen.line) == (code.value, line), f"{code}: {seen}, line {seen.line}, not {line}"


@cocotb.test()
async def reset_in_mid_packet(dut: Any) -> None:
    """Nothing of a packet that a reset cuts off shows up later; right and damaged streams."""

    bench = await ready(dut)

    def make(rng: np.random.Generator) -> Packet:
        size = int(rng.choice(bench.config.element_bytes))
        if rng.random() < 0.3:
            return stimulus.damaged(rng, size, int(rng.integers(1, 8)))[-1]
        return stimulus.packed(stimulus.random_packets(rng, [size], 1)[0])

    await reset_in_packets(bench, make)
