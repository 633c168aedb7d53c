"""Runs a decompressor of blocks, or its data path, and compares the raw beats and results that come."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from cdma.hdl.codec.payload.unpacking import PayloadError
from tests.hdl.bench import Bench
from tests.hdl.codec.payload.payloads import Beat
from tests.hdl.ports import Sink, Source

__all__ = ["run_unpacking"]


def run_unpacking(bench: Bench, dut: Any, size: int, sources: Sequence[Source], beats: Sequence[Beat],
                  rng: random.Random, ready: float, cycles: int) -> int:
    """Runs until all beats of ``size`` bytes have come from ``dut.o``, and returns the cycles from first to last."""
    def read(ctx: Any) -> Beat:
        wanted, beat = sink.left[0], ctx.get(dut.o.payload)
        count = beat.keep.bit_count() if beat.last else size
        assert not beat.last or beat.keep == (1 << count) - 1
        error = ctx.get(dut.error)
        return Beat(None if wanted.content is None else beat.data.to_bytes(size, "little")[:count],
                    bool(beat.last), (PayloadError(error.code), error.line) if beat.last else None)

    sink = Sink(dut.o, beats, read, rng, ready)
    begin = end = 0

    async def process(ctx: Any) -> None:
        nonlocal begin, end
        while sink.left:
            for port in (*sources, sink):
                port.offer(ctx)
            for port in (*sources, sink):
                port.settle(ctx)
            end += 1
            if len(sink.left) == len(beats):
                begin = end
            await ctx.tick()
        for source in sources:
            ctx.set(source.port.valid, 0)
        for _ in range(10):
            assert not ctx.get(dut.o.valid), "a beat more than there are"
            await ctx.tick()
        assert not any(source.left for source in sources), "not all that was offered was taken"

    bench.run(process, cycles=cycles)
    return end - begin
