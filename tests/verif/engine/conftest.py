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

FULL = os.environ.get("CDMA_REGRESSION", "") == "full"
"""Whether all configurations and many more stimuli are wanted: an hour or two, where a usual run takes minutes."""

EngineBench = Callable[..., dict[str, Any]]


@pytest.fixture
def engine_bench(request: pytest.FixtureRequest, tmp_path: Path, build_dir: Path, seed: int) -> EngineBench:
    """Runs a bench on an engine, between its own memories or bus models; a failure ends with what replays it.

    ``share`` is the part of the stimuli that a usual run sends, ``full`` that of the full regression.
    """

    def run(config: EngineConfig, module: str, *, share: float, full: float = 1.0, models: bool = False,
            tests: str | None = None, **job: Any) -> dict[str, Any]:
        build = build_bare if models else build_engine
        job |= {"config": config.as_dict(), "share": full if FULL else share, "models": models}
        try:
            return runner.run(build(config, build_dir=build_dir), module, job=job, folder=tmp_path, seed=seed,
                              tests=tests)
        except runner.BenchError as error:
            said = str(error)
        chosen = f"{'CDMA_REGRESSION=full ' if FULL else ''}CDMA_SEED={seed}"
        pytest.fail(f"{said}\nreplay: {chosen} python -m pytest '{request.node.nodeid}'", pytrace=False)

    return run
