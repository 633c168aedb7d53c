"""What the simulated regression shares: runs of benches, with the command that replays a failure."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cdma.hdl.config.core import CoreConfig
from cdma.verif.common import runner
from cdma.verif.core import streaming

REPO = Path(__file__).resolve().parents[2]
FULL = os.environ.get("CDMA_REGRESSION", "") == "full"
"""Whether all configurations and many more stimuli are wanted: an hour or two, where a usual run takes minutes."""
BRIEF = () if FULL else ("-CFLAGS", "-O0")
"""Options of Verilator where a usual run sends so little that C++ is better compiled without optimising, in half the
time or less."""

Bench = Callable[..., dict[str, Any]]
"""Runs a bench and gives its report."""


@pytest.fixture
def run_bench(request: pytest.FixtureRequest, tmp_path: Path, seed: int) -> Bench:
    """Runs a bench on a compiled design; a failure ends with the one command that replays it."""

    def run(built: runner.Build, module: str, *, tests: str | None = None, **job: Any) -> dict[str, Any]:
        try:
            return runner.run(built, module, job=job, folder=tmp_path, seed=seed, tests=tests)
        except runner.BenchError as error:
            said = str(error)
        # The interpreter of this run: its virtual environment need not be the active one.
        command = shlex.join([os.path.relpath(sys.executable, REPO), "-m", "pytest", request.node.nodeid])
        chosen = f"{'CDMA_REGRESSION=full ' if FULL else ''}CDMA_SEED={seed}"
        pytest.fail(f"{said}\nreplay: {chosen} {command}", pytrace=False)

    return run


@pytest.fixture
def bench(run_bench: Bench, build_dir: Path) -> Bench:
    """Runs a bench on a core."""

    def run(config: CoreConfig, module: str, *, simulator: str = "verilator", tests: str | None = None,
            options: Sequence[str] = (), **job: Any) -> dict[str, Any]:
        built = streaming.build_core(config, simulator=simulator, build_dir=build_dir, options=options)
        return run_bench(built, module, tests=tests, config=config.as_dict(), **job)

    return run
