"""The register window as the driver sees it, from the table that the hardware is made from."""

from __future__ import annotations

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.register import Page, Register
from cdma.hdl.engine.control.table import ADDRESS_BITS, pages, with_options

__all__ = ["CHANNEL", "ENGINE", "PAGES", "WINDOW_SIZE", "WRITE_BACK", "field", "fields", "highest", "mask"]

WINDOW_SIZE = 1 << ADDRESS_BITS
"""Bytes of the register window."""

_MAP: dict[str, Page] = {page.name: page for page in pages(with_options(EngineConfig()))}
# Offsets are the same for every engine.

PAGES = {name: page.offset for name, page in _MAP.items()}
"""Offset of each page: ``engine``, ``offload``, ``prefetch``, ``offload_write_back``, ``prefetch_write_back``."""


def _by_name(page: Page) -> dict[str, Register]:
    return {register.name: register for register in page.registers}


ENGINE, CHANNEL, WRITE_BACK = (_by_name(_MAP[name]) for name in ("engine", "offload", "offload_write_back"))
"""Registers by name: of the whole engine, of a channel, and of a write-back ring."""


def mask(register: Register, name: str) -> int:
    """The bits of a field."""
    return next(each.mask for each in register.fields if each.name == name)


def highest(register: Register, name: str) -> int:
    """The largest value of a field."""
    return next((1 << each.width) - 1 for each in register.fields if each.name == name)


def fields(register: Register, value: int) -> dict[str, int]:
    """What a value holds in each field."""
    return {each.name: (value & each.mask) >> each.lsb for each in register.fields}


def field(register: Register, name: str, value: int) -> int:
    """What a value holds in a field."""
    return fields(register, value)[name]
