"""An engine of the generated Verilog in a simulator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cdma.engines.tensors import DriverEngine, check_pages
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.verif.common.runner import BenchError, BuildError
from cdma.verif.common.tools import MissingToolError
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.remote import RemoteEngine
from cdma.verif.engine.top import IMAGE_BYTES
from cdma.workload.training import EngineError

__all__ = ["MEMORY_BYTES", "verilog_engine"]

MEMORY_BYTES = IMAGE_BYTES
"""Bytes of each simulated memory: those of all benches, so that a compiled design serves them all."""


@contextmanager
def verilog_engine(engine: EngineConfig | str = "engine", *, page_bytes: int | None = None,
                   memory_bytes: int = MEMORY_BYTES, latency: int = 0, build_dir: str | Path = "build/sim",
                   seed: int = 1) -> Iterator[DriverEngine]:
    """The generated Verilog of an engine in Verilator, behind the driver.

    Parameters
    ----------
    engine, page_bytes
        As for :func:`cdma.engines.model_engine`.
    memory_bytes
        Bytes of each memory, a power of two; device memory holds one tensor at a time, link memory all streams.
    latency
        Cycles until memories answer.
    build_dir
        Folder for Verilog and compiled simulations, which are used again.
    seed
        Of addresses, and of what memories and registers hold at first.

    Raises
    ------
    ValueError
        If there is no such engine or no such pages, a size is not allowed, or a program of the simulator is missing.
    EngineError
        If the Verilog does not compile, or the simulation ends early or finds a broken rule of a bus.
    """
    config = load_engine(engine) if isinstance(engine, str) else engine
    if page_bytes is not None:
        check_pages(config, page_bytes)
    if memory_bytes < 1 or memory_bytes.bit_count() != 1:
        raise ValueError(f"the memories must have a power of two of bytes, not {memory_bytes}")
    if memory_bytes > 1 << config.address_bits:
        raise ValueError(f"memories of {memory_bytes} bytes need more than the {config.address_bits} address bits of "
                         f"{config.name}: give them less")
    try:
        with RemoteEngine(config, image_bytes=memory_bytes, how=Behaviour(latency=latency), build_dir=Path(build_dir),
                          seed=seed) as remote:
            yield DriverEngine(remote, config, page_bytes)
    except MissingToolError as error:
        raise ValueError(str(error)) from error
    except (BuildError, BenchError) as error:
        raise EngineError(" ".join(str(error).splitlines()[:2])) from error
