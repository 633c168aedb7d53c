"""Proves that two netlists of a design do the same, although their texts differ.

::

    modules that differ  -->  those that no other one of them contains  -->  each flattened, with the modules in it that
                                                                             do not differ as black boxes
                                                                                     |
                              all outputs, registers and inputs of black boxes   <---+
                              equal, by SAT and by induction: Yosys, equiv_*

Signals and registers are compared by their names, memories and black boxes by theirs. What has no counterpart stays
unproven, so a proof may fail where two netlists do the same, and never the other way round. Registers begin with equal
values: those with a reset have them from the reset on, and any values of the others are allowed to both.
"""

from __future__ import annotations

import re
from pathlib import Path

from verif.formal.solver import yosys

__all__ = ["prove"]

_MODULE = re.compile(r"^module (\S+)\n(.*?)^end$", re.MULTILINE | re.DOTALL)
_CELL = re.compile(r"^  cell (\\\S+) \S+$", re.MULTILINE)
_PORT = re.compile(r"^  wire (?:.* )?(?:input|output) \d+ .*$", re.MULTILINE)
_NUMBER = re.compile(r"(input|output) \d+ ")

_READ = """\
read_rtlil {file}.il
read_rtlil boxes.il
hierarchy -top {top}
proc
flatten
memory_collect
opt_clean
check -assert
rename {top} {file}
design -stash {file}
"""
_COMPARE = """\
read_rtlil boxes.il
design -copy-from plain -as plain plain
design -copy-from mutant -as mutant mutant
equiv_make plain mutant both
hierarchy -top both
opt_clean
equiv_simple
equiv_induct -seq 2
equiv_status -assert
"""

Modules = dict[str, str]
"""Bodies of modules in RTLIL, by name."""


def prove(plain: str, mutant: str, folder: Path) -> bool:
    """Whether two netlists with the same top do the same, as far as it is proved.

    Parameters
    ----------
    plain, mutant
        RTLIL of all modules, without lines of sources.
    folder
        For the files of the proof.

    Raises
    ------
    MissingToolError
        If Yosys is not installed.
    """
    one, other = dict(_MODULE.findall(plain)), dict(_MODULE.findall(mutant))
    if set(one) != set(other):
        return False
    differ = _widened({name for name, body in one.items() if body != other[name]}, one, other)
    if differ is None:
        return False
    inside = {child for name in differ for child in _children(name, one) | _children(name, other)}
    return all(_proved(top, differ, one, other, folder) for top in sorted(differ - inside))


def _children(name: str, modules: Modules) -> set[str]:
    return {cell for cell in _CELL.findall(modules[name]) if cell in modules}


def _ports(name: str, modules: Modules) -> set[str]:
    return {_NUMBER.sub(r"\1 ", port) for port in _PORT.findall(modules[name])}


def _widened(differ: set[str], one: Modules, other: Modules) -> set[str] | None:
    """The modules that differ, with what contains those whose ports differ; None if the ports of the top do."""
    parents: dict[str, set[str]] = {name: set() for name in one}
    for modules in (one, other):
        for name in modules:
            for child in _children(name, modules):
                parents[child].add(name)
    found, left = set(differ), list(differ)
    while left:
        name = left.pop()
        if _ports(name, one) == _ports(name, other):
            continue
        if not parents[name]:
            return None
        left += parents[name] - found
        found |= parents[name]
    return found


def _proved(top: str, differ: set[str], one: Modules, other: Modules, folder: Path) -> bool:
    script, boxes = "", set[str]()
    for file, modules in (("plain", one), ("mutant", other)):
        inside = _inside(top, differ, modules)
        boxes |= inside - differ
        text = "\n".join(f"module {name}\n{modules[name]}end\n" for name in sorted(inside & differ))
        folder.joinpath(f"{file}.il").write_text(text, encoding="utf-8")
        script += _READ.format(file=file, top=top)
    text = "\n".join(_black_box(name, one) for name in sorted(boxes))
    folder.joinpath("boxes.il").write_text(text, encoding="utf-8")
    folder.joinpath("equivalence.ys").write_text(script + _COMPARE, encoding="utf-8")
    return not yosys(folder, "equivalence.ys")


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
