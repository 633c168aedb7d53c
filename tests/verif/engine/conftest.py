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
from verif.engine.top import IMAGE_BYTES

FULL = os.environ.get("CDMA_REGRESSION", "") == "full"
"""Whether all configurations and many more stimuli are wanted: an hour or two, where a usual run takes minutes."""

EngineBench = Callable[..., dict[str, Any]]


@pytest.fixture
def engine_bench(request: pytest.FixtureRequest, tmp_path: Path, build_dir: Path, seed: int) -> EngineBench:
    """Runs a bench on an engine, between its own memories or bus models; a failure ends with what replays it.

    ``share`` is the part of the stimuli that a usual run sends, ``full`` that of the full regression; ``sram`` takes
    the place of the wrapper of wrapped memories.
    """

    def run(config: EngineConfig, module: str, *, share: float, full: float = 1.0, models: bool = False,
            tests: str | None = None, sram: str | None = None, **job: Any) -> dict[str, Any]:
        job = {"image_bytes": _image_bytes(config)} | job
        job |= {"config": config.as_dict(), "share": full if FULL else share, "models": models}
        built = (build_bare(config, build_dir=build_dir) if models else
                 build_engine(config, image_bytes=job["image_bytes"], build_dir=build_dir, sram=sram))
        try:
            return runner.run(built, module, job=job, folder=tmp_path, seed=seed, tests=tests)
        except runner.BenchError as error:
            said = str(error)
        chosen = f"{'CDMA_REGRESSION=full ' if FULL else ''}CDMA_SEED={seed}"
        pytest.fail(f"{said}\nreplay: {chosen} python -m pytest '{request.node.nodeid}'", pytrace=False)

    return run


def _image_bytes(config: EngineConfig) -> int:
    """Memory for twice as many tensors as a queue holds, each of two blocks and up to a round of lanes behind the last.
    """
    need = 2 * config.queue_depth * (config.lanes + 4) * config.block_bytes
    return max(IMAGE_BYTES, 1 << (need - 1).bit_length())
