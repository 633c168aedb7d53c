"""The merger against bytes: the metadata of a block, then its data, without a gap between them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.payload.merger import Merger
from tests.hdl.bench import clocked
from tests.hdl.ports import Sink, Source, play

_SIZES = 1, 4


@pytest.mark.parametrize(("beat_bytes", "exponents"), [(16, ()), (64, ()), (32, (4,)), (64, (4,))])
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.5, 0.8)])
def test_blocks(beat_bytes: int, exponents: tuple[int, ...], busy: float, ready: float) -> None:
    rng = random.Random(f"{beat_bytes} {busy}")
    n = beat_bytes
    dut = Merger(n, _SIZES, 4096 if exponents else 512, exponents)
    blocks, metadata, rows, expected = [], [], [], []
    for number in range(60):
        words = rng.choice([0, 1, 7, 8, 9, 15, 16, 17, 23, 24, 56]) if exponents else rng.randrange(17)
        front = rng.randbytes(4 * words)
        content = rng.randbytes(rng.choice([0, 1, n - 1, n, n + 1, rng.randrange(200)]))
        raw = rng.random() < 0.3
        # A row may have been written that the payload does not need.
        written = min(-(-len(front) // n) + (rng.random() < 0.2), (256 if exponents else 64) // n)
        metadata += [int.from_bytes(row + rng.randbytes(n - len(row)), "little")
                     for row in (front[k * n:(k + 1) * n] for k in range(written))]
        if raw:
            front = b""
        payload = front + content
        block = {"coding": number, "raw_bytes": number, "payload_bytes": len(payload), "cut": number % 2,
                 "metadata_words": len(front) // 4, "metadata_rows": written}
        blocks.append(block)
        # Data begin behind the metadata; what is in their row before them may be anything.
        data = rng.randbytes(len(front) % n) + content if content else b""
        parts = [data[k:k + n] for k in range(0, len(data), n)]
        rows += [{"data": int.from_bytes(part + rng.randbytes(n - len(part)), "little"), "last": k == len(parts) - 1}
                 for k, part in enumerate(parts)]
        out = [payload[k:k + n] for k in range(0, max(1, len(payload)), n)]
        expected += [(part, k == len(out) - 1, block) for k, part in enumerate(out)]

    def read(ctx: Any) -> tuple[bytes, bool, dict[str, int]]:
        row, block = ctx.get(dut.o.payload), ctx.get(dut.block)
        count = row.keep.bit_count()
        assert row.keep == (1 << count) - 1
        return (row.data.to_bytes(n, "little")[:count], bool(row.last),
                {name: getattr(block, name) for name in blocks[0]})

    ends = [Source(port, payloads, rng, busy)
            for port, payloads in ((dut.i, blocks), (dut.i_metadata, metadata), (dut.rows, rows))]
    sink = Sink(dut.o, expected, read, rng, ready)

    async def process(ctx: Any) -> None:
        await play(ctx, ends, sink, quiet=4)

    clocked(dut, process, cycles=20_000)
