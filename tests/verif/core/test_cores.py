"""Every shipped preset, simulated: what the benches of :mod:`verif.core.benches` send, golden has to agree with."""

from __future__ import annotations

import pytest

from hdl.config.core import load, preset_names
from verif.common import tools

# Icarus is fifty times slower, so it sees less; it knows X, which Verilator does not.
_RUNS = [(preset, "verilator", 1.0) for preset in preset_names()]
_RUNS += [(preset, "icarus", 0.1) for preset in ("paper_compressor", "paper_decompressor") if tools.available("icarus")]


@pytest.mark.parametrize(("preset", "simulator", "share"), _RUNS, ids=[f"{run[0]}-{run[1]}" for run in _RUNS])
def test_preset(preset: str, simulator: str, share: float, bench) -> None:
    config = load(preset)
    bench(config, f"verif.core.benches.{config.core}", simulator=simulator, share=share)


@pytest.mark.parametrize("core", ["compressor", "decompressor"])
def test_two_element_sizes(core: str, bench) -> None:
    config = load(core).replace(element_bits=(8, 32), beat_bytes=16)
    bench(config, f"verif.core.benches.{core}")


@pytest.mark.parametrize("preset", preset_names())
def test_bus_models_of_others(preset: str, bench) -> None:
    bench(load(preset), "verif.core.benches.interoperate")
