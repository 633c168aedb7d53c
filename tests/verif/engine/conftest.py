"""What the engine's regression shares: how much of it is run, and the command that replays a failure."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hdl.engine_config import EngineConfig
from verif import runner
from verif.engine.build import build_bare, build_engine

EngineBench = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def effort() -> float:
    """How many times as much of the stimuli is wanted as usual: CDMA_EFFORT, more than 0; 1 when not given."""
    text = os.environ.get("CDMA_EFFORT", "1")
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if value <= 0:
        raise pytest.UsageError(f"CDMA_EFFORT must be a number above 0, not {text!r}")
    return value


@pytest.fixture
def engine_bench(request: pytest.FixtureRequest, tmp_path: Path, build_dir: Path, seed: int,
                 effort: float) -> EngineBench:
    """Runs a bench on an engine, between its own memories or bus models; a failure ends with what replays it."""

    def run(config: EngineConfig, module: str, *, share: float, models: bool = False, tests: str | None = None,
            **job: Any) -> dict[str, Any]:
        build = build_bare if models else build_engine
        job |= {"config": config.as_dict(), "share": share * effort, "models": models}
        try:
            return runner.run(build(config, build_dir=build_dir), module, job=job, folder=tmp_path, seed=seed,
                              tests=tests)
        except runner.BenchError as error:
            chosen = f"CDMA_SEED={seed} CDMA_EFFORT={effort:g}"
            pytest.fail(f"{error}\nreplay: {chosen} python -m pytest '{request.node.nodeid}'", pytrace=False)

    return run
