"""Dumps through the simulated cores or a simulated engine, both directions, every byte compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cdma.console.errors import simulation_errors
from cdma.console.progress import Progress
from cdma.golden.codec.blocks import BLOCK_BYTES
from cdma.hdl.config.engine import EngineConfig
from cdma.measure.outcomes import BlocksOutcome, CoresOutcome, EngineOutcome, SimulatedArray
from cdma.verif.core.blocks.simulate import BlockArray, simulate_blocks
from cdma.verif.core.simulate import simulate
from cdma.verif.engine.jobs import Handling
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.simulate import simulate as simulate_engine
from cdma.verif.engine.simulate import simulate_row

__all__ = ["simulated", "simulated_blocks", "simulated_engine"]


def simulated(arrays: dict[int, dict[str, np.ndarray]], *, build_dir: Path, progress: Progress, beat_bytes: int = 32,
              stalls: float = 0.0, simulator: str = "verilator", seed: int = 1,
              waves: Path | None = None) -> CoresOutcome:
    """What becomes of arrays by element size in bytes and by name.

    Raises
    ------
    ValueError
        If a program that the simulator needs is not installed.
    CheckError
        If the Verilog does not compile, or a simulation ends early.
    """
    rows: list[SimulatedArray] = []
    with simulation_errors():
        for element_bytes, group in arrays.items():
            results = simulate(group, element_bytes, beat_bytes, stalls=stalls, simulator=simulator, waves=waves,
                               build_dir=build_dir, seed=seed, progress=progress)
            rows += [SimulatedArray(8 * element_bytes, result) for result in results]
    return CoresOutcome(simulator, beat_bytes, stalls, seed, tuple(rows))


def simulated_blocks(arrays: Sequence[BlockArray], *, build_dir: Path, progress: Progress, beat_bytes: int = 32,
                     block_bytes: int = BLOCK_BYTES, stalls: float = 0.0, simulator: str = "verilator", seed: int = 1,
                     waves: Path | None = None) -> BlocksOutcome:
    """What becomes of arrays in the block cores; errors as for :func:`simulated`."""
    with simulation_errors():
        results = simulate_blocks(arrays, beat_bytes, block_bytes=block_bytes, stalls=stalls, simulator=simulator,
                                  waves=waves, build_dir=build_dir, seed=seed, progress=progress)
    return BlocksOutcome(simulator, beat_bytes, block_bytes, stalls, seed, tuple(results))


def simulated_engine(config: EngineConfig, arrays: Sequence[BlockArray], *, build_dir: Path, progress: Progress,
                     latency: int = 0, stalls: float = 0.0, seed: int = 1, waves: Path | None = None) -> EngineOutcome:
    """What becomes of arrays, each with the coding of its blocks; parameters and errors as for :func:`simulated`."""
    how = Behaviour(latency=latency, stalls=stalls, longest=8)
    handling = {asked.name: Handling(int(asked.coding)) for asked in arrays}
    with simulation_errors():
        results = simulate_engine({asked.name: asked.array for asked in arrays}, handling, config, how=how, waves=waves,
                                  build_dir=build_dir, seed=seed, progress=progress)
        row = None
        if len(results) > 1 and all(result.passed for result in results):
            row = simulate_row({asked.name: asked.array for asked in arrays}, handling, config, how=how,
                               build_dir=build_dir, seed=seed, progress=progress)
    return EngineOutcome(config.name, config.lanes, config.beat_bytes, config.link_beat_bytes, latency, stalls, seed,
                         tuple(results), row)
