"""Every shipped preset of the block cores, simulated: golden says what must come out."""

from __future__ import annotations

import pytest

from cdma.hdl.config.block_core import load_block
from cdma.verif.common import tools
from tests.verif.conftest import FULL, Bench

_OTHER = "icarus" if tools.available("icarus") else "verilator"
"""Of the presets beside the first four a few packets pass in Icarus, which compiles in a second and knows X."""

_RUNS = {f"{kind}block_{core}": ("verilator", 0.5) for kind in ("", "exponent_")
         for core in ("compressor", "decompressor")} | {
    f"{kind}_block_{core}": ("verilator" if FULL else _OTHER, 1.0 if FULL else 0.015)
    for kind, cores in (("narrow", 2), ("paper", 2), ("wide", 2), ("fast", 1))
    for core in ("compressor", "decompressor")[:cores]}


@pytest.mark.parametrize("preset", _RUNS)
def test_preset(preset: str, bench: Bench) -> None:
    config = load_block(preset)
    simulator, share = _RUNS[preset]
    bench(config, f"cdma.verif.core.benches.{config.core}", simulator=simulator, share=share)


@pytest.mark.parametrize("preset", ["block_compressor", "block_decompressor"])
def test_bus_models_of_others(preset: str, bench: Bench) -> None:
    bench(load_block(preset), "cdma.verif.core.benches.interoperate")
