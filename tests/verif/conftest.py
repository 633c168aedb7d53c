"""What the simulated regression shares: the seed, the folder of builds, and the command that replays a failure."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hdl.config import CoreConfig
from verif import runner, streaming

REPO = Path(__file__).resolve().parents[2]
Bench = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def build_dir() -> Path:
    """Where compiled designs are kept from run to run."""
    return REPO / "build" / "sim"


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed of every random choice: CDMA_SEED, a number or ``random``; 1 when not given."""
    text = os.environ.get("CDMA_SEED", "1")
    if text == "random":
        return secrets.randbelow(1 << 31)
    if not text.isdecimal():
        raise pytest.UsageError(f"CDMA_SEED must be a number or random, not {text!r}")
    return int(text)


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path, build_dir: Path, seed: int) -> Bench:
    """Runs a bench on a core; a failure ends with the one command that replays it."""

    def run(config: CoreConfig, module: str, *, simulator: str = "verilator", tests: str | None = None,
            **job: Any) -> dict[str, Any]:
        built = streaming.build_core(config, simulator=simulator, build_dir=build_dir)
        try:
            return runner.run(built, module, job={"config": config.as_dict()} | job, folder=tmp_path, seed=seed,
                              tests=tests)
        except runner.BenchError as error:
            said = str(error)
        pytest.fail(f"{said}\nreplay: CDMA_SEED={seed} python -m pytest '{request.node.nodeid}'", pytrace=False)

    return run
