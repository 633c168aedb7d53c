"""Proves that two netlists of a design do the same, although their texts differ.

::

    modules that differ, those inside others first
         |
         v
    each flattened, with what is the same in it as black boxes:     ---- proved ---->  the same: a black box for those
    modules that do not differ, modules proved before,                                 that contain it
    modules of the library                                          -- not proved -->  flattened in those that
         |                                                                             contain it
         v
    proved: nothing is left but what is inside something proved

A proof is that all outputs, registers and inputs of black boxes are equal, by SAT and by induction: Yosys, equiv_*.
Signals and registers are compared by their names, memories and black boxes by theirs. What has no counterpart stays
unproven, so a proof may fail where two netlists do the same, and never the other way round. Both must have the same
registers, of the same widths and initial values: they begin with equal values, those with a reset from the reset on,
and any values of the others are allowed to both. Induction alone would not see what differs from the start. A black
box is the same in both netlists, so its outputs are equal while its inputs have been. Modules of the library are those
that netlists only instantiate, such as wrapped memories; each set of parameters is a black box of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from verif.formal.solver import yosys

__all__ = ["prove", "read_modules"]

_MODULE = re.compile(r"^module (\S+)\n(.*?)^end$", re.MULTILINE | re.DOTALL)
_CELL = re.compile(r"^  cell (\\\S+) \S+$", re.MULTILINE)
_PORT = re.compile(r"^  wire (?:.* )?(?:input|output) \d+ .*$", re.MULTILINE)
_NUMBER = re.compile(r"(input|output) \d+ ")

_LIBRARY_MODULE = re.compile(r"^module (\w+)", re.MULTILINE)
_NUMBERED = re.compile(r"\\port\$\d+\$\d+")
_CONNECTED = re.compile(r"(    connect \S+)(.*\n)")
_DIGITS = re.compile(r"\d+")

_READ = """\
read_verilog library.v
read_rtlil {file}.il
read_rtlil boxes.il
hierarchy -top {top}
{black_boxes}proc
flatten
memory_collect
opt_clean
check -assert
write_rtlil {file}_flat.il
rename {top} {file}
design -stash {file}
"""
_WIRE = re.compile(r"^  wire (?:width (\d+) )?(?:.* )?(\\\S+)$")
_INIT = "  attribute \\init "
_REGISTER = re.compile(r"^  cell \$\w*(?:dff|latch)\w* .*$(?:\n    .*)*?\n    connect \\Q (.*)$", re.MULTILINE)

_BLACK_BOX = "blackbox *{name}*\n"
_COMPARE = """\
design -copy-from plain =A:blackbox
design -copy-from plain -as plain plain
design -copy-from mutant -as mutant mutant
equiv_make plain mutant both
hierarchy -top both
opt_clean
equiv_simple -ignore-unknown-cells
equiv_induct -ignore-unknown-cells -seq 2
equiv_status -assert
"""

Modules = dict[str, str]
"""Bodies of modules in RTLIL, by name."""


def prove(plain: str, mutant: str, folder: Path, library: str = "") -> bool:
    """Whether two netlists with the same top do the same, as far as it is proved.

    Parameters
    ----------
    plain, mutant
        RTLIL of all modules, without lines of sources.
    folder
        For the files of the proof.
    library
        Verilog of modules that the netlists instantiate and do not contain.

    Raises
    ------
    MissingToolError
        If Yosys is not installed.
    """
    folder.joinpath("library.v").write_text(library, encoding="utf-8")
    one, other = read_modules(plain), read_modules(mutant)
    if set(one) != set(other):
        return False
    left = _widened({name for name, body in one.items() if body != other[name]}, one, other)
    proved = set[str]()
    for name in _inner_first(left, one, other):
        if _ports(name, one) == _ports(name, other) and _proved(name, left, one, other, folder, library):
            left.discard(name)
            proved.add(name)
    # What is left has been proved with each of the modules that contain it, or it is not proved.
    parents = _parents(one, other)
    return all(_is_inside(name, parents, proved) for name in left)


def read_modules(text: str) -> Modules:
    """The modules of a netlist.

    Ports that have no name are numbered through the whole design: they get numbers of their module, so that what one
    module has more or less changes nothing in the others.
    """
    found: Modules = dict(_MODULE.findall(text))
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


def _children(name: str, modules: Modules) -> set[str]:
    return {cell for cell in _CELL.findall(modules[name]) if cell in modules}


def _ports(name: str, modules: Modules) -> set[str]:
    return {_NUMBER.sub(r"\1 ", port) for port in _PORT.findall(modules[name])}


def _parents(one: Modules, other: Modules) -> dict[str, set[str]]:
    """The modules that contain each, in one netlist or the other."""
    parents: dict[str, set[str]] = {name: set() for name in one}
    for modules in (one, other):
        for name in modules:
            for child in _children(name, modules):
                parents[child].add(name)
    return parents


def _widened(differ: set[str], one: Modules, other: Modules) -> set[str]:
    """The modules that differ, with what contains those whose ports differ."""
    parents = _parents(one, other)
    found, left = set(differ), list(differ)
    while left:
        name = left.pop()
        if _ports(name, one) != _ports(name, other):
            left += parents[name] - found
            found |= parents[name]
    return found


def _inner_first(names: set[str], one: Modules, other: Modules) -> list[str]:
    """Modules in an order that has those inside a module before it."""
    order: list[str] = []

    def visit(name: str) -> None:
        for child in sorted(_children(name, one) | _children(name, other)):
            visit(child)
        if name in names and name not in order:
            order.append(name)

    for name in sorted(names):
        visit(name)
    return order


def _is_inside(name: str, parents: dict[str, set[str]], proved: set[str]) -> bool:
    """Whether all that contains a module is proved, or is inside what is proved."""
    return bool(parents[name]) and all(each in proved or _is_inside(each, parents, proved) for each in parents[name])


def _proved(top: str, differ: set[str], one: Modules, other: Modules, folder: Path, library: str) -> bool:
    script, boxes = "", set[str]()
    black_boxes = "".join(_BLACK_BOX.format(name=name) for name in _LIBRARY_MODULE.findall(library))
    for file, modules in (("plain", one), ("mutant", other)):
        inside = _inside(top, differ, modules)
        boxes |= inside - differ
        text = "\n".join(f"module {name}\n{modules[name]}end\n" for name in sorted(inside & differ))
        folder.joinpath(f"{file}.il").write_text(text, encoding="utf-8")
        script += _READ.format(file=file, top=top, black_boxes=black_boxes)
    text = "\n".join(_black_box(name, one) for name in sorted(boxes))
    folder.joinpath("boxes.il").write_text(text, encoding="utf-8")
    folder.joinpath("equivalence.ys").write_text(script + _COMPARE, encoding="utf-8")
    if yosys(folder, "equivalence.ys"):
        return False
    registers = _registers(folder / "plain_flat.il")
    return registers is not None and registers == _registers(folder / "mutant_flat.il")


def _registers(file: Path) -> set[tuple[str, str, str]] | None:
    """Name, width and initial value of each register of a flat module; None if one has no name."""
    text = file.read_text(encoding="utf-8")
    wires: dict[str, tuple[str, str]] = {}
    init = ""
    for line in text.splitlines():
        if line.startswith(_INIT):
            init = line.removeprefix(_INIT)
        elif match := _WIRE.match(line):
            wires[match[2]] = match[1] or "1", init
            init = ""
    names = _REGISTER.findall(text)
    if any(name not in wires for name in names):
        return None
    return {(name, *wires[name]) for name in names}


def _inside(top: str, differ: set[str], modules: Modules) -> set[str]:
    """A module and those in it, down to those that do not differ."""
    left, seen = [top], {top}
    while left:
        name = left.pop()
        if name in differ:
            left += _children(name, modules) - seen
            seen |= _children(name, modules)
    return seen


def _black_box(name: str, modules: Modules) -> str:
    ports = "\n".join(_PORT.findall(modules[name]))
    return f"attribute \\blackbox 1\nmodule {name}\n{ports}\nend\n"
