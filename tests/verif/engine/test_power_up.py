"""A whole engine from power-up in every simulator that is installed, under the rules of both standards of Verilog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.verif.common import runner, tools
from cdma.verif.common.power_up import random_registers
from cdma.verif.engine.build import checked_top, engine_text
from cdma.verif.engine.top import IMAGE_BYTES, top_name
from tests.extended import usually
from tests.verif.conftest import Bench
from tests.verif.engine.sweep import TWO_CLOCKS

_TINY = load_engine("tiny")
_BENCH = "cdma.verif.engine.benches.power_up"


def _run(config: EngineConfig, text: str, simulator: str, options: tuple[str, ...], build_dir: Path,
         run_bench: Bench) -> list[dict[str, Any]]:
    built = runner.build(checked_top(text, config), top_name(config), simulator=simulator, build_dir=build_dir,
                         options=options)
    return run_bench(built, _BENCH, config=config.as_dict(), image_bytes=IMAGE_BYTES)["completions"]


@pytest.mark.skipif(not tools.available("icarus"), reason="Icarus Verilog is not installed")
@pytest.mark.parametrize(("standard", "config", "registers"), usually(
    ("2005", TWO_CLOCKS, "unknown"), of=[
        *(("2005", TWO_CLOCKS, registers) for registers in ("unknown", "random")),
        *((standard, _TINY, registers) for standard in ("2005", "2012") for registers in ("unknown", "random"))]),
    ids=lambda value: getattr(value, "name", value))
def test_engines_in_icarus(standard: str, config: EngineConfig, registers: str, run_bench: Bench, build_dir: Path,
                           seed: int) -> None:
    text = engine_text(config, build_dir)
    expected = _run(config, text, "verilator", (), build_dir, run_bench)
    assert [completion["status"] for completion in expected] == (12 if len(config.codings) > 1 else 6) * [0]
    # The memories beside the engine count ones with a function of SystemVerilog.
    options = (f"-g{standard}", "-mv2009")
    start = random_registers(text, seed) if registers == "random" else text
    # The same in every cycle: completions tell how many each transfer took.
    assert _run(config, start, "icarus", options, build_dir, run_bench) == expected
