"""Reads netlists in RTLIL: modules as text, what contains what, and the registers of a flat module."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

__all__ = ["Flat", "Modules", "black_box", "cells", "children", "inner_first", "parents_of", "ports", "read_modules"]

_MODULE = re.compile(r"^module (\S+)\n(.*?)^end$", re.MULTILINE | re.DOTALL)
_CELL = re.compile(r"^  cell (\\\S+) \S+$", re.MULTILINE)
_PORT = re.compile(r"^  wire (?:.* )?(?:input|output) \d+ .*$", re.MULTILINE)
_NUMBER = re.compile(r"(input|output) \d+ ")
_NUMBERED = re.compile(r"\\port\$\d+\$\d+")
_CONNECTED = re.compile(r"(    connect \S+)(.*\n)")
_DIGITS = re.compile(r"\d+")
_WIRE = re.compile(r"^  wire (?:width (\d+) )?(?:.* )?(\\\S+)$")
_INIT = "  attribute \\init "
_REGISTER = re.compile(
    r"^  cell \$\w*(?:dff|latch)\w* .*$(?:\n    .*)*?\n    connect \\Q (\S+)(?: \[(\d+)(?::(\d+))?\])?$", re.MULTILINE)

Modules = dict[str, str]
"""Bodies of modules in RTLIL, by name."""


def read_modules(text: str, number: bool = True) -> Modules:
    """The modules of a netlist.

    Ports that have no name are numbered through the whole design. With ``number`` they get numbers of their module, so
    that what one module has more or less changes nothing in the others, but may change the numbers of its own.
    """
    found: Modules = dict(_MODULE.findall(text))
    if not number:
        return found
    places = {name: _places(body) for name, body in found.items()}

    def renamed(text: str, module: str) -> str:
        return _NUMBERED.sub(lambda match: places.get(module, {}).get(match[0], match[0]), text)

    def parts(name: str, body: str) -> Iterator[str]:
        # In a cell, a port's name at the left is one of the cell's module.
        kind = name
        for line in body.splitlines(keepends=True):
            if match := _CELL.match(line):
                kind = match[1]
            elif line == "  end\n":
                kind = name
            if kind != name and (match := _CONNECTED.match(line)):
                yield renamed(match[1], kind) + renamed(match[2], name)
            else:
                yield renamed(line, name)

    return {name: "".join(parts(name, body)) for name, body in found.items()}


def _places(body: str) -> dict[str, str]:
    """Names of a module's numbered ports, as they are and as they are to be."""
    ports = set(_NUMBERED.findall("\n".join(_PORT.findall(body))))
    ordered = sorted(ports, key=lambda port: [int(number) for number in _DIGITS.findall(port)])
    return {port: f"\\port#{place}" for place, port in enumerate(ordered)}


def cells(text: str) -> set[str]:
    """The modules that a text of RTLIL has instances of."""
    return set(_CELL.findall(text))


def children(name: str, modules: Modules) -> set[str]:
    """The modules that a module has instances of."""
    return cells(modules[name]) & modules.keys()


def ports(name: str, modules: Modules) -> set[str]:
    """The lines of a module's ports, without their numbers."""
    return {_NUMBER.sub(r"\1 ", port) for port in _PORT.findall(modules[name])}


def parents_of(one: Modules, other: Modules) -> dict[str, set[str]]:
    """The modules that contain each, in one netlist or the other."""
    parents: dict[str, set[str]] = {name: set() for name in one}
    for modules in (one, other):
        for name in modules:
            for child in children(name, modules):
                parents[child].add(name)
    return parents


def inner_first(one: Modules, other: Modules) -> list[str]:
    """All modules, those inside a module before it."""
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in order:
            for child in sorted(children(name, one) | children(name, other)):
                visit(child)
            order[name] = None

    for name in sorted(one):
        visit(name)
    return list(order)


def black_box(name: str, modules: Modules) -> str:
    """RTLIL of a module that has ports and nothing else."""
    lines = "\n".join(_PORT.findall(modules[name]))
    return f"attribute \\blackbox 1\nmodule {name}\n{lines}\nend\n"


@dataclass(frozen=True)
class Flat:
    """What a flat module has.

    Parameters
    ----------
    registers
        The initial value of each bit, by name and place; None if a register has no name.
    inner
        Names of signals that are neither ports nor registers.
    """

    registers: dict[tuple[str, int], str] | None
    inner: set[str]

    @classmethod
    def read(cls, file: Path, name: str) -> Self:
        """Read a module of a file of RTLIL."""
        body = dict(_MODULE.findall(file.read_text(encoding="utf-8")))[f"\\{name}"]
        wires: dict[str, tuple[int, str]] = {}
        inner, init = set[str](), ""
        for line in body.splitlines():
            if line.startswith(_INIT):
                init = _digits(line.removeprefix(_INIT))
            elif match := _WIRE.match(line):
                wires[match[2]] = int(match[1] or 1), init
                init = ""
                if not _PORT.match(line):
                    inner.add(match[2])
        registers: dict[tuple[str, int], str] = {}
        for register, high, low in _REGISTER.findall(body):
            if register not in wires:
                return cls(None, inner)
            width, init = wires[register]
            first, last = (int(low or high), int(high)) if high else (0, width - 1)
            registers |= {(register, bit): init[width - 1 - bit:width - bit] for bit in range(first, last + 1)}
        return cls(registers, inner - {register for register, _ in registers})


def _digits(constant: str) -> str:
    """Binary digits of a constant in RTLIL, where one of 32 bits may be a number."""
    width, _, digits = constant.rpartition("'")
    return digits if width else f"{int(digits) % (1 << 32):032b}"
