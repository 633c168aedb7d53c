"""The lengths of blocks against the golden model: what the header says, and where the data begin."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.golden.codec.blocks import compress, headers
from cdma.golden.codec.coding import Coding
from cdma.hdl.codec.payload.block_lengths import BlockLengths
from tests.hdl.bench import clocked
from tests.hdl.codec.payload.payloads import LINE, random_floats
from tests.hdl.codec.payload.way_in import Packet
from tests.hdl.ports import Sink, Source, play

_BLOCK = 512
_CODINGS = {(2, False): Coding.ZVC16, (4, False): Coding.ZVC32, (2, True): Coding.BFLOAT16, (4, True): Coding.FLOAT32}


@pytest.mark.parametrize(("beat_bytes", "exponents"), [(32, (2, 4)), (64, (2,)), (16, ())])
def test_blocks(beat_bytes: int, exponents: tuple[int, ...]) -> None:
    rng = random.Random(beat_bytes)
    n, sizes = beat_bytes, (2, 4)
    dut = BlockLengths(n, sizes, _BLOCK, exponents)
    grain = 1 if exponents else 2
    blocks, facts, expected = [], [], []
    for _ in range(60):
        size, fallback, cut = rng.choice(sizes), rng.random() < 0.5, rng.random() < 0.2
        recorded = size in exponents and rng.random() < 0.7
        length = rng.choice([_BLOCK, _BLOCK, rng.randrange(1, _BLOCK // size) * size])
        raw = rng.choice([random_floats(rng, length, size), bytes(length), rng.randbytes(length)])
        stream = bytes(compress(raw, _CODINGS[size, recorded], _BLOCK, fallback))
        (header,) = headers(stream, _BLOCK)
        payload_bytes = header.payload_bytes - 4 * header.short
        packet = Packet(raw, size)
        coded = packet.coded
        tagged = len(coded.parts[1]) // (LINE // size // 8) if recorded else coded.lines
        tag_bytes, fact_bytes = tagged * LINE // size // 8, len(coded.parts[0]) if recorded else 0
        left_raw = header.field == Coding.RAW
        beats = -(-length // n)
        block: dict[str, Any] = {
            "beats": beats - 1, "tail": (length - (beats - 1) * n) // 2, "cut": cut, "fallback": fallback,
            "element": {f"b{each}": each == size for each in sizes},
            "elements": packet.elements}
        metadata = tag_bytes + fact_bytes
        found = (header.field, length, payload_bytes, cut, 0 if left_raw else metadata // 4, -(-metadata // n))
        before = (0 if left_raw else metadata // grain % (n // grain)) - 1
        packing = (left_raw, size, before % (n // grain), beats - 1)
        if exponents:
            block |= {"recorded": recorded, "lines": tagged}
            packing = (*packing, recorded)
        if recorded:
            facts.append({"words": fact_bytes // 4, "rests": packet.rests})
        blocks.append(block)
        expected.append((found, packing))

    def read(ctx: Any) -> Any:
        block, order = ctx.get(dut.o.payload), ctx.get(dut.packing.payload)
        assert ctx.get(dut.packing.valid) == ctx.get(dut.o.ready) and not order.empty
        found = (block.coding, block.raw_bytes, block.payload_bytes, bool(block.cut), block.metadata_words,
                 block.metadata_rows)
        packing = (bool(order.raw), 2 if order.element.b2 else 4, order.before, order.beats)
        if exponents:
            return found, (*packing, bool(order.recorded))
        return found, packing

    sources = [Source(dut.i, blocks, rng, 0.7)] + ([Source(dut.facts, facts, rng, 0.5)] if exponents else [])
    sink = Sink(dut.o, expected, read, rng, 0.8)

    async def process(ctx: Any) -> None:
        ctx.set(dut.packing.ready, 1)
        await play(ctx, sources, sink, quiet=10)

    clocked(dut, process)
