"""Registers of the buffers' parity: a part of the register map."""

from __future__ import annotations

from collections.abc import Iterator

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.register import Access, Field, Register, register_of
from cdma.hdl.engine.transfer.buffers import LaneMemory

__all__ = ["ERROR_BITS", "buffer_registers"]

ERROR_BITS = 16
"""Bits of a count of errors."""

_ONLY = " There only with buffer_parity."


def _numbered(first: int) -> str:
    """The memories of a direction, whose numbers begin with this one."""
    return ", ".join(f"{each.value} {each.name}" for each in LaneMemory if each.value & 8 == first)


def buffer_registers(config: EngineConfig) -> Iterator[Register]:
    """The registers that count errors and inject them."""
    ro, wo = Access.RO, Access.WO
    yield register_of(
        "BUFFER_ERRORS", 0xA8, ro,
        "Errors of parity that were found in memories of the lanes since reset or soft reset; counts stay at 65535. A "
        "lane that finds one stops and is cleared: it counts one for all that it finds until then." + _ONLY,
        *(Field(name, ERROR_BITS * number, ERROR_BITS, ro, 0, f"Found in lanes of {name.lower()}.")
          for number, name in enumerate(("OFFLOAD", "PREFETCH"))))
    yield register_of(
        "BUFFER_INJECT", 0xAC, wo,
        "Injects one error, for a test: of the row that is read next from a memory of a lane, a bit is changed. It "
        "waits for that row, through a soft reset too; when a transfer of the direction fails before, it is dropped."
        + _ONLY,
        Field("LANE", 0, 4, wo, 0, "Number of the lane; one that is not there: no effect."),
        Field("MEMORY", 8, 4, wo, 0, "The memory; one that was not built: no effect. Of offload: "
              f"{_numbered(0)}. Of prefetch: {_numbered(8)}.", LaneMemory),
        Field("INJECT", 31, 1, wo, 0, "1: inject."))
