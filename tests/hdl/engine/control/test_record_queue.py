"""The queue of records against a list: words written and read in any order, records first in, first out."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.engine.control.records import RecordQueue
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


def test_records_read_ahead() -> None:
    """Records are read one by one before they are removed, and now and then again from the oldest one on."""
    depth = 8
    queue = RecordQueue(depth, ahead=True)
    rng = random.Random(3)
    most = 0

    async def process(ctx: Any) -> None:
        nonlocal most
        held: list[list[int]] = []
        ahead = 0           # records that were read
        coming: list[int] = []
        asked = None        # the record and word that is shown in this cycle
        for _ in range(4000):
            if asked is not None:
                assert ctx.get(queue.data) == asked[0][asked[1]]
            write = len(held) < depth and rng.random() < 0.8
            push = write and len(coming) == 15
            pop = bool(held) and (ahead > 0 or rng.random() < 0.2) and rng.random() < 0.05
            step = (ahead > 0 or not pop) and ahead < min(len(held), depth - 1) and rng.random() < 0.1
            back = not pop and not step and rng.random() < 0.01
            word = rng.randrange(16)
            value = rng.getrandbits(32)
            ctx.set(queue.i.write, write)
            ctx.set(queue.i.word, len(coming))
            ctx.set(queue.i.data, value)
            ctx.set(queue.i.push, push)
            for name, pulse in (("pop", pop), ("step", step), ("back", back)):
                ctx.set(getattr(queue, name), pulse)
            ctx.set(queue.word, word)
            asked = (held[ahead], word) if ahead < len(held) else None
            if pop:
                # The oldest record need not have been read: the reader goes on with it, then.
                held.pop(0)
                ahead = max(0, ahead - 1)
            ahead = 0 if back else ahead + step
            most = max(most, ahead)
            if write:
                coming.append(value)
            if push:
                held.append(coming)
                coming = []
            await ctx.tick()

    clocked(queue, process)
    assert most == depth - 1
