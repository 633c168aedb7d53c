"""The register window as the driver sees it, from the table that the hardware is made from."""

from __future__ import annotations

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.table import ADDRESS_BITS, registers, with_options

__all__ = ["REGISTERS", "WINDOW_SIZE", "mask"]

WINDOW_SIZE = 1 << ADDRESS_BITS
"""Bytes of the register window."""

REGISTERS = {register.name: register for register in registers(with_options(EngineConfig()))}
"""All registers by name, those of a direction with its name in front; offsets are the same for every engine."""


def mask(register: str, name: str) -> int:
    """The bits of a field."""
    return next(each.mask for each in REGISTERS[register].fields if each.name == name)
