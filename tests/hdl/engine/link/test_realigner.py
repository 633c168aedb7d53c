"""The realigner against the words of blocks: every row begins where the header says, whatever the pauses."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.engine.link.realigner import Realigner
from tests.hdl.bench import clocked


def _number(words: list[int]) -> int:
    return sum(word << 32 * at for at, word in enumerate(words))


@pytest.mark.parametrize("going", [1.0, 0.4])
@pytest.mark.parametrize("words", [4, 8, 16])
def test_rows_of_blocks(words: int, going: float) -> None:
    realigner = Realigner(words)
    rng = random.Random(f"{words} {going}")

    async def process(ctx: Any) -> None:
        async def pause() -> None:
            # The registers hold while nothing is kept or made.
            ctx.set(realigner.keep, 0)
            ctx.set(realigner.make, 0)
            while rng.random() >= going:
                ctx.set(realigner.beat, rng.getrandbits(32 * words))
                await ctx.tick()

        for _ in range(80):
            place, payload = rng.randrange(words), [rng.getrandbits(32) for _ in range(rng.randrange(1, 6 * words))]
            # The header and what is before it, the payload, and what is behind the block in its last beat.
            content = [rng.getrandbits(32) for _ in range(place + 1)] + payload
            content += [rng.getrandbits(32) for _ in range(-len(content) % words)]
            beats = [content[at:at + words] for at in range(0, len(content), words)]
            rows = [payload[at:at + words] for at in range(0, len(payload), words)]
            ctx.set(realigner.place, place)
            await pause()
            assert ctx.get(realigner.carried) == (1 << words - 1 - place) - 1
            for number in range(len(rows) + 1):
                flush = number == len(beats)
                ctx.set(realigner.beat, rng.getrandbits(32 * words) if flush else _number(beats[number]))
                ctx.set(realigner.keep, not flush)
                ctx.set(realigner.make, number > 0)
                ctx.set(realigner.flush, flush)
                await ctx.tick()
                await pause()
                if number:
                    row = rows[number - 1]
                    mask = (1 << 32 * len(row)) - 1
                    assert ctx.get(realigner.row) & mask == _number(row), (place, number)

    clocked(realigner, process)
