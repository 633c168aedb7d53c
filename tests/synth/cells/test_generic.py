"""The generic table: sizes follow from circuits, and names say what the functions do."""

import re
from itertools import product

import pytest

from cdma.synth.cells.generic import CLOCK_GATE, FLIP_FLOP, GATES, gate_size, genlib


@pytest.mark.parametrize(("name", "size"), [
    ("NAND2", 1.0), ("INV", 2 / 3), ("NOR3", 4 / 3), ("AOI22", 5 / 3), ("XOR2", 2.0), (FLIP_FLOP, 16 / 3),
    (CLOCK_GATE, 13 / 3)])
def test_size_is_columns_over_those_of_a_nand_gate(name: str, size: float) -> None:
    assert gate_size(name) == pytest.approx(size)


def test_unknown_gate() -> None:
    with pytest.raises(KeyError):
        gate_size("NAND9")


def _expected(name: str, values: dict[str, bool]) -> bool:
    """What the name of a gate promises, its inputs taken in the order of their letters."""
    kind, digits = re.fullmatch(r"([A-Z]+?)(\d*)", name).groups()  # type: ignore[union-attr]
    letters = [values[letter] for letter in sorted(values) if letter != "S"]
    if kind == "MUX":
        return letters[1] if values["S"] else letters[0]
    if kind in ("AOI", "OAI"):
        inner, outer = (all, any) if kind == "AOI" else (any, all)
        groups = [[letters.pop(0) for _ in range(int(digit))] for digit in digits]
        return not outer(inner(group) for group in groups)
    value = {"INV": lambda v: not v[0], "AND": all, "OR": any, "NAND": lambda v: not all(v),
             "NOR": lambda v: not any(v), "XOR": lambda v: sum(v) % 2 == 1, "XNOR": lambda v: sum(v) % 2 == 0}[kind]
    return bool(value(letters))


@pytest.mark.parametrize("name", GATES)
def test_function_is_what_the_name_says(name: str) -> None:
    function = GATES[name].function
    inputs = sorted(set(re.findall("[A-Z]", function)))
    python = function.replace("!", " not ").replace("*", " and ").replace("+", " or ")
    for row in product((False, True), repeat=len(inputs)):
        values = dict(zip(inputs, row, strict=True))
        assert bool(eval(python, {}, values)) == _expected(name, values), values


def test_genlib_has_every_gate_with_its_size_and_both_constants() -> None:
    lines = genlib().splitlines()
    gates = {line.split()[1]: float(line.split()[2]) for line in lines}
    assert set(gates) == {"_const0_", "_const1_", *GATES}
    assert all(gates[name] == pytest.approx(gate.size, abs=1e-4) for name, gate in GATES.items())
    phases = {line.split()[1]: line.split()[-7] for line in lines[2:]}
    assert (phases["NAND2"], phases["AND2"], phases["XOR2"]) == ("INV", "NONINV", "UNKNOWN")
