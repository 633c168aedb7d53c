"""An example in C of the driver at registers that the golden model stands behind."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from cdma.driver import ModelRegisters
from cdma.golden.engine import Memory
from cdma.hdl.config.engine import EngineConfig

__all__ = ["SPARSE", "move"]

_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)
_READ = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)
SPARSE = np.where(np.arange(1000) % 3, np.arange(1000), 0).astype(np.float32)
"""The tensor that is moved."""


def move(config: EngineConfig, example: Any) -> None:
    """Calls an example with the functions that write and read a register, two addresses and a length; it offloads a
    tensor and prefetches it to where it was. The model refuses descriptors as the engine does."""
    place, length = config.block_bytes, SPARSE.nbytes
    device, link = np.zeros(place + 8192, np.uint8), np.zeros(1 << 16, np.uint8)
    device[place:place + length] = SPARSE.view(np.uint8)
    model = ModelRegisters(config, Memory(0, device), Memory(0x10_0000, link))
    access = (_WRITE(lambda _, offset, value: model.write32(offset, value)),
              _READ(lambda _, offset: model.read32(offset)))
    assert example(*access, *map(ctypes.c_uint64, (place, 0x10_0000, length))) == 0
    assert link.any() and not link[length:].any(), "no stream, or one that is longer than the tensor"
    assert (device[place:place + length] == SPARSE.view(np.uint8)).all()
