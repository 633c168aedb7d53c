"""What the tests of the AXI units send and take: requests, streams of beats, and pauses."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

__all__ = ["Pace", "beats_of", "give", "never_waits", "spans", "take_packet"]


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


def spans(rng: random.Random, beat_bytes: int, count: int) -> list[tuple[int, int]]:
    """Requests, address and bytes, many of them around the edges of pages and beats."""
    found = []
    for _ in range(count):
        address = rng.choice([0, 4096 - beat_bytes, 4096 - 2 * beat_bytes, rng.randrange(0, 8192, beat_bytes)])
        to_page = 4096 - address % 4096
        size = rng.choice([1, beat_bytes - 1, beat_bytes, beat_bytes + 1, to_page, to_page + 1, to_page + 4096,
                           rng.randint(1, 600), rng.randint(1, 5000)])
        found.append((address + 4096 * rng.randrange(4), size))
    return found


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


def never_waits(axi: Any, domain: str = "sync") -> Any:
    """Watches that the data of a burst are there from its address on: a cycle later, and in every cycle up to the last
    beat; a reset of the domain ends them all."""

    async def watch(ctx: Any) -> None:
        inside = False
        open_ = late = 0        # bursts whose address was shown and whose last beat was not taken; since when
        before = False
        while True:
            _, reset, asks, ready, beat, moves, last = await ctx.tick(domain).sample(
                axi.awvalid, axi.awready, axi.wvalid, axi.wready, axi.wlast)
            if reset:
                inside = before = False
                open_ = late = 0
                continue
            late = late + 1 if open_ and not beat else 0
            assert late <= 1, "an address was given, and its data wait"
            assert not (late and inside), "data wait inside a burst"
            open_ += bool(asks) and not before
            before = bool(asks) and not ready
            inside = bool(beat) and not (moves and last)
            open_ -= bool(beat and moves and last)

    return watch
