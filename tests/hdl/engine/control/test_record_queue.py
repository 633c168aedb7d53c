"""The queue of records against a list: words written and read in any order, records first in, first out."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hdl.engine.control.records import RecordQueue
from tests.hdl.bench import clocked


@pytest.mark.parametrize("depth", [1, 2, 8])
def test_records(depth: int) -> None:
    queue = RecordQueue(depth)
    rng = random.Random(depth)

    async def process(ctx: Any) -> None:
        held: list[list[int]] = []
        coming: list[int] = [0] * 16
        left: list[int] = []
        first = last = 0
        asked = None        # the record and word that is shown in this cycle
        for _ in range(1500):
            if asked is not None:
                assert ctx.get(queue.data) == asked[0][asked[1]]
            assert (ctx.get(queue.level), ctx.get(queue.head), ctx.get(queue.tail)) == (
                len(held), first % depth, last % depth)
            if not left:
                left, coming = rng.sample(range(16), 16), [rng.getrandbits(32) for _ in range(16)]
            write = len(held) < depth and rng.random() < 0.8
            push = write and len(left) == 1
            pop = bool(held) and rng.random() < 0.1
            word = rng.randrange(16)
            ctx.set(queue.i.write, write)
            ctx.set(queue.i.word, left[-1])
            ctx.set(queue.i.data, coming[left[-1]])
            ctx.set(queue.i.push, push)
            ctx.set(queue.pop, pop)
            ctx.set(queue.word, word)
            asked = (held[0], word) if held else None
            if write:
                left.pop()
            if push:
                held.append(coming)
                last += 1
            if pop:
                held.pop(0)
                first += 1
            await ctx.tick()

    clocked(queue, process)
