"""Engines and values that tests of plans share."""

from __future__ import annotations

import numpy as np

from cdma.hdl.config.engine import EngineConfig

NARROWING = EngineConfig(narrowing=True)
ONE_LANE = EngineConfig(lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=2048, buffer_bytes=4096)


def values(seed: int, count: int, density: float) -> np.ndarray:
    """So many random float32 values, of which this share is not zero."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(count) < density, rng.standard_normal(count), 0).astype(np.float32)
