"""When a side of a stream pauses: seeded patterns of idle and backpressure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, repeat

import numpy as np

__all__ = ["pattern"]

_LENGTH = 8191


def pattern(probability: float, seed: int, burst: float = 1.0) -> Iterator[int]:
    """For every cycle whether to pause (1) or not (0), without end.

    Parameters
    ----------
    probability
        Share of the cycles that pause, from 0 to below 1.
    seed
        The same seed gives the same pattern.
    burst
        Mean length of a pause in cycles; longer when the probability asks for it.

    Raises
    ------
    ValueError
        If the probability is out of range.
    """
    if not 0 <= probability < 1:
        raise ValueError(f"stalls must be at least 0 and below 1, not {probability}")
    if probability == 0:
        return repeat(0)
    rng = np.random.default_rng(seed)
    pause = max(burst, 1.0, probability / (1 - probability))
    between = pause * (1 - probability) / probability
    # Alternating runs of geometric length: a two-state Markov chain. The length is prime, so that the pattern does not
    # fall into step with packets when it comes around.
    runs = np.empty(2 * _LENGTH, dtype=np.int64)
    runs[0::2] = rng.geometric(1 / between, _LENGTH)
    runs[1::2] = rng.geometric(1 / pause, _LENGTH)
    flags = np.repeat(np.tile([0, 1], _LENGTH), runs)[:_LENGTH]
    return cycle(flags.tolist())
