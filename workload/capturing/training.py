"""What a training of a worked example gives."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Training"]


@dataclass(frozen=True)
class Training:
    """A run: its seed, the format that activations were rounded to, the share of the test data that is right, and the
    mean loss of every epoch."""

    seed: int
    narrow: str | None
    accuracy: float
    losses: tuple[float, ...]
