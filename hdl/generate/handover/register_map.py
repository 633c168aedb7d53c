"""The register map as Markdown and as plain values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.register import Field, Register
from cdma.hdl.engine.control.table import pages

__all__ = ["register_facts", "register_page"]

_HEAD = "| offset | register | bits | field | access | reset | what it is |\n|---|---|---|---|---|---:|---|"


def register_facts(config: EngineConfig) -> list[dict[str, Any]]:
    """Pages, registers and fields as plain values, ready for JSON; offsets of registers count from their page's."""
    def own(of: Register | Field) -> dict[str, Any]:
        return {"access": of.access.name, "reset": of.reset, "description": of.description}

    return [{
        "name": page.name, "offset": page.offset, "description": page.description,
        "registers": [{
            "name": register.name, "offset": register.offset, **own(register),
            "fields": [{"name": field.name, "lsb": field.lsb, "width": field.width, **own(field)}
                       for field in register.fields],
        } for register in page.registers],
    } for page in pages(config)]


def register_page(config: EngineConfig) -> str:
    """Tables of all registers; the two channels have the same registers and share one table, and so do the write-back
    rings, where they are built."""
    engine, *channels = pages(config)
    text = [f"## {engine.description}\n", f"Offsets from 0x{engine.offset:03x}.\n", _HEAD,
            *(line for register in engine.registers for line in _rows(register))]
    for title, both in (("A channel", channels[:2]), ("A write-back ring", channels[2:])):
        if both:
            places = ", ".join(f"0x{page.offset:03x} ({page.name})" for page in both)
            text += [f"\n## {title}\n", f"The two directions have the same registers; offsets from {places}.\n", _HEAD,
                     *(line for register in both[0].registers for line in _rows(register))]
    return "\n".join(text) + "\n"


def _rows(register: Register) -> Iterator[str]:
    whole = len(register.fields) == 1 and register.fields[0].name == "VALUE"
    yield (f"| 0x{register.offset:02x} | `{register.name}` | {'31:0' if whole else ''} | | {register.access.name} | "
           f"{_hexadecimal(register.reset)} | {register.description} |")
    for field in () if whole else register.fields:
        bits = str(field.lsb) if field.width == 1 else f"{field.lsb + field.width - 1}:{field.lsb}"
        yield (f"| | | {bits} | `{field.name}` | {field.access.name} | {_hexadecimal(field.reset)} | "
               f"{field.description} |")


def _hexadecimal(value: int) -> str:
    return f"0x{value:x}" if value else "0"
