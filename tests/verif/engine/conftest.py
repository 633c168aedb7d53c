"""What the engine's regression shares: how its benches are run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cdma.hdl.config.engine import EngineConfig
from cdma.verif.engine.build import build_bare, build_engine
from cdma.verif.regression.plan import image_bytes
from tests.verif.conftest import FULL, Bench


@pytest.fixture
def engine_bench(run_bench: Bench, build_dir: Path) -> Bench:
    """Runs a bench on an engine, between its own memories or bus models.

    ``share`` is the part of the stimuli that a usual run sends, ``full`` that of the full regression; ``sram`` takes
    the place of the wrapper of wrapped memories; ``options`` are more of Verilator's.
    """

    def run(config: EngineConfig, module: str, *, share: float, full: float = 1.0, models: bool = False,
            tests: str | None = None, sram: str | None = None, options: Sequence[str] = (),
            **job: Any) -> dict[str, Any]:
        job = {"image_bytes": image_bytes(config, FULL)} | job
        job |= {"config": config.as_dict(), "share": full if FULL else share, "models": models}
        built = (build_bare(config, build_dir=build_dir) if models else
                 build_engine(config, image_bytes=job["image_bytes"], build_dir=build_dir, sram=sram, options=options))
        return run_bench(built, module, tests=tests, **job)

    return run
