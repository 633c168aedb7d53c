"""The reader of blocks: each raw beat with what is known of its block, its line and its groups."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.payload.block_reader import BlockReader
from tests.hdl.bench import clocked
from tests.hdl.ports import Sink, Source, play

_BLOCK, _SIZES = 512, (2, 4)


@pytest.mark.parametrize(("beat_bytes", "exponents"), [(16, ()), (32, (2, 4)), (64, (4,))])
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (1.0, 0.4), (0.4, 0.9)])
def test_blocks(beat_bytes: int, exponents: tuple[int, ...], busy: float, ready: float) -> None:
    rng = random.Random(f"{beat_bytes} {busy}")
    n = beat_bytes
    dut = BlockReader(n, _SIZES, _BLOCK, exponents)
    units = n if exponents else n // 2
    blocks, beats, lines, expected = [], [], [], []
    for _ in range(25):
        count, size, empty = rng.choice([1, 2, 3, rng.randrange(1, 512 // n + 1), 512 // n]), rng.choice(_SIZES), \
            rng.random() < 0.2
        recorded = size in exponents and rng.random() < 0.7
        block = {"raw": rng.getrandbits(1), "element": {"b2": size == 2, "b4": size == 4},
                 "before": rng.randrange(units), "beats": count - 1, "empty": empty}
        if exponents:
            block["recorded"] = recorded
        blocks.append(block)
        for k in range(count):
            if recorded and k % (128 // n) == 0:
                width = rng.choice([*range(7), 8])
                lines.append({"signs": rng.getrandbits(1), "escape": rng.getrandbits(1), "base": rng.getrandbits(8),
                              "width": width, "less": [rng.randrange(min(4, width + 1)) for _ in range(4)],
                              "zero": rng.getrandbits(1), "dense": rng.getrandbits(1)})
            beats.append({"data": rng.getrandbits(8 * n)})
            if exponents:
                beats[-1]["live"] = rng.getrandbits(n // _SIZES[0])
            groups = None
            if recorded and not block["raw"]:
                line = lines[-1]
                groups = [(line["signs"], line["escape"], line["base"],
                           line["width"] - line["less"][k * n // 32 % 4 + each]) for each in range(n // 32)]
            expected.append((beats[-1], k == 0, k == count - 1, bool(block["raw"] and not (empty and k == count - 1)),
                             size, block["before"] if k == 0 else None, groups))

    def read(ctx: Any) -> Any:
        beat = ctx.get(dut.o.payload)
        groups = None
        if exponents and beat.coded:
            groups = [(each.signs, each.escape, each.base, each.width) for each in beat.groups]
        stored = {"data": beat.data, **({"live": beat.live} if exponents else {})}
        return (stored, bool(beat.first), bool(beat.last), bool(beat.raw), 2 if beat.element.b2 else 4,
                beat.before if beat.first else None, groups)

    sources = [Source(dut.i, blocks, rng, busy), Source(dut.beats, beats, rng, busy)]
    if exponents:
        sources.append(Source(dut.lines, lines, rng, busy))
    sink = Sink(dut.o, expected, read, rng, ready)

    async def process(ctx: Any) -> None:
        cycles = await play(ctx, sources, sink, quiet=4)
        single = sum(block["beats"] == 0 for block in blocks)
        assert busy < 1 or ready < 1 or cycles <= len(beats) + single, "a beat per cycle, two cycles for a block of one"

    clocked(dut, process)
