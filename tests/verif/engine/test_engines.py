"""Every shipped engine and a sweep of others, simulated: golden has to agree with all that they do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from cdma.hdl.config.engine import engine_preset_names, load_engine
from cdma.verif.engine.build import engine_text
from tests.extended import usually
from tests.lint import lint
from tests.verif.conftest import BRIEF, FULL
from tests.verif.engine.sweep import LEAST, SWEEP

_SHARES = {"tiny": 0.2, "smallest": 0.2, "lean": 0.1, "engine": 0.1, "paper": 0.1, "wide": 0.02}
"""Part of the stimuli that each preset gets: the more lanes, the longer its tensors and the slower its simulation."""


@pytest.mark.parametrize("name", usually("tiny", "least", of=[*engine_preset_names(), "least", *SWEEP]))
def test_lint(name: str, build_dir: Path, tmp_path: Path) -> None:
    others = {"least": LEAST, **SWEEP}
    config = others[name] if name in others else load_engine(name)
    lint(config.name, engine_text(config, build_dir), tmp_path)


@pytest.mark.parametrize("preset", usually("tiny", "smallest", "engine", of=engine_preset_names()))
def test_transfers(preset: str, engine_bench) -> None:
    _run_preset(preset, "transfers", engine_bench)


@pytest.mark.parametrize("preset", ["lean", "paper", "wide"])
def test_transfers_in_short(preset: str, engine_bench) -> None:
    # So that each preset is simulated in a usual run.
    _run_preset(preset, "transfers", engine_bench, "random_tensors|both_directions|rings", BRIEF)


@pytest.mark.parametrize("preset", usually("tiny", of=engine_preset_names()))
def test_faults(preset: str, engine_bench) -> None:
    _run_preset(preset, "faults", engine_bench)


def _run_preset(preset: str, module: str, engine_bench, tests: str | None = None,
                options: Sequence[str] = ()) -> None:
    engine_bench(load_engine(preset), f"cdma.verif.engine.benches.{module}", share=_SHARES[preset],
                 full=min(1.0, 10 * _SHARES[preset]), tests=tests, options=options)


@pytest.mark.parametrize("module", ["transfers", "faults"])
@pytest.mark.parametrize("name", usually("sweep0", of=SWEEP))
def test_sweep(name: str, module: str, engine_bench) -> None:
    # A link's own clock is slower than the engine's in one bench, faster in the other.
    config = SWEEP[name]
    engine_bench(config, f"cdma.verif.engine.benches.{module}", share=0.2 / config.lanes, full=0.4 / config.lanes,
                 link_ratio={"transfers": 0.37, "faults": 2.9}[module])


@pytest.mark.parametrize("name", [name for name, config in SWEEP.items() if config.address_windows])
def test_windows(name: str, engine_bench) -> None:
    engine_bench(SWEEP[name], "cdma.verif.engine.benches.windows", share=0.1, full=1.0 / SWEEP[name].lanes)


@pytest.mark.parametrize("name", [name for name, config in SWEEP.items() if config.page_lists])
def test_page_lists(name: str, engine_bench) -> None:
    config = SWEEP[name]
    engine_bench(config, "cdma.verif.engine.benches.page_lists", share=0.4 / config.lanes, full=1.0 / config.lanes)


@pytest.mark.parametrize("name", [name for name, config in SWEEP.items()
                                  if config.page_lists and config.address_windows])
def test_page_windows(name: str, engine_bench) -> None:
    engine_bench(SWEEP[name], "cdma.verif.engine.benches.page_windows", share=0.2, full=1.0)


@pytest.mark.parametrize("name", [name for name, config in SWEEP.items() if config.write_back])
def test_write_back(name: str, engine_bench) -> None:
    engine_bench(SWEEP[name], "cdma.verif.engine.benches.write_back", share=0.1, full=1.0 / SWEEP[name].lanes)


@pytest.mark.parametrize("name", usually("sweep0", of=[
    name for name, config in SWEEP.items() if config.buffer_parity]))
def test_buffer_parity(name: str, engine_bench) -> None:
    engine_bench(SWEEP[name], "cdma.verif.engine.benches.buffer_parity", share=0.2, full=1.0)


@pytest.mark.parametrize("name", usually("smallest", of=[
    *(engine_preset_names() if FULL else ["smallest", "tiny"]),
    *(name for name in ("sweep0", "sweep2") if name in SWEEP)]))
def test_bus_models_of_others(name: str, engine_bench) -> None:
    # These models take a Python step for every beat, and so some tens of times longer. They need an engine that is
    # compiled for them: a usual run has the smallest one.
    config, share = ((load_engine(name), _SHARES[name]) if name in _SHARES else (SWEEP[name], 0.1))
    engine_bench(config, "cdma.verif.engine.benches.transfers", share=share / 2, full=share, models=True,
                 image_bytes=1 << 20)
