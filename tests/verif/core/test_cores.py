"""Every shipped preset, simulated: what the benches of :mod:`cdma.verif.core.benches` send, golden has to agree
with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cdma.hdl.config.block_core import load_block
from cdma.hdl.config.core import load, preset_names
from cdma.hdl.generate.verilog import emit
from cdma.verif.common import runner, tools
from cdma.verif.common.power_up import random_registers
from cdma.verif.core.streaming import checked_core
from cdma.verif.core.testbench import Config
from tests.extended import extended, usually
from tests.verif.conftest import BRIEF, FULL, Bench

_SHARES = dict.fromkeys(preset_names(), 1.0) | {
    f"{kind}block_{core}": 1.0 if FULL else share for kind, share in (
        ("", 0.5), ("exponent_", 0.5), ("narrow_", 0.05), ("wide_", 0.05)) for core in ("compressor", "decompressor")}


def _load(preset: str) -> Config:
    return load_block(preset) if "block" in preset else load(preset)


@pytest.mark.parametrize("preset", _SHARES)
def test_preset(preset: str, bench: Bench) -> None:
    config = _load(preset)
    bench(config, f"cdma.verif.core.benches.{config.core}", share=_SHARES[preset],
          options=BRIEF if _SHARES[preset] < 0.1 else ())


@pytest.mark.parametrize(("core", "setting", "share"), [
    *((core, setting, 0.1) for core in ("compressor", "decompressor")
      for setting in ("pipeline=fast", "beat_bytes=16", "beat_bytes=64")),
    *((f"{exponent}block_{core}", "pipeline=fast", 0.05) for core in ("compressor", "decompressor")
      for exponent in ("", "exponent_")),
    ("block_compressor", "codings=zvc32", 0.05), ("block_decompressor", "codings=zvc32", 0.05)])
def test_other_shapes(core: str, setting: str, share: float, bench: Bench) -> None:
    config = _load(core).replace(name=f"cdma_{core}_{setting.partition('=')[2]}").with_settings([setting])
    bench(config, f"cdma.verif.core.benches.{config.core}", share=1.0 if FULL else share, options=BRIEF)


@pytest.mark.skipif(not tools.available("icarus"), reason="Icarus Verilog is not installed")
@pytest.mark.parametrize("preset", usually("paper_compressor", of=["paper_compressor", "paper_decompressor"]))
def test_preset_in_icarus(preset: str, bench) -> None:
    # Icarus is fifty times slower, so it sees less; it knows X, which Verilator does not.
    config = load(preset)
    bench(config, f"cdma.verif.core.benches.{config.core}", simulator="icarus", share=0.1)


@extended
@pytest.mark.skipif(not tools.available("icarus"), reason="Icarus Verilog is not installed")
@pytest.mark.parametrize("preset", ["paper_compressor", "paper_decompressor"])
def test_random_registers_under_the_rules_of_verilog(preset: str, run_bench: Bench, build_dir: Path, seed: int) -> None:
    # The runs above start with unknown registers, under the rules of SystemVerilog.
    config = load(preset)
    text = random_registers(emit(config).text, seed)
    built = runner.build(text, config.name, simulator="icarus", build_dir=build_dir, options=["-g2005"])
    run_bench(built, f"cdma.verif.core.benches.{config.core}", config=config.as_dict(), share=0.02)


@extended
@pytest.mark.parametrize("core", ["compressor", "decompressor"])
def test_two_element_sizes(core: str, bench) -> None:
    config = load(core).replace(element_bits=(8, 32), beat_bytes=16)
    bench(config, f"cdma.verif.core.benches.{core}")


@pytest.mark.parametrize("preset", [*preset_names(), "block_compressor", "block_decompressor"])
def test_bus_models_of_others(preset: str, bench: Bench) -> None:
    bench(_load(preset), "cdma.verif.core.benches.interoperate")


def test_a_beat_that_changes_with_ready_is_found(build_dir: Path, tmp_path: Path) -> None:
    config = load("compressor").replace(beat_bytes=16)
    text, count = re.subn(r"(?<=assign m_axis_tlast = )(.+)(?=;)", r"(\1) ^ m_axis_tready", checked_core(emit(config)))
    assert count == 1
    built = runner.build(text, config.name, simulator="verilator", build_dir=build_dir)
    job = {"config": config.as_dict(), "share": 0.1}
    with pytest.raises(runner.BenchError, match=rf"rule AXIS_\w+ is broken at {config.name}\.m_axis_rules, time \d+"):
        runner.run(built, "cdma.verif.core.benches.compressor", job=job, folder=tmp_path)
