"""Yosys's Verilog of a module as objects: declarations, functions, instances, assignments and processes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Assignment", "Connected", "Declaration", "Source", "read_modules"]

_MODULE = re.compile(r"^module (\w+) ?\(.*?\);\n(.*?)^endmodule$", re.MULTILINE | re.DOTALL)
_DECLARATION = re.compile(r"(input|output|wire|reg) (?:\[(\d+):0\] )?(\w+)(?: \[(\d+):0\])?;")
_ASSIGN = re.compile(r"assign (.+?) = (.*);", re.DOTALL)
_INSTANCE = re.compile(r"(\w+)( #\(.*?\n  \))? +(\w+) \((.*?)\);", re.DOTALL)
_PORT = re.compile(r"\.(\w+)\((.*?)\)(?=,\n|\n|$)")
_ENUM = "(* enum_"


@dataclass
class Declaration:
    """A signal or memory: ``words`` is the depth of a memory, ``direction`` that of a port."""

    name: str
    width: int
    register: bool = False
    words: int | None = None
    direction: str = ""
    attributes: list[str] = field(default_factory=list)


@dataclass
class Assignment:
    """A continuous assignment."""

    target: str
    value: str


@dataclass
class Connected:
    """An instance: its module, its parameters as text, its name, and what its ports are connected to."""

    module: str
    parameters: str
    name: str
    ports: dict[str, str]


@dataclass
class Source:
    """A module as Yosys writes it.

    Parameters
    ----------
    declared : dict
        Signals and memories by name.
    functions : list of str
        Text of each function.
    statements : list
        Assignments, instances, and the text of processes, in order.
    """

    name: str
    declared: dict[str, Declaration] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    statements: list[Assignment | Connected | str] = field(default_factory=list)

    @property
    def assignments(self) -> list[Assignment]:
        """All continuous assignments."""
        return [statement for statement in self.statements if isinstance(statement, Assignment)]


def read_modules(text: str) -> dict[str, Source]:
    """The modules of what Yosys wrote, by name."""
    return {name: _read(Source(name), body) for name, body in _MODULE.findall(text)}


def _read(source: Source, body: str) -> Source:
    attributes: list[str] = []
    for entry in _entries(body):
        if entry.startswith("(*"):
            if not entry.startswith(_ENUM):
                attributes.append(entry)
        elif found := _DECLARATION.fullmatch(entry):
            _declare(source, found, attributes)
            attributes = []
        elif entry.startswith("function "):
            source.functions.append(entry)
        elif found := _ASSIGN.fullmatch(entry):
            source.statements.append(Assignment(found[1], found[2]))
        elif entry.startswith(("always ", "initial ")):
            source.statements.append(entry)
        else:
            found = _INSTANCE.fullmatch(entry)
            assert found is not None, f"not understood in {source.name}: {entry}"
            source.statements.append(Connected(found[1], found[2] or "", found[3], dict(_PORT.findall(found[4]))))
    return source


def _entries(body: str) -> Iterator[str]:
    """Declarations and statements: a line with all lines below it that are indented more, or that close it."""
    entry: list[str] = []
    for line in body.splitlines():
        closes = line.startswith(("  end", "  )"))
        if entry and not closes and not line.startswith("   "):
            yield "\n".join(entry).strip()
            entry = []
        entry.append(line)
    if entry:
        yield "\n".join(entry).strip()


def _declare(source: Source, found: re.Match[str], attributes: list[str]) -> None:
    """Adds what a line declares; a port has two of them, its direction and its kind."""
    kind, high, name, last = found.groups()
    one = source.declared.setdefault(name, Declaration(name, int(high or 0) + 1))
    one.attributes += [attribute for attribute in attributes if attribute not in one.attributes]
    if kind in ("input", "output"):
        one.direction = kind
    one.register |= kind == "reg"
    one.words = int(last) + 1 if last else None
