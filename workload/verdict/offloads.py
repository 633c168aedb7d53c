"""The predicted time of an offload through the engine, beside that of the same bytes uncompressed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cdma.golden.results import derived
from cdma.workload.characterise.arrays import Coded
from cdma.workload.timeline.schedule import Engine

__all__ = ["Offload", "Path"]


@dataclass(frozen=True)
class Offload:
    """Microseconds that bytes take over the link, without the engine and with it."""

    raw_us: float
    engine_us: float

    @derived
    def gain(self) -> float | None:
        """How many times as fast the engine is; None without bytes."""
        return self.raw_us / self.engine_us if self.engine_us else None

    def __add__(self, other: Offload) -> Offload:
        return Offload(self.raw_us + other.raw_us, self.engine_us + other.engine_us)


@dataclass(frozen=True)
class Path:
    """A link, and the engine in front of it.

    Parameters
    ----------
    link
        10^9 bytes a second.
    engine
        The engine with the share of its limit that it was measured to reach.
    """

    link: float
    engine: Engine

    def offload(self, raw_bytes: int, packed_bytes: int) -> Offload:
        """The time of a tensor that is one of many.

        The start of a transfer is not counted, because the engine begins a transfer while the one before is still on
        the link.
        """
        if not raw_bytes:
            return Offload(0.0, 0.0)
        seconds = self.engine.transfer(self.link * 1e9, lambda name: raw_bytes / packed_bytes)
        return Offload(raw_bytes / self.link / 1e3,
                       (seconds("", "offload", raw_bytes) - seconds("", "offload", 0)) * 1e6)

    def of_all(self, tensors: Iterable[Coded], coding: str | None = None) -> Offload:
        """The time of several tensors, each with a coding of characterise, or with its best one."""
        return sum((self.offload(one.raw_bytes, one.best_bytes if coding is None else one.packed[coding])
                    for one in tensors), Offload(0.0, 0.0))
