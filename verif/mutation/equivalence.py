"""Proves that two netlists of a design do the same, although their texts differ.

::

    modules that differ, those inside others first
         |
         v
    each flattened, with what is the same in it as black boxes:     ---- proved ---->  the same: a black box for those
    modules that do not differ, modules proved before,                                 that contain it
    modules of the library                                          -- not proved -->  a black box with inputs that are
         |                                                                             not proved is flattened too; then
         v                                                                             those that contain it are tried
    proved: nothing is left but what is inside something proved

A proof is that all outputs, registers and inputs of black boxes are equal, by SAT and by induction: Yosys, equiv_*.
Registers and black boxes are matched by name. A first attempt matches all other signals by name too; a second one does
not. What has no counterpart stays unproven, so a proof may fail where two netlists do the same, and never the other
way round.

Registers of both must have the same initial values, because induction alone does not see how they begin. Registers with
a reset begin with equal values from the reset on; those without one may have any value, the same in both. Bits of
registers that only one netlist has may have any value at any time: there the proof is of one cycle, from any state in
which all other bits are equal. Bits of a memory that are always the same are taken out of it before. A black box is the
same in both netlists, so its outputs are equal while its inputs have been. The library has modules that netlists only
instantiate, such as wrapped memories; each set of parameters is a black box of its own.
"""

from __future__ import annotations

import re
from pathlib import Path

from cdma.verif.formal.solver import yosys
from cdma.verif.mutation.netlists import (
    Flat,
    Modules,
    black_box,
    cells,
    children,
    inner_first,
    parents_of,
    ports,
    read_modules,
)

__all__ = ["prove"]

_LIBRARY_MODULE = re.compile(r"^module (\w+)", re.MULTILINE)

_READ = """\
read_verilog library.v
read_rtlil {file}.il
read_rtlil boxes.il
hierarchy -top {top}
{black_boxes}proc
flatten
memory_collect
opt_clean
opt_mem
check -assert
opt_expr -fine
wreduce
opt_clean
rename {top} {file}
write_rtlil {file}_flat.il
design -reset
"""
_BLACK_BOX = "blackbox *{name}*\n"
_COMPARE = """\
read_rtlil plain_flat.il
read_rtlil -nooverwrite mutant_flat.il
{split}equiv_make {inner}plain mutant both
hierarchy -top both
opt_clean
equiv_simple -ignore-unknown-cells
{induction}equiv_remove
tee -o unproved.il dump t:$equiv %co2
equiv_status -assert
"""
_SPLIT = "splitnets plain/w:{name} mutant/w:{name}\n"
_INDUCTION = "equiv_induct -ignore-unknown-cells -seq 2\n"


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
    return any(_all_proved(read_modules(plain, number), read_modules(mutant, number), folder, library)
               for number in (True, False))


def _all_proved(one: Modules, other: Modules, folder: Path, library: str) -> bool:
    if set(one) != set(other):
        return False
    parents = parents_of(one, other)
    differ = _widened({name for name, body in one.items() if body != other[name]}, parents, one, other)
    left, proved = set(differ), set[str]()
    for name in inner_first(one, other):
        if name not in left:
            continue
        if ports(name, one) == ports(name, other) and _proved(name, left, one, other, folder, library):
            left.discard(name)
            proved.add(name)
        elif name in differ and parents[name]:
            left |= parents[name]
        else:
            return False
    # What is left is proved only if each of the modules that contain it was proved with it.
    return all(_is_inside(name, parents, proved) for name in left)


def _widened(differ: set[str], parents: dict[str, set[str]], one: Modules, other: Modules) -> set[str]:
    """The modules that differ, with what contains those whose ports differ."""
    found, left = set(differ), list(differ)
    while left:
        name = left.pop()
        if ports(name, one) != ports(name, other):
            left += parents[name] - found
            found |= parents[name]
    return found


def _is_inside(name: str, parents: dict[str, set[str]], proved: set[str]) -> bool:
    """Whether all that contains a module is proved, or is inside what is proved."""
    return bool(parents[name]) and all(each in proved or _is_inside(each, parents, proved) for each in parents[name])


def _proved(top: str, differ: set[str], one: Modules, other: Modules, folder: Path, library: str) -> bool:
    """Whether a module is proved. What differs is flattened; black boxes with inputs that were not proved are flattened
    next, and the proof is tried again.
    """
    flattened, more = set(differ), set(differ)
    while more:
        proved, inputs = _compared(top, flattened, one, other, folder, library)
        if proved:
            return True
        more = inputs & one.keys() - flattened
        flattened |= more
    return False


def _compared(top: str, flattened: set[str], one: Modules, other: Modules, folder: Path, library: str
              ) -> tuple[bool, set[str]]:
    """Whether a module is proved, and the black boxes with inputs that are not."""
    script, boxes = "", set[str]()
    black_boxes = "".join(_BLACK_BOX.format(name=name) for name in _LIBRARY_MODULE.findall(library))
    for file, modules in (("plain", one), ("mutant", other)):
        inside = _inside(top, flattened, modules)
        boxes |= inside - flattened
        text = "\n".join(f"module {name}\n{modules[name]}end\n" for name in sorted(inside & flattened))
        folder.joinpath(f"{file}.il").write_text(text, encoding="utf-8")
        script += _READ.format(file=file, top=top, black_boxes=black_boxes)
    text = "\n".join(black_box(name, one) for name in sorted(boxes))
    folder.joinpath("boxes.il").write_text(text, encoding="utf-8")
    folder.joinpath("flat.ys").write_text(script, encoding="utf-8")
    if yosys(folder, "flat.ys"):
        return False, set()
    flat = [Flat.read(folder / f"{file}_flat.il", file) for file in ("plain", "mutant")]
    plain, mutant = (each.registers for each in flat)
    if plain is None or mutant is None or any(plain[bit] != mutant[bit] for bit in plain.keys() & mutant.keys()):
        return False, set()
    # Bits of both that have one name are matched, whatever the widths of the registers.
    alone = plain.keys() ^ mutant.keys()
    split = "".join(_SPLIT.format(name=name) for name in sorted({name for name, _ in alone}))
    folder.joinpath("inner.txt").write_text("\n".join(sorted(flat[0].inner | flat[1].inner)), encoding="utf-8")
    inputs, unproved = set[str](), folder / "unproved.il"
    # Matching the signals in between makes a proof short where they are equal, and impossible where they are not.
    for inner in ("", "-blacklist inner.txt "):
        unproved.unlink(missing_ok=True)
        folder.joinpath("equivalence.ys").write_text(
            _COMPARE.format(inner=inner, split=split, induction="" if alone else _INDUCTION), encoding="utf-8")
        if not yosys(folder, "equivalence.ys"):
            return True, set()
        # Nothing is dumped when Yosys refuses the netlists, for example memories with different contents.
        inputs = cells(unproved.read_text(encoding="utf-8")) if unproved.exists() else set()
    return False, inputs


def _inside(top: str, differ: set[str], modules: Modules) -> set[str]:
    """A module and those in it, down to those that do not differ."""
    left, seen = [top], {top}
    while left:
        name = left.pop()
        if name in differ:
            left += children(name, modules) - seen
            seen |= children(name, modules)
    return seen
