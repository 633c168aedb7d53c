"""The queue of records against a list: words written and read in any order, records first in, first out."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.engine.control.records import RecordQueue
from tests.hdl.bench import clocked


@pytest.mark.parametrize(("depth", "ahead"), [(1, False), (2, False), (8, False), (8, True)])
def test_records(depth: int, ahead: bool) -> None:
    """With ``ahead``, records are read before they are removed, and now and then again from the oldest one on."""
    queue = RecordQueue(depth, ahead=ahead)
    rng = random.Random(depth)
    most = 0

    async def process(ctx: Any) -> None:
        nonlocal most
        held: list[list[int]] = []
        coming: list[int] = [0] * 16
        left: list[int] = []
        first = last = 0
        read = 0            # records that were read, and are not removed
        asked = None        # the word that is shown in this cycle
        for _ in range(4000 if ahead else 1500):
            assert asked is None or ctx.get(queue.data) == asked
            assert (ctx.get(queue.level), ctx.get(queue.head), ctx.get(queue.tail)) == (
                len(held), first % depth, last % depth)
            if not left:
                left, coming = rng.sample(range(16), 16), [rng.getrandbits(32) for _ in range(16)]
            write = len(held) < depth and rng.random() < 0.8
            push = write and len(left) == 1
            # The oldest record need not have been read when it is removed: the reader goes on with it, then.
            pop = bool(held) and rng.random() < ((0.05 if read else 0.01) if ahead else 0.1)
            step = ahead and (read > 0 or not pop) and read < min(len(held), depth - 1) and rng.random() < 0.1
            back = ahead and not pop and not step and rng.random() < 0.01
            word = rng.randrange(16)
            for port, value in ((queue.i.write, write), (queue.i.word, left[-1]), (queue.i.data, coming[left[-1]]),
                                (queue.i.push, push), (queue.pop, pop), (queue.word, word)):
                ctx.set(port, value)
            if ahead:
                ctx.set(queue.step, step)
                ctx.set(queue.back, back)
            asked = held[read][word] if read < len(held) else None
            if write:
                left.pop()
            if push:
                held.append(coming)
                last += 1
            if pop:
                held.pop(0)
                first += 1
                read = max(0, read - 1)
            read = 0 if back else read + step
            most = max(most, read)
            await ctx.tick()

    clocked(queue, process)
    assert most == (depth - 1 if ahead else 0)
