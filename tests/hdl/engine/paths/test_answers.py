"""The counts of the lanes' bursts: a transfer is done when all bursts that entered before its end are answered."""

from __future__ import annotations

import random
from collections import deque

import pytest

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.paths.answers import Answers, bursts_of_block
from tests.hdl.bench import clocked


@pytest.mark.parametrize(("block_bytes", "burst_beats"), [(2048, 256), (16384, 256), (4096, 16)])
def test_done_when_all_bursts_of_a_transfer_are_answered(block_bytes: int, burst_beats: int) -> None:
    """Transfers of no block, one and many; marks and responses in any order that a lane can make."""
    config = EngineConfig(block_bytes=block_bytes, buffer_bytes=2 * block_bytes, transfers_in_flight=3,
                          burst_beats=burst_beats)
    most = bursts_of_block(config)
    rng = random.Random(block_bytes)
    dut = Answers(config)
    lanes = range(config.lanes)

    async def process(ctx) -> None:
        taken = 0
        answered, entered = [0] * config.lanes, [0] * config.lanes
        ends: deque[list[int]] = deque()    # bursts that had entered at the end of each transfer that was not taken
        marked: deque[list[int]] = deque()  # what the counts were then
        late = 0                            # cycles for which the oldest is complete
        while taken < 150:
            # A lane is ahead of the oldest transfer by what the others have room for.
            oldest = [min(answered[k], ends[0][k]) if ends else answered[k] for k in lanes]
            enters = [rng.randint(1, most) if entered[k] - oldest[k] < 4 + 16 * most and rng.random() < 0.4 else 0
                      for k in lanes]
            answers = [int(entered[k] > answered[k] and rng.random() < (0.6, 0.5, 0.1, 0.6)[k]) for k in lanes]
            marks = int(len(ends) < 3 and rng.random() < 0.15)
            done = ctx.get(dut.done)
            complete = bool(ends) and all(number >= end for number, end in zip(answered, ends[0], strict=True))
            assert complete or not done
            late = late + 1 if complete and not done else 0
            assert late <= 2
            take = int(done and rng.random() < 0.7)
            for k in lanes:
                ctx.set(dut.enters[k], enters[k])
            ctx.set(dut.answered, sum(bit << k for k, bit in enumerate(answers)))
            ctx.set(dut.valid, bool(ends))
            if ends:
                ctx.set(dut.mark, marked[0])
            ctx.set(dut.take, take)
            if marks:
                marked.append([ctx.get(dut.marks[k]) for k in lanes])
                ends.append(list(entered))      # what enters in this cycle belongs to the next one
            if take:
                ends.popleft()
                marked.popleft()
                taken += 1
            await ctx.tick()
            for k in lanes:
                entered[k] += enters[k]
                answered[k] += answers[k]

    clocked(dut, process)
