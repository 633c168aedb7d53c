"""Every shipped engine and a sweep of others, simulated: golden has to agree with all that they do."""

from __future__ import annotations

from pathlib import Path

import pytest

from hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from tests.lint import lint
from tests.verif.conftest import FULL
from verif.engine.build import engine_text

_SHARES = {"tiny": 0.2, "smallest": 0.2, "default": 0.1, "paper": 0.1, "wide": 0.02}
"""Part of the stimuli that each preset gets: the more lanes, the longer its tensors and the slower its simulation."""

_FEWEST = 2
_SWEEP = [
    EngineConfig(lanes=2, beat_bytes=16, link_beat_bytes=64, block_bytes=512, buffer_bytes=1024, codings=("zvc8",),
                 transfers_in_flight=8),
    EngineConfig(lanes=3, beat_bytes=32, link_beat_bytes=64, block_bytes=1024, buffer_bytes=4096,
                 codings=("zvc16", "zvc32", "bfloat16"), narrowing=True, memories="wrapped", transfers_in_flight=1),
    EngineConfig(lanes=1, beat_bytes=32, link_beat_bytes=32, block_bytes=512, buffer_bytes=2048, address_bits=64,
                 pipeline="fast", transfers_in_flight=2),
    EngineConfig(lanes=3, beat_bytes=64, link_beat_bytes=64, block_bytes=1024, buffer_bytes=4096,
                 codings=("zvc8", "zvc16", "bfloat16")),
    EngineConfig(lanes=5, beat_bytes=16, link_beat_bytes=32, block_bytes=2048, buffer_bytes=6144, crc=False,
                 outstanding_reads=1, transfers_in_flight=3),
    EngineConfig(lanes=1, beat_bytes=64, link_beat_bytes=64, block_bytes=32768, buffer_bytes=65536,
                 codings=("zvc16", "zvc32", "float32"), transfers_in_flight=7),
    EngineConfig(lanes=2, beat_bytes=32, link_beat_bytes=64, block_bytes=8192, buffer_bytes=16384,
                 codings=("zvc8", "zvc32"), crc=False),
    EngineConfig(lanes=4, beat_bytes=16, link_beat_bytes=16, block_bytes=16384, buffer_bytes=49152, queue_depth=64),
    EngineConfig(lanes=4, beat_bytes=64, link_beat_bytes=64, block_bytes=512, buffer_bytes=2048, address_bits=32,
                 outstanding_reads=32),
    EngineConfig(lanes=6, beat_bytes=16, link_beat_bytes=64, block_bytes=1024, buffer_bytes=2048,
                 codings=("zvc16", "bfloat16"), pipeline="fast"),
    EngineConfig(lanes=7, beat_bytes=32, link_beat_bytes=32, block_bytes=512, buffer_bytes=1024, codings=("zvc32",),
                 queue_depth=16),
    EngineConfig(lanes=8, beat_bytes=16, link_beat_bytes=32, block_bytes=512, buffer_bytes=1536, address_bits=48),
    EngineConfig(lanes=2, beat_bytes=16, link_beat_bytes=16, block_bytes=4096, buffer_bytes=8192, narrowing=True,
                 codings=("zvc8", "zvc16", "zvc32")),
    EngineConfig(lanes=4, beat_bytes=64, link_beat_bytes=64, block_bytes=2048, buffer_bytes=8192, narrowing=True,
                 crc=False, pipeline="fast"),
    EngineConfig(lanes=16, beat_bytes=16, link_beat_bytes=16, block_bytes=512, buffer_bytes=1024, outstanding_reads=2),
]
"""Configurations beside the presets; the first few in every run, all of them in the full regression."""

_CONFIGS = {f"sweep{number}": config.replace(name=f"cdma_sweep{number}")
            for number, config in enumerate(_SWEEP if FULL else _SWEEP[:_FEWEST])}


@pytest.mark.parametrize("preset", engine_preset_names())
def test_lint(preset: str, build_dir: Path, tmp_path: Path) -> None:
    config = load_engine(preset)
    lint(config.name, engine_text(config, build_dir), tmp_path)


@pytest.mark.parametrize("module", ["transfers", "faults"])
@pytest.mark.parametrize("preset", engine_preset_names())
def test_preset(preset: str, module: str, engine_bench) -> None:
    engine_bench(load_engine(preset), f"verif.engine.benches.{module}", share=_SHARES[preset],
                 full=min(1.0, 10 * _SHARES[preset]))


@pytest.mark.parametrize("module", ["transfers", "faults"])
@pytest.mark.parametrize("config", _CONFIGS.values(), ids=_CONFIGS)
def test_sweep(config: EngineConfig, module: str, engine_bench) -> None:
    engine_bench(config, f"verif.engine.benches.{module}", share=0.2 / config.lanes, full=0.4 / config.lanes)


@pytest.mark.parametrize("name", [*(engine_preset_names() if FULL else ["tiny"]), "sweep0"])
def test_bus_models_of_others(name: str, engine_bench) -> None:
    # These models take a Python step for every beat, and so some tens of times longer. They need an engine that is
    # compiled for them: a usual run has one of one lane, and a small one of two.
    config, share = ((load_engine(name), _SHARES[name]) if name in _SHARES else (_CONFIGS[name], 0.1))
    engine_bench(config, "verif.engine.benches.transfers", share=share / 2, full=share, models=True,
                 image_bytes=1 << 20)
