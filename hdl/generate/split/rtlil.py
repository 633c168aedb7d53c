"""Modules of Amaranth's RTLIL as objects: their wires, instances and all other lines, with the signals to rename."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

__all__ = ["Instance", "Line", "Netlist", "Wire", "parse"]

_SIGNAL = re.compile(r"[\\$]\S+")
_WIRE = re.compile(r"wire width (\d+)( signed)?(?: (input|output|inout) \d+)? +(\S+)")
_MEMORY_NAME = re.compile(r'(parameter \\MEMID "\\)(\\\S+)(")')

Renames = Callable[[str], str]


@dataclass
class Wire:
    """A wire; ``direction`` is that of a port, or empty."""

    width: int
    signed: bool
    direction: str
    attributes: tuple[str, ...]


@dataclass
class Line:
    """A line: what stays as it is, what names signals or a memory of the module, and what comes behind."""

    fixed: str
    signals: str = ""
    behind: str = ""

    def renamed(self, name: Renames) -> str:
        """The line with other names."""
        return self.fixed + rename(self.signals, name) + self.behind


@dataclass
class Instance:
    """An instance: the module, its own name, its parameters, and what its ports are connected to."""

    module: str
    name: str
    parameters: list[str]
    ports: dict[str, str]

    def renamed(self, name: Renames) -> Iterator[str]:
        """Lines of the instance, its ports in alphabetical order."""
        yield f"  cell {self.module} {name(self.name)}"
        yield from (f"    {parameter}" for parameter in self.parameters)
        yield from (f"    connect {port} {rename(self.ports[port], name)}" for port in sorted(self.ports))
        yield "  end"


@dataclass
class Netlist:
    """A module: the lines before it, its wires by name, and its lines and instances in order.

    Names begin with a backslash, or with a dollar where nobody gave one, as in RTLIL.
    """

    name: str
    attributes: list[str]
    wires: dict[str, Wire] = field(default_factory=dict)
    body: list[Line | Instance] = field(default_factory=list)

    @property
    def ports(self) -> list[str]:
        """Names of the ports."""
        return [name for name, wire in self.wires.items() if wire.direction]

    @property
    def instances(self) -> list[Instance]:
        """Instances in the module, of the design's modules and of others."""
        return [entry for entry in self.body if isinstance(entry, Instance)]

    @property
    def memories(self) -> list[str]:
        """Names of the memories."""
        return [entry.signals for entry in self.body if isinstance(entry, Line) and entry.fixed.startswith("  memory ")]

    def text(self, module: str, name: Renames, ports: list[str]) -> str:
        """RTLIL with other names; ``ports`` is their order, by the names they have here."""
        lines = [*self.attributes, f"module {module}"]
        places = {port: place for place, port in enumerate(ports)}
        for old, wire in self.wires.items():
            port = f" {wire.direction} {places[old]}" if wire.direction else ""
            lines += [f"  {attribute}" for attribute in wire.attributes]
            lines.append(f"  wire width {wire.width}{' signed' if wire.signed else ''}{port} {name(old)}")
        return "\n".join([*lines, *self.lines(name), "end", ""])

    def lines(self, name: Renames) -> Iterator[str]:
        """All lines but those of wires, with other names."""
        for entry in self.body:
            if isinstance(entry, Line):
                yield entry.renamed(name)
            else:
                yield from entry.renamed(name)


def rename(signals: str, name: Renames) -> str:
    """An expression of signals and constants with other names."""
    return _SIGNAL.sub(lambda found: name(found[0]), signals)


def parse(text: str) -> list[Netlist]:
    """The modules of what Amaranth wrote, in its order."""
    found: list[Netlist] = []
    attributes: list[str] = []
    lines = (line for line in map(str.strip, text.splitlines()) if line)
    for line in lines:
        if line.startswith("attribute "):
            attributes.append(line)
        elif line.startswith("module "):
            found.append(Netlist(line.removeprefix("module "), attributes))
            attributes = []
            _read(found[-1], lines)
    return found


def _read(module: Netlist, lines: Iterator[str]) -> None:
    """Reads the lines of a module up to its end."""
    attributes: list[str] = []
    depth = 0       # of processes and their switches
    for line in lines:
        if line == "end" and not depth:
            return
        if line.startswith("attribute "):
            attributes.append(line)
            continue
        if wire := _WIRE.fullmatch(line):
            module.wires[wire[4]] = Wire(int(wire[1]), bool(wire[2]), wire[3] or "", tuple(attributes))
            attributes = []
            continue
        module.body += [Line(f"  {attribute}") for attribute in attributes]
        attributes = []
        if line.startswith("cell "):
            module.body += _cell(line, lines)
            continue
        depth += line.startswith(("process ", "switch ")) - (line == "end")
        module.body.append(_line(line))


def _line(line: str) -> Line:
    """A line outside of cells."""
    word, _, rest = line.partition(" ")
    if word == "memory":
        fixed, _, name = line.rpartition(" ")
        return Line(f"  {fixed} ", name)
    return Line(f"  {word} ", rest) if word in ("assign", "switch", "connect") else Line(f"  {line}")


def _cell(head: str, lines: Iterator[str]) -> list[Line | Instance]:
    """A cell, read up to its end: an instance of a module, or the lines of an operation."""
    _, kind, name = head.split(" ")
    parameters, connections = [], []
    for line in lines:
        if line == "end":
            break
        (connections if line.startswith("connect ") else parameters).append(line)
    ports = dict(connection.split(" ", 2)[1:] for connection in connections)
    if kind.startswith("\\"):
        return [Instance(kind, name, parameters, ports)]
    found: list[Line | Instance] = [Line(f"  cell {kind} {name}")]
    for parameter in parameters:
        memory = _MEMORY_NAME.fullmatch(parameter)
        found.append(Line(f"    {memory[1]}", memory[2], memory[3]) if memory else Line(f"    {parameter}"))
    return [*found, *(Line(f"    connect {port} ", signals) for port, signals in ports.items()), Line("  end")]
