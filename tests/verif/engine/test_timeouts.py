"""Engines whose ports fall silent."""

from __future__ import annotations

import pytest

from cdma.hdl.config.engine import EngineConfig, load_engine
from tests.verif.conftest import FULL
from tests.verif.engine.sweep import SWEEP

_NARROW = EngineConfig(name="cdma_silent", lanes=3, beat_bytes=16, link_beat_bytes=32, block_bytes=512,
                       buffer_bytes=1024, address_bits=48, outstanding_reads=2)
_ENGINES = [load_engine("tiny"), SWEEP["sweep0"], *([_NARROW, load_engine("engine")] if FULL else [])]


@pytest.mark.parametrize("config", _ENGINES, ids=lambda config: config.name)
def test_ports_that_fall_silent(config: EngineConfig, engine_bench) -> None:
    # Small memories: they are dumped and compared some hundred times. A memory is a power of two.
    engine_bench(config, "cdma.verif.engine.benches.timeouts", share=0.3,
                 image_bytes=1 << 17 + config.lanes.bit_length())
