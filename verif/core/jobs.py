"""The records that :mod:`cdma.verif.core.streaming` exchanges with its bench, as JSON: what to send, and what was
seen."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.hdl.config.core import CoreConfig

__all__ = ["PacketFiles", "StreamJob", "StreamReport"]


@dataclass(frozen=True)
class PacketFiles:
    """A packet: files of the bytes that go in, of those that must come out, and of the bytes at which lines start."""

    data: str
    expected: str
    starts: str
    element_bytes: int


@dataclass(frozen=True)
class StreamJob:
    """What to send.

    Parameters
    ----------
    config
        The core.
    packets
        In their order.
    stalls, burst
        Share of the cycles that either side pauses, and mean length of a pause.
    alone
        Whether each packet is sent only when the one before has come out.
    """

    config: CoreConfig
    packets: tuple[PacketFiles, ...]
    stalls: float
    burst: float
    alone: bool


@dataclass(frozen=True)
class StreamReport:
    """What was seen.

    Parameters
    ----------
    taken, given
        Of every packet that went in, and of every one that came out: the cycles of all beats if packets were sent
        alone; else those of the first and the last beat and the number of beats. Empty where there was no beat.
    judged
        Of every packet that came out: what was wrong with it, or None.
    failed
        Why the bench ended early, or None.
    """

    taken: tuple[list[int], ...]
    given: tuple[list[int], ...]
    judged: tuple[str | None, ...]
    failed: str | None
