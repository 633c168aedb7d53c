"""Both ends of a stream that stall at random, for tests that know all that goes in and all that is to come."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = ["Sink", "Source", "play"]


class Source:
    """Offers payloads, each until it is taken.

    In every cycle all ports are set with ``offer``; then, before the clock, ``settle`` takes note of what moves.
    """

    def __init__(self, port: Any, payloads: Iterable[Any], rng: random.Random, busy: float):
        self.port, self.left, self._rng, self._busy = port, list(payloads), rng, busy
        self.taken = 0
        self._offered = False

    def offer(self, ctx: Any, *, may: bool = True) -> None:
        """Sets the port; a new payload is offered only if it ``may``."""
        if not self._offered and self.left and may and self._rng.random() < self._busy:
            self._offered = True
            ctx.set(self.port.payload, self.left[0])
        ctx.set(self.port.valid, self._offered)

    def settle(self, ctx: Any) -> None:
        """Takes note of a payload that is taken in this cycle."""
        if self._offered and ctx.get(self.port.ready):
            self.left.pop(0)
            self.taken += 1
            self._offered = False


class Sink:
    """Takes what comes and holds it against what is expected; what waits must not change."""

    def __init__(self, port: Any, expected: Sequence[Any], read: Callable[[Any], Any], rng: random.Random,
                 ready: float):
        self.port, self.left, self._read, self._rng, self._ready = port, list(expected), read, rng, ready
        self._held = False

    def offer(self, ctx: Any) -> None:
        """Sets the port."""
        ctx.set(self.port.ready, self._rng.random() < self._ready)

    def settle(self, ctx: Any) -> None:
        """Compares what is there in this cycle."""
        if not ctx.get(self.port.valid):
            assert not self._held, "what was offered is gone, and was not taken"
            return
        assert self.left, "more comes than is expected"
        found = self._read(ctx)
        assert found == self.left[0], f"{found} instead of {self.left[0]}, {len(self.left)} before the end"
        self._held = not ctx.get(self.port.ready)
        if not self._held:
            self.left.pop(0)


async def play(ctx: Any, sources: Sequence[Source], sink: Sink, *, quiet: int = 0) -> int:
    """Plays until all is taken and all that is expected has come; the cycles from the first transfer of the sink on.

    Parameters
    ----------
    quiet
        Cycles for which nothing may come afterwards.
    """
    total, cycles = len(sink.left), 0
    while sink.left or any(source.left for source in sources):
        for end in (*sources, sink):
            end.offer(ctx)
        for end in (*sources, sink):
            end.settle(ctx)
        cycles += len(sink.left) < total
        await ctx.tick()
    for source in sources:
        ctx.set(source.port.valid, 0)
    ctx.set(sink.port.ready, 1)
    for _ in range(quiet):
        assert not ctx.get(sink.port.valid), "more comes than is expected"
        await ctx.tick()
    return cycles
