"""An engine that the golden model plays, its memories, and a driver for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cdma.driver import Code, Driver, DriverError, ModelRegisters
from cdma.golden.engine import Descriptor, Memory, Operation
from cdma.hdl.config.engine import EngineConfig, load_engine

__all__ = ["BACK", "BUILT", "CODING", "LINK", "RING", "STREAM", "System", "refused", "tensor"]

BUILT = load_engine("tiny").replace(name="tried", write_back=True, address_windows=True, attribute_registers=True,
                                    page_lists=True, user_bits=4)
CODING = 0x14
BACK, LINK = 0x8000, 0x10_0000
STREAM, RING = LINK, LINK + 0x8000
"""Where the tensor comes back, link memory, and in it the stream and a ring."""


def tensor(elements: int = 2000) -> np.ndarray:
    """float32 values, half of them zero."""
    return np.maximum(np.random.default_rng(elements).standard_normal(elements), 0).astype(np.float32)


class Halting(ModelRegisters):
    """Registers that stop on demand, count, and call back.

    Members
    -------
    halted
        Descriptors wait, as if memories did not answer.
    log
        Every access: ``r`` or ``w``, and the offset.
    before
        Called before every write, with offset and value.
    """

    def __init__(self, *arguments: Any) -> None:
        self.halted = False
        self.log: list[tuple[str, int]] = []
        self.before: Callable[[int, int], None] = lambda offset, value: None
        super().__init__(*arguments)

    def read32(self, offset: int) -> int:
        self.log.append(("r", offset))
        return super().read32(offset)

    def write32(self, offset: int, value: int) -> None:
        self.log.append(("w", offset))
        self.before(offset, value)
        super().write32(offset, value)

    def _work(self, operation: Operation) -> None:
        if not self.halted:
            super()._work(operation)


class System:
    """A tensor in device memory, link memory, and a driver for the engine between them."""

    def __init__(self, config: EngineConfig = BUILT, **driver: Any) -> None:
        self.raw = tensor()
        self.device, self.link = np.zeros(1 << 16, np.uint8), np.zeros(1 << 16, np.uint8)
        self.device[:self.raw.nbytes] = self.raw.view(np.uint8)
        self.registers = Halting(config, Memory(0, self.device), Memory(LINK, self.link))
        self.driver = Driver(self.registers, **{"polls": 100, **driver})

    def ring(self, entries: int) -> np.ndarray:
        """The part of link memory where rings are."""
        return self.link[RING - LINK:RING - LINK + 64 * entries]

    def offload(self, tag: int = 0, **changed: Any) -> Descriptor:
        """A descriptor that offloads the tensor."""
        fields: dict[str, Any] = {"operation": Operation.OFFLOAD, "coding": CODING, "source": 0, "destination": STREAM,
                                  "raw_bytes": self.raw.nbytes, "capacity": self.driver.capacity(self.raw.nbytes)}
        return Descriptor(**(fields | changed), tag=tag)


def refused(code: Code, call: Callable[..., Any], *arguments: Any) -> None:
    with pytest.raises(DriverError) as caught:
        call(*arguments)
    assert caught.value.code is code, caught.value
