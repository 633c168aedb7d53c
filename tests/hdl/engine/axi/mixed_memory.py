"""A memory that answers reads of different identifiers in any order, and mixes their beats."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.hdl.engine.axi.memory import SIZE, Memory

__all__ = ["MixedMemory"]


@dataclass
class _Burst:
    """A burst that is outstanding, and how many of its beats have gone."""

    identifier: int
    address: int
    beats: int
    due: int
    gone: int = 0


@dataclass
class MixedMemory(Memory):
    """As :class:`tests.hdl.engine.axi.memory.Memory` for reads, but for the order of the answers.

    Parameters
    ----------
    changes
        Share of the beats behind which another burst goes on, though this one has not ended; None: bursts are answered
        in order.
    withheld
        Identifiers that are not answered.
    orders
        The identifiers of the bursts in the order of their last beats.
    """

    changes: float | None = 0.0
    withheld: tuple[int, ...] = ()
    orders: list[int] = field(default_factory=list)
    mixed: int = 0

    async def read(self, ctx: Any) -> None:
        """Serves the read channels, for ever."""
        axi, now = self.axi, 0
        bursts: list[_Burst] = []
        shown: _Burst | None = None
        current: _Burst | None = None
        pace = {channel: self._pace() for channel in ("ar", "r")}
        while True:
            ready = pace["ar"].go()
            ctx.set(axi.arready, ready)
            if shown is None and pace["r"].go():
                current = shown = self._chosen([each for each in bursts if each.due <= now
                                                and each.identifier not in self.withheld], current)
                if shown is not None:
                    place = (shown.address + shown.gone * self.beat_bytes) % SIZE
                    ctx.set(axi.rdata, int.from_bytes(self.content[place:place + self.beat_bytes], "little"))
                    ctx.set(axi.rresp, self.faulty.get(place, 0))
                    ctx.set(axi.rid, shown.identifier)
                    ctx.set(axi.rvalid, 1)
            if shown is None:
                # Nothing of these may matter while no beat is valid.
                ctx.set(axi.rid, self.rng.randrange(1 << len(axi.rid)))
                ctx.set(axi.rvalid, 0)
            ctx.set(axi.rlast, self.rng.random() < 0.5)     # the unit does not need it
            _, _, arvalid, arid, araddr, arlen, arsize, arburst, rready = await ctx.tick().sample(
                axi.arvalid, axi.arid, axi.araddr, axi.arlen, axi.arsize, axi.arburst, axi.rready)
            now += 1
            if arvalid and ready:
                assert arid not in [each.identifier for each in bursts], f"two reads with the identifier {arid}"
                self._check(araddr, arlen + 1, arsize, arburst)
                self._opens(1)
                bursts.append(_Burst(arid, araddr, arlen + 1, now + self.latency))
            if shown is not None and rready:
                shown.gone += 1
                if shown.gone == shown.beats:
                    bursts.remove(shown)
                    self.orders.append(shown.identifier)
                    self.open -= 1
                shown = None

    def _chosen(self, bursts: list[_Burst], current: _Burst | None) -> _Burst | None:
        """The burst whose beat is next."""
        if not bursts:
            return None
        if self.changes is None:
            return bursts[0]
        if current in bursts and self.rng.random() >= self.changes:
            return current
        self.mixed += current in bursts
        return self.rng.choice(bursts)
