"""The merger against bytes: the facts of a block, its tags, then its data, without a gap between them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In

from hdl.codec.payload.merger import Merger
from hdl.common.row_fifo import RowFifo
from tests.hdl.bench import clocked
from tests.hdl.ports import Sink, Source, play

_SIZES = 1, 4


class _Fed(wiring.Component):
    """The merger, with the FIFO of tags in front of it."""

    def __init__(self, beat_bytes: int, exponents: tuple[int, ...]):
        super().__init__({"tags": In(stream.Signature(8 * beat_bytes))})
        self.merger = Merger(beat_bytes, _SIZES, 4096 if exponents else 512, exponents)
        self._fifo = RowFifo(8 * beat_bytes, 1, 4, pairs=bool(exponents))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.merger, m.submodules.fifo = self.merger, self._fifo
        wiring.connect(m, self._fifo.o, self.merger.tags)
        m.d.comb += [self._fifo.data.eq(self.tags.payload), self.tags.ready.eq(self._fifo.level < 3),
                     self._fifo.enable.eq(self.tags.valid & self.tags.ready),
                     self._fifo.commit.eq(self.tags.valid & self.tags.ready)]
        return m


@pytest.mark.parametrize(("beat_bytes", "exponents"), [(16, ()), (64, ()), (32, (4,)), (64, (4,))])
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.5, 0.8)])
def test_blocks(beat_bytes: int, exponents: tuple[int, ...], busy: float, ready: float) -> None:
    rng = random.Random(f"{beat_bytes} {busy}")
    n = beat_bytes
    dut = _Fed(n, exponents)
    blocks, facts, tags, rows, expected = [], [], [], [], []
    for number in range(60):
        tag = rng.randbytes(4 * rng.randrange(17))
        fact = rng.randbytes(4 * rng.choice([0, 1, 7, 8, 9, 15, 16, 17, 23, 24])) if exponents else b""
        content = rng.randbytes(rng.choice([0, 1, n - 1, n, n + 1, rng.randrange(200)]))
        raw = rng.random() < 0.3
        # A row may have been written whose tags the payload does not need.
        written = min(-(-len(tag) // n) + (rng.random() < 0.2), 64 // n)
        tag_rows = [tag[k * n:(k + 1) * n] for k in range(written)]
        fact_rows = [fact[k:k + n] for k in range(0, len(fact), n)]
        if raw:
            tag = fact = b""
        payload = fact + tag + content
        block = {"coding": number, "raw_bytes": number, "payload_bytes": len(payload), "cut": number % 2,
                 "tag_words": len(tag) // 4, "tag_rows": written}
        if exponents:
            block |= {"fact_words": len(fact) // 4, "fact_rows": len(fact_rows)}
        blocks.append(block)
        tags += [int.from_bytes(row + rng.randbytes(n - len(row)), "little") for row in tag_rows]
        facts += [int.from_bytes(row + rng.randbytes(n - len(row)), "little") for row in fact_rows]
        # Data begin behind facts and tags; what is in their row before them may be anything.
        data = rng.randbytes(len(fact + tag) % n) + content if content else b""
        parts = [data[k:k + n] for k in range(0, len(data), n)]
        rows += [{"data": int.from_bytes(part + rng.randbytes(n - len(part)), "little"), "last": k == len(parts) - 1}
                 for k, part in enumerate(parts)]
        out = [payload[k:k + n] for k in range(0, max(1, len(payload)), n)]
        expected += [(part, k == len(out) - 1, block) for k, part in enumerate(out)]

    def read(ctx: Any) -> tuple[bytes, bool, dict[str, int]]:
        row, block = ctx.get(dut.merger.o.payload), ctx.get(dut.merger.block)
        count = row.keep.bit_count()
        assert row.keep == (1 << count) - 1
        return (row.data.to_bytes(n, "little")[:count], bool(row.last),
                {name: getattr(block, name) for name in blocks[0]})

    merger = dut.merger
    ends = [Source(port, payloads, rng, busy)
            for port, payloads in ((merger.i, blocks), (dut.tags, tags), (merger.rows, rows))]
    if exponents:
        ends.append(Source(merger.facts, facts, rng, busy))
    sink = Sink(merger.o, expected, read, rng, ready)

    async def process(ctx: Any) -> None:
        await play(ctx, ends, sink, quiet=4)

    clocked(dut, process, cycles=20_000)
