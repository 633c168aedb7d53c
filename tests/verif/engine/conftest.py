"""What the engine's regression shares: how its benches are run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hdl.config.engine import EngineConfig
from tests.verif.conftest import FULL, Bench
from verif.engine.build import build_bare, build_engine
from verif.engine.top import IMAGE_BYTES


@pytest.fixture
def engine_bench(run_bench: Bench, build_dir: Path) -> Bench:
    """Runs a bench on an engine, between its own memories or bus models.

    ``share`` is the part of the stimuli that a usual run sends, ``full`` that of the full regression; ``sram`` takes
    the place of the wrapper of wrapped memories.
    """

    def run(config: EngineConfig, module: str, *, share: float, full: float = 1.0, models: bool = False,
            tests: str | None = None, sram: str | None = None, **job: Any) -> dict[str, Any]:
        job = {"image_bytes": _image_bytes(config)} | job
        job |= {"config": config.as_dict(), "share": full if FULL else share, "models": models}
        built = (build_bare(config, build_dir=build_dir) if models else
                 build_engine(config, image_bytes=job["image_bytes"], build_dir=build_dir, sram=sram))
        return run_bench(built, module, tests=tests, **job)

    return run


def _image_bytes(config: EngineConfig) -> int:
    """Memory for twice as many tensors as a queue holds, each of two blocks and up to a round of lanes behind the last;
    and for the 48 tensors of damaged streams, each of up to three blocks more than a round of lanes on average.
    """
    tensors = max(2 * config.queue_depth * (config.lanes + 4), 48 * (config.lanes + 3))
    need = tensors * config.block_bytes
    # The tensors of a usual run are shorter. Dumps of the memories take half of the time of its simulations.
    least = IMAGE_BYTES if FULL else IMAGE_BYTES // (4 if config.lanes < 4 else 2)
    return max(least, 1 << (need - 1).bit_length())
