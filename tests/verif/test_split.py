"""Split designs in simulation: the same benches, and golden has to agree with them too."""

from __future__ import annotations

from pathlib import Path

from cdma.hdl.config.core import load
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.generate.verilog import emit
from cdma.verif.common import runner
from cdma.verif.engine.build import checked_top
from cdma.verif.engine.top import IMAGE_BYTES, top_name
from tests.extended import extended
from tests.verif.conftest import Bench

_ENGINE = EngineConfig(name="cdma_bare_split", lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=512,
                       buffer_bytes=1024, address_bits=32, codings=("zvc8",), crc=False)


def test_a_core(run_bench: Bench, build_dir: Path) -> None:
    config = load("paper_compressor").replace(name="cdma_paper_compressor_split")
    built = runner.build(emit(config, split=True).text, config.name, simulator="verilator", build_dir=build_dir)
    run_bench(built, "cdma.verif.core.benches.compressor", config=config.as_dict(), share=0.2)


@extended
def test_an_engine(run_bench: Bench, build_dir: Path) -> None:
    text = checked_top(emit(_ENGINE, split=True).text, _ENGINE)
    built = runner.build(text, top_name(_ENGINE), simulator="verilator", build_dir=build_dir)
    run_bench(built, "cdma.verif.engine.benches.transfers", config=_ENGINE.as_dict(), share=0.2, models=False,
              image_bytes=IMAGE_BYTES)
