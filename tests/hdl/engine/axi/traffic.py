"""What the tests of the AXI units send and take: streams of beats, and pauses."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

__all__ = ["Pace", "beats_of", "give", "take_packet"]


@dataclass
class Pace:
    """Stop and go: a share of the cycles are pauses, each of up to ``stretch`` cycles."""

    rng: random.Random
    pauses: float
    stretch: int = 1
    _rest: int = 0
    _going: bool = True

    def go(self) -> bool:
        """Whether this cycle is none of a pause."""
        if self.pauses == 0:
            return True
        if self._rest == 0:
            self._rest = self.rng.randint(1, self.stretch)
            self._going = self.rng.random() >= self.pauses
        self._rest -= 1
        return self._going


def beats_of(content: bytes, beat_bytes: int) -> list[dict[str, int]]:
    """Payloads of the beats that carry some bytes."""
    return [{"data": int.from_bytes(content[k:k + beat_bytes], "little")} for k in range(0, len(content), beat_bytes)]


async def give(ctx: Any, stream: Any, items: list[Any], pace: Pace) -> None:
    """Sends payloads into a stream."""
    for item in items:
        while not pace.go():
            await ctx.tick()
        ctx.set(stream.payload, item)
        ctx.set(stream.valid, 1)
        taken = False
        while not taken:
            _, _, taken = await ctx.tick().sample(stream.ready)
        ctx.set(stream.valid, 0)


async def take_packet(ctx: Any, stream: Any, pace: Pace) -> bytes:
    """Takes beats until the end of a packet, and gives the bytes that it kept."""
    packet = b""
    held: Any = None
    while True:
        ctx.set(stream.ready, pace.go())
        _, _, valid, ready, beat = await ctx.tick().sample(stream.valid, stream.ready, stream.payload)
        if held is not None:
            assert valid and (beat.data, beat.keep, beat.last) == held, "a beat changed before it was taken"
        held = (beat.data, beat.keep, beat.last) if valid and not ready else None
        if valid and ready:
            kept = beat.keep.bit_count()
            assert beat.keep == (1 << kept) - 1
            packet += beat.data.to_bytes(stream.payload.keep.shape().width, "little")[:kept]
            if beat.last:
                return packet
