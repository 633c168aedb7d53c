"""The data of a cell library that synthesis needs: sizes, and the cells for special purposes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path

from cdma.synth.cells.liberty import Group, LibertyError, parse, read

__all__ = ["AVOIDED", "Cell", "ClockGate", "Library", "Pin", "load"]

AVOIDED = ("*__edf*", "*lpflow*", "*probe*")
"""Cells that are never used, besides those that the library marks ``dont_use``: SkyWater's flip-flops with an
enable (larger than flip-flops behind a clock gate), its cells for switched power domains, and its probe points."""

_FARADS = {"ff": 1.0, "pf": 1000.0}
_PS = {"ps": 1.0, "ns": 1000.0}


@dataclass(frozen=True)
class Pin:
    """A pin of a cell.

    Parameters
    ----------
    name : str
        Its name.
    output : bool
        Whether the cell drives it.
    function : str
        What an output is, in Liberty's notation; empty where that is not given.
    capacitance : float
        What an input loads its net with, fF.
    """

    name: str
    output: bool
    function: str
    capacitance: float


@dataclass(frozen=True)
class Cell:
    """A cell of a library.

    Parameters
    ----------
    name : str
        Its name.
    area : float
        um2.
    kind : str
        ``flip-flop``, ``latch``, ``clock gate``, ``memory`` or ``logic``.
    pins : tuple of Pin
        Its signal pins.
    group : Group
        All that the library says of it.
    """

    name: str
    area: float
    kind: str
    pins: tuple[Pin, ...]
    group: Group

    @cached_property
    def inputs(self) -> tuple[Pin, ...]:
        """Its inputs."""
        return tuple(pin for pin in self.pins if not pin.output)

    @cached_property
    def outputs(self) -> tuple[Pin, ...]:
        """Its outputs."""
        return tuple(pin for pin in self.pins if pin.output)

    def truth(self) -> str:
        """Value of its only output, as 0 and 1, for its inputs counted up with the first as the least significant bit.

        Empty if it has a state, several outputs, more than two inputs, or a function that is not given.
        """
        if self.kind != "logic" or len(self.outputs) != 1 or len(self.inputs) > 2 or not self.outputs[0].function:
            return ""
        names = [pin.name for pin in self.inputs]
        values = ({name: bool(row >> bit & 1) for bit, name in enumerate(names)} for row in range(1 << len(names)))
        try:
            return "".join(str(int(_evaluate(self.outputs[0].function, row))) for row in values)
        except ValueError:
            return ""


@dataclass(frozen=True)
class ClockGate:
    """A clock-gating cell.

    Parameters
    ----------
    name : str
        The cell.
    enable, clock, out : str
        Its pins for the enable, the clock and the gated clock.
    test : tuple of str
        Its test pins, which are tied low.
    """

    name: str
    enable: str
    clock: str
    out: str
    test: tuple[str, ...]


class Library:
    """A cell library.

    Parameters
    ----------
    path : Path
        The file.
    text : str
        Its text, unpacked.

    Raises
    ------
    LibertyError
        If it is no Liberty file, or lacks a two-input NAND gate, an inverter or a flip-flop.
    """

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        group = parse(text, path)
        self.name = group.name
        self.group = group
        amount, _, unit = group.values.get("capacitive_load_unit", "1,pf").partition(",")
        self.load_unit = _number(amount, path, "capacitive_load_unit") * _FARADS.get(unit.strip().lower(), 1000.0)
        """One unit of load in fF."""
        scale = re.fullmatch(r"\s*([\d.]+)\s*(ps|ns)\s*", group.values.get("time_unit", "1ns"))
        self.time_unit = float(scale[1]) * _PS[scale[2]] if scale else 1000.0
        """One unit of time in ps."""
        self.cells = {cell.name: cell for cell in self._cells(group)}
        self.dont_use = sorted(
            name for name, cell in self.cells.items()
            if cell.group.values.get("dont_use", "false").lower() == "true"
            or any(fnmatchcase(name, pattern) for pattern in AVOIDED))
        """Names of the cells that must not be used."""
        self.nand2 = self._smallest("a two-input NAND gate, which kGE are counted in", ("1110",))
        self.driver = self._smallest("a buffer or an inverter", ("01",), ("10",))
        """The assumed driver of nets from outside the logic: the smallest buffer."""
        if not any(cell.kind == "flip-flop" for cell in self._usable()):
            raise LibertyError(f"cell library {path} has no flip-flop")

    @cached_property
    def clock_gate(self) -> ClockGate | None:
        """The smallest cell that gates the clock of registers that act on rising edges; None where there is none."""
        fitting: list[tuple[bool, float, str, ClockGate]] = []
        for cell in self._special():
            if not cell.group.values.get("clock_gating_integrated_cell", "").startswith("latch_posedge"):
                continue
            pins = {role: [pin.name for pin in cell.group.all("pin")
                           if pin.values.get(f"clock_gate_{role}_pin") == "true"]
                    for role in ("enable", "clock", "out", "test")}
            if all(len(pins[role]) == 1 for role in ("enable", "clock", "out")):
                gate = ClockGate(cell.name, pins["enable"][0], pins["clock"][0], pins["out"][0], tuple(pins["test"]))
                fitting.append((bool(gate.test), cell.area, cell.name, gate))
        return min(fitting)[-1] if fitting else None

    @cached_property
    def ties(self) -> tuple[tuple[str, str], tuple[str, str]] | None:
        """The cells, with their pins, that give a constant 1 and a constant 0; None where there are none."""
        found: dict[str, tuple[str, str]] = {}
        for cell in self._special():
            for pin in cell.outputs:
                if not cell.inputs and pin.function in ("0", "1"):
                    found.setdefault(pin.function, (cell.name, pin.name))
        return (found["1"], found["0"]) if len(found) == 2 else None

    def _usable(self) -> Iterator[Cell]:
        return (cell for name, cell in sorted(self.cells.items()) if name not in self.dont_use)

    def _special(self) -> Iterator[Cell]:
        # Libraries often mark these dont_use, which only excludes them from the mapping of logic.
        return (cell for name, cell in sorted(self.cells.items())
                if not any(fnmatchcase(name, pattern) for pattern in AVOIDED))

    def _smallest(self, what: str, *truths: tuple[str, ...]) -> Cell:
        for wanted in truths:
            fitting = [cell for cell in self._usable() if cell.truth() in wanted and cell.area > 0]
            if fitting:
                return min(fitting, key=lambda cell: (cell.area, cell.name))
        raise LibertyError(f"cell library {self.path} has no {what.removeprefix('a ')}")

    def _cells(self, library: Group) -> Iterator[Cell]:
        for group in library.all("cell"):
            values = group.values
            kinds = {inner.kind for inner in group.groups}
            gates_clocks = "clock_gating_integrated_cell" in values
            kind = ("clock gate" if gates_clocks else "flip-flop" if kinds & {"ff", "ff_bank"}
                    else "latch" if kinds & {"latch", "latch_bank"} else "memory" if "memory" in kinds else "logic")
            area = _number(values.get("area", "0"), self.path, f"area of {group.name}")
            yield Cell(group.name, area, kind, tuple(self._pins(group)), group)

    def _pins(self, cell: Group) -> Iterator[Pin]:
        for group in cell.all("pin"):
            direction = group.values.get("direction", "")
            if direction in ("input", "output"):
                load = _number(group.values.get("capacitance", "0"), self.path, f"capacitance of {cell.name}")
                for name in group.arguments:
                    yield Pin(name, direction == "output", group.values.get("function", ""), load * self.load_unit)


def _number(text: str, path: Path, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise LibertyError(f"cell library {path}: {what} must be a number, not {text!r}") from None


_BIT = "([01])"
# What binds closest comes first. Two terms side by side are an AND as well.
_OPERATORS = [(re.compile(pattern), function) for pattern, function in (
    (f"{_BIT}'|!{_BIT}", lambda a, b: "01"[(a or b) == "0"]), (rf"{_BIT}\^{_BIT}", lambda a, b: "01"[a != b]),
    (f"{_BIT}[*&]?{_BIT}", min), (f"{_BIT}[+|]{_BIT}", max))]
_INNERMOST = re.compile(r"\(([^()]*)\)")


def _evaluate(function: str, values: Mapping[str, bool]) -> bool:
    """Value of a function in Liberty's notation; ValueError if it is none, or has a name without a value."""
    text = re.sub(r"[A-Za-z_][\w\[\]]*", lambda name: "01"[values[name[0]]] if name[0] in values else name[0], function)
    text = f"({''.join(text.split())})"
    while inner := _INNERMOST.search(text):
        term = inner[1]
        for pattern, operator in _OPERATORS:
            while found := pattern.search(term):
                term = term[:found.start()] + operator(*found.groups()) + term[found.end():]
        if term not in ("0", "1"):
            raise ValueError(f"{function!r} is not a function of {', '.join(values)}")
        text = text[:inner.start()] + term + text[inner.end():]
    if text not in ("0", "1"):
        raise ValueError(f"{function!r} has brackets that do not match")
    return text == "1"


@lru_cache(maxsize=4)
def _load(path: Path, _changed: int) -> Library:
    return Library(path, read(path))


def load(path: str | Path) -> Library:
    """Reads a cell library: a Liberty file, packed by gzip or not. One that was read before is not read again.

    Raises
    ------
    LibertyError
        If it cannot be read, is no Liberty file, or lacks a cell that synthesis needs.
    """
    path = Path(path)
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise LibertyError(f"cannot read cell library {path}: {error.strerror}") from error
    return _load(path, changed)
