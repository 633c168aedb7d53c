"""The barrel shifter against a list of words: what it joins is what was put in, in order, row by row."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.engine.link.barrel_shifter import BarrelShifter
from tests.hdl.bench import clocked


def _number(words: list[int]) -> int:
    return sum(word << 32 * at for at, word in enumerate(words))


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("words", [4, 8, 16])
@pytest.mark.parametrize("going", [1.0, 0.5])
def test_rows_are_the_words_in_order(words: int, sides: int, going: float) -> None:
    shifter = BarrelShifter(words, sides)
    rng = random.Random(f"{words} {sides} {going}")

    def fresh(count: int) -> list[int]:
        return [rng.getrandbits(32) for _ in range(count)]

    async def process(ctx: Any) -> None:
        rest: list[int] = []        # words that have not filled a row
        row = None                  # what the register shows; None before there was one
        for _ in range(600):
            side = rng.randrange(sides)
            kind = rng.choice(["none", "full", "short", "pair"])
            parts = [(fresh(words), rng.randrange(words)) for _ in range(2)]
            place, joined, given = len(rest), list(rest), kind != "none"
            if kind == "none":
                parts = [(data, place) for data, _ in parts]
            else:
                count = words if kind == "full" else rng.randrange(1, words + 1)
                # A second part comes only where the first one leaves room, and fills the row.
                kind = "full" if kind == "pair" and (sides == 1 or place + count >= words) else kind
                first = fresh(words if kind == "full" else count)
                parts[side] = first + [0] * (words - len(first)), place
                joined += first
                if kind == "pair":
                    parts[1 - side] = fresh(words), len(joined)
                    joined += parts[1 - side][0]
            advance = rng.random() < going
            for number in range(sides):
                ctx.set(shifter.parts[number].data, _number(parts[number][0]))
                ctx.set(shifter.parts[number].place, parts[number][1])
            ctx.set(shifter.side, side)
            ctx.set(shifter.beat, given)
            ctx.set(shifter.pair, kind == "pair")
            ctx.set(shifter.short, given and kind != "pair" and len(joined) < words)
            ctx.set(shifter.advance, advance)
            await ctx.tick()
            if advance:
                row = (joined + [0] * words)[:words]
                rest = joined[words:] if len(joined) >= words else joined
            if row is not None:
                assert ctx.get(shifter.row) == _number(row)

    clocked(shifter, process)
