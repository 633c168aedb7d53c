"""What a driver of tensors works on: an engine's registers, and the memories on both its sides."""

from __future__ import annotations

from typing import Protocol

from cdma.driver import Memories as Side
from cdma.driver import Registers
from cdma.golden.codec.buffers import Bytes

__all__ = ["Machine", "Side"]


class Machine(Registers, Protocol):
    """An engine between two memories that the processor reaches as well."""

    def base(self, side: Side) -> int:
        """The first address of a memory."""
        ...

    def size(self, side: Side) -> int:
        """Bytes of a memory."""
        ...

    def load(self, side: Side, address: int, data: Bytes) -> None:
        """Write bytes into a memory, whole beats of its ports."""
        ...

    def dump(self, side: Side, address: int, size: int) -> Bytes:
        """Read bytes of a memory, whole beats of its ports."""
        ...

    def relax(self) -> None:
        """Let time pass between two looks at a register."""
        ...
