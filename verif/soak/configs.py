"""Random configurations of the engine, drawn so that any two settings of options are soon seen together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np

from cdma.hdl.codec.coding import CODINGS
from cdma.hdl.config.engine import SWITCHES, EngineConfig

__all__ = ["CHOICES", "OPTIONS", "all_pairs", "pairs", "random_config"]

OPTIONS: Mapping[str, Sequence[Any]] = MappingProxyType({
    **dict.fromkeys(SWITCHES, (False, True)), "link_clock": ("shared", "separate"), "pipeline": ("small", "fast"),
    "memories": ("inferred", "wrapped"), "burst_beats": (256, 128, 64, 32, 16),
    "link_read_ids": (1, 2, 4, 16), "outstanding_reads": (4, 1, 2, 32), "transfers_in_flight": (6, 1, 2, 32)})
"""The options of an engine whose settings are counted in pairs, and the settings that are drawn."""

CHOICES: Mapping[str, Sequence[Any]] = MappingProxyType({
    name: (field.default, choices[1], choices[-1]) for name, field in EngineConfig.fields().items()
    if type(field.default) is int and name not in {*OPTIONS, "buffer_bytes"} and (choices := field.metadata["choices"])
} | {
    "lanes": (1, 1, 1, 2, 2, 3, 4, 5, 8), "beat_bytes": (16, 16, 32, 64), "link_beat_bytes": (16, 32, 64),
    "block_bytes": (512, 1024, 1024, 2048, 4096, 8192), "address_bits": (32, 40, 48, 64), "queue_depth": (8, 8, 32),
    "user_bits": (0, 3, 16), "lane_user": (0, 5), "link_user": (0, 2)})
"""Other parameters, and the values that are drawn: the default, a small and the largest one, unless they are chosen
here; small engines are compiled sooner, so they are more frequent."""

_TRIES = 24
_BUFFERS = (5, 6, 8, 12)
"""Bytes of a lane's buffer in quarters of a block."""

Pair = tuple[str, str]


def pairs(config: EngineConfig) -> set[Pair]:
    """The pairs of settings of two options that a configuration has, each as ``option=setting``."""
    settings = [f"{name}={getattr(config, name)}" for name in OPTIONS]
    return set(combinations(settings, 2))


def all_pairs() -> set[Pair]:
    """All pairs of settings of two options that are drawn."""
    named = [[f"{name}={setting}" for setting in settings] for name, settings in OPTIONS.items()]
    return {(one, other) for left, right in combinations(named, 2) for one in left for other in right}


def random_config(rng: np.random.Generator, seen: Iterable[Pair] = (), name: str = "cdma_soak") -> EngineConfig:
    """A configuration that is allowed, and has many pairs of settings that were not seen before.

    Parameters
    ----------
    rng
        Makes the choices.
    seen
        Pairs of earlier configurations.
    name
        Of the top module.
    """
    known = set(seen)
    drawn = [_draw(rng, name) for _ in range(_TRIES)]
    return max(drawn, key=lambda config: len(pairs(config) - known))


def _draw(rng: np.random.Generator, name: str) -> EngineConfig:
    while True:
        values: dict[str, Any] = {key: settings[int(rng.integers(len(settings)))]
                                  for key, settings in {**CHOICES, **OPTIONS}.items()}
        quarters = int(_BUFFERS[int(rng.integers(len(_BUFFERS)))])
        step = values["link_beat_bytes"]
        values["buffer_bytes"] = -(-values["block_bytes"] * quarters // 4 // step) * step
        built = [coding for coding in CODINGS if rng.random() < 0.5] or ["zvc32"]
        values["codings"] = tuple(built)
        try:
            return EngineConfig(name=name, **values)
        except ValueError:
            # Some combinations are not allowed: narrowing needs zvc16, and AxUSER bits for its value.
            continue
