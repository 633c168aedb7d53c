"""The counts of a lane's bursts: a transfer is done when all bursts that entered before its end are answered."""

from __future__ import annotations

import random
from collections import deque

import pytest

from hdl.config.engine import EngineConfig
from hdl.engine.paths.answers import Answers, bursts_of_block
from tests.hdl.bench import clocked


@pytest.mark.parametrize("block_bytes", [2048, 16384])
def test_done_when_all_bursts_of_a_transfer_are_answered(block_bytes: int) -> None:
    """Transfers of no block, one and many; marks and responses in any order that a lane can make."""
    config = EngineConfig(block_bytes=block_bytes, buffer_bytes=2 * block_bytes, transfers_in_flight=3)
    most = bursts_of_block(config)
    rng = random.Random(block_bytes)
    dut = Answers(config)

    async def process(ctx) -> None:
        open_ = answered = entered = taken = given = 0
        ends: deque[int] = deque()      # bursts that had entered at the end of each transfer that was not taken
        late = 0                        # cycles for which the oldest is complete
        while taken < 150:
            enters = rng.randint(1, most) if open_ < 4 + 8 * most and rng.random() < 0.4 else 0
            answers = int(open_ > 0 and rng.random() < 0.6)
            marks = int(len(ends) < 3 and rng.random() < 0.15)
            done = ctx.get(dut.done)
            complete = bool(ends) and answered >= ends[0]
            assert complete or not done
            late = late + 1 if complete and not done else 0
            assert late <= 6
            take = int(done and rng.random() < 0.7)
            ctx.set(dut.enters, enters)
            ctx.set(dut.answered, answers)
            ctx.set(dut.ends, marks)
            ctx.set(dut.take, take)
            if marks:
                ends.append(entered)    # what enters in this cycle belongs to the next one
                given += 1
            if take:
                ends.popleft()
                taken += 1
            await ctx.tick()
            entered += enters
            answered += answers
            open_ += enters - answers

    clocked(dut, process)
