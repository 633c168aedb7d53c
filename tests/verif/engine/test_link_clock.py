"""Engines whose link has a clock of its own: unrelated clocks with jitter, resets, clocks that stand; and everything
that other engines are simulated with."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.hdl.config.engine import EngineConfig
from cdma.verif.engine.build import engine_text
from tests.extended import usually
from tests.lint import lint
from tests.verif.conftest import FULL
from tests.verif.engine.sweep import TWO_CLOCKS

_ALL = EngineConfig(name="cdma_clocks_all", lanes=2, beat_bytes=16, link_beat_bytes=32, block_bytes=512,
                    buffer_bytes=1024, codings=("zvc8",), burst_beats=16, safe_writes=True, attribute_registers=True,
                    user_bits=3, page_lists=True, address_windows=True, write_back=True, memories="wrapped",
                    buffer_parity=True, transfers_in_flight=3, link_clock="separate")
_ENGINES = [TWO_CLOCKS, *([_ALL] if FULL else [])]
_each = pytest.mark.parametrize("config", _ENGINES, ids=lambda config: config.name)


@_each
def test_lint(config: EngineConfig, build_dir: Path, tmp_path: Path) -> None:
    lint(config.name, engine_text(config, build_dir), tmp_path)


@_each
def test_clocks(config: EngineConfig, engine_bench) -> None:
    # Small memories: they are dumped and compared after every transfer.
    engine_bench(config, "cdma.verif.engine.benches.link_clock", share=0.2, full=0.4, image_bytes=1 << 19)


_ROWS = usually(of=[
    ("transfers", 2.9), ("faults", 0.37), ("timeouts", 0.37),
    *([("transfers", 0.37), ("faults", 2.9), ("timeouts", 2.9)] if FULL else [])])
"""Benches of other engines, and the clock of the link beside that of the engine."""


@pytest.mark.parametrize(("module", "ratio"), _ROWS)
@_each
def test_as_other_engines(config: EngineConfig, module: str, ratio: float, engine_bench) -> None:
    smaller = {"image_bytes": 1 << 19} if module == "timeouts" else {}
    engine_bench(config, f"cdma.verif.engine.benches.{module}", share=0.1, full=0.3, link_ratio=ratio, **smaller)
