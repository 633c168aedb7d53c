"""An engine of the golden model: the same bytes as the Verilog's, at once and without time."""

from __future__ import annotations

import numpy as np

from cdma.driver import ModelRegisters
from cdma.engines.machine import Side
from cdma.engines.tensors import DriverEngine
from cdma.golden.codec.buffers import Bytes
from cdma.golden.engine import Memory
from cdma.hdl.config.engine import EngineConfig, load_engine

__all__ = ["MEMORY_BYTES", "ModelMachine", "model_engine"]

MEMORY_BYTES = 1 << 30
"""Bytes of each memory; the host gives only those that are used."""


class ModelMachine(ModelRegisters):
    """Registers that the golden model stands behind, and its memories; both begin at address 0."""

    def __init__(self, config: EngineConfig, memory_bytes: int = MEMORY_BYTES) -> None:
        self.memories = {side: Memory(0, np.zeros(memory_bytes, np.uint8)) for side in Side}
        super().__init__(config, self.memories[Side.DEVICE], self.memories[Side.LINK])

    def base(self, side: Side) -> int:
        """The first address of a memory."""
        return 0

    def size(self, side: Side) -> int:
        """Bytes of a memory."""
        return self.memories[side].image.size

    def load(self, side: Side, address: int, data: Bytes) -> None:
        """Write bytes into a memory."""
        self.memories[side].write(address, data)

    def dump(self, side: Side, address: int, size: int) -> Bytes:
        """Read bytes of a memory."""
        return self.memories[side].read(address, size)

    def relax(self) -> None:
        """Nothing: the model is done before the driver looks."""


def model_engine(engine: EngineConfig | str = "engine", *, page_bytes: int | None = None,
                 memory_bytes: int = MEMORY_BYTES) -> DriverEngine:
    """An engine of the golden model behind the driver.

    Parameters
    ----------
    engine
        Its configuration: a preset, a file or the thing itself.
    page_bytes
        Of the pages that streams are in; None: each is in one piece.
    memory_bytes
        Bytes of each memory.

    Raises
    ------
    ValueError
        If there is no such engine, or it has no such pages.
    """
    config = load_engine(engine) if isinstance(engine, str) else engine
    return DriverEngine(ModelMachine(config, memory_bytes), config, page_bytes)
