"""Random configurations: every parameter is drawn, and all pairs of settings come soon."""

from __future__ import annotations

import numpy as np

from cdma.hdl.config.engine import EngineConfig
from cdma.measure.options import OPTIONS as OPTIONS_WITH_A_COST
from cdma.verif.soak.configs import CHOICES, OPTIONS, Pair, all_pairs, pairs, random_config

_DERIVED = {"name", "about", "buffer_bytes", "codings"}


def test_every_parameter_is_drawn() -> None:
    assert {*OPTIONS, *CHOICES} | _DERIVED == set(EngineConfig.fields())


def test_every_option_whose_cost_is_measured_counts_in_pairs() -> None:
    assert {next(iter(values)) for values in OPTIONS_WITH_A_COST.values() if values} <= set(OPTIONS)


def test_pairs_of_settings_come_soon() -> None:
    rng = np.random.default_rng(1)
    seen: set[Pair] = set()
    for _ in range(60):
        seen |= pairs(random_config(rng, seen))
    assert seen <= all_pairs()
    assert len(seen) > 0.97 * len(all_pairs())


def test_configurations_are_reproducible() -> None:
    one, other = ([random_config(rng) for _ in range(3)] for rng in (np.random.default_rng(5),
                                                                      np.random.default_rng(5)))
    assert one == other
