"""The map against the page that drivers are written from: nothing in it moves without the page."""

from __future__ import annotations

import re
from pathlib import Path

from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.control.table import pages, with_options

_PAGE = Path(__file__).resolve().parents[4] / "docs" / "registers.md"
_ROW = re.compile(r"\| (0x\w+)? ?\| (?:`(\w+)`)? ?\| ([\d:]*) ?\| (?:`(\w+)`)? ?\| (\w+) \| (\w+) \|")

Bits = tuple[str, int, int, str, int]
"""A field, or a register of one field: name, lowest bit, width, access and value after reset."""


def _bits(text: str) -> tuple[int, int]:
    """Lowest bit and width of ``7:4`` or ``3``."""
    high, _, low = text.partition(":")
    return int(low or high), int(high) - int(low or high) + 1


def _of_page() -> list[list[tuple[str, int, int, list[Bits]]]]:
    """Registers of the page by section: name, offset, value after reset, and fields."""
    found: list[list[tuple[str, int, int, list[Bits]]]] = []
    for section in _PAGE.read_text(encoding="utf-8").split("\n| offset |")[1:]:
        found.append([])
        for line in section.splitlines():
            if (row := _ROW.match(line)) is None:
                continue
            offset, register, bits, field, access, reset = row.groups()
            if register:
                found[-1].append((register, int(offset, 16), int(reset, 0), []))
            if bits:
                found[-1][-1][3].append((field or "", *_bits(bits), access, int(reset, 0)))
    return found


def test_registers_are_where_the_page_says() -> None:
    config = with_options(load_engine("engine"))
    table = []
    for page in pages(config):
        registers = []
        for register in page.registers:
            names = [each.name for each in register.fields]
            fields = [("" if names == ["VALUE"] else each.name, each.lsb, each.width, each.access.name, each.reset)
                      for each in register.fields]
            registers.append((register.name, register.offset, register.reset, fields))
        if registers not in table:      # both directions have the same registers
            table.append(registers)
    assert sum(map(len, table)) > 80
    for wanted, found in zip(_of_page(), table, strict=True):
        assert found == wanted


def test_pages_of_the_map() -> None:
    found = {page.name: page.offset for page in pages(with_options(load_engine("engine")))}
    assert found == {"engine": 0, "offload": 0x100, "prefetch": 0x200, "offload_write_back": 0x300,
                     "prefetch_write_back": 0x400}
