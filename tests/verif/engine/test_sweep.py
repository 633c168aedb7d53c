"""The sweep has the options of engines in pairs."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.measure.options import OPTIONS, OPTIONS_OF
from tests.verif.engine.sweep import EVERY

_PLAIN = load_engine(OPTIONS_OF)
_OPTIONS = [next(iter(values)) for values in OPTIONS.values() if values]
"""The parameter that each option sets first."""


def _on(config: EngineConfig) -> set[str]:
    return {name for name in _OPTIONS if getattr(config, name) != getattr(_PLAIN, name)}


@pytest.mark.parametrize(("one", "other"), list(combinations(_OPTIONS, 2)))
def test_two_options_are_on_and_off_in_every_way(one: str, other: str) -> None:
    seen = {(one in on, other in on) for on in map(_on, EVERY)}
    assert seen == set(product((True, False), repeat=2))


def test_the_first_engine_has_all_options_but_the_clock() -> None:
    assert _on(EVERY[0]) == {*_OPTIONS} - {"link_clock"}
