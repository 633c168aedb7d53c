"""Mutants of small sources: what is changed, what is left alone, and names that stay the same."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from cdma.verif.mutation.operators import OPERATORS, candidates
from cdma.verif.mutation.sample import changed_lines, named, of_changes, sample, units


def _changes(body: str) -> dict[str, str]:
    """Each change of a function's body, with the line that it makes."""
    text = ("class Unit:\n    def elaborate(self, platform):\n"
            + textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8) + "\n").encode()
    found = candidates("unit.py", text)
    for mutant in found:
        ast.parse(mutant.applied(text))
    return {mutant.change: mutant.applied(text).decode().splitlines()[mutant.line - 1].strip() for mutant in found}


@pytest.mark.parametrize(("line", "change", "new"), [
    ("m.d.comb += a.eq(b < c)", "< -> <=", "m.d.comb += a.eq(b <= c)"),
    ("m.d.comb += a.eq((b) == (c))", "== -> !=", "m.d.comb += a.eq((b) != (c))"),
    ("m.d.comb += a.eq(b + c)", "+ -> -", "m.d.comb += a.eq(b - c)"),
    ("m.d.comb += a.eq(b & ~c)", "& -> |", "m.d.comb += a.eq(b | ~c)"),
    ("m.d.comb += a.eq(b & ~c)", "lose ~", "m.d.comb += a.eq(b & c)"),
    ("m.d.comb += a.eq(b.any())", "any -> all", "m.d.comb += a.eq(b.all())"),
    ("m.d.comb += a.eq(5)", "5 -> 6", "m.d.comb += a.eq(6)"),
    ("m.d.comb += a.eq(5)", "5 -> 4", "m.d.comb += a.eq(4)"),
    ("m.d.comb += a.eq(b[2:])", "[2] -> [3]", "m.d.comb += a.eq(b[3:])"),
    ("m.d.comb += a.eq(b[:-1])", "[-1] -> [-2]", "m.d.comb += a.eq(b[:-2])"),
    ("m.d.comb += a.eq(b[width:])", "[width] -> + 1", "m.d.comb += a.eq(b[width + 1:])"),
    ("for k in range(n): pass", "range n - 1", "for k in range(n - 1): pass"),
    ("m.d.sync += a.eq(b)", "drop a.eq(b)", "m.d.sync += []"),
    ("m.d.sync += [a.eq(b), c.eq(d)]", "drop c.eq(d)", "m.d.sync += [a.eq(b), *[]]"),
    ('m.next = "idle"', 'drop m.next = "idle"', "pass"),
    ("a = Mux(b, c, d)", "swap Mux", "a = Mux(b, d, c)"),
    ("a = b if c else d", "swap if else", "a = d if c else b"),
    ("a = Signal(4, init=3)", "lose init=3", "a = Signal(4, init=0)"),
    ("a = Signal(4)", "4 -> 3", "a = Signal(3)"),
    ("a += 1", "+= -> -=", "a -= 1"),
])
def test_a_line_has_a_change(line: str, change: str, new: str) -> None:
    assert _changes(line)[change] == new


def test_conditions_are_inverted() -> None:
    changes = _changes("with m.If(a):\n    m.d.comb += b.eq(0)\nif c:\n    d()")
    assert changes["invert If"] == "with m.If((a) == 0):"
    assert changes["invert if"] == "if not (c):"


def test_registers_lose_their_reset() -> None:
    changes = _changes("a = Signal()\nb = Signal(reset_less=True)\nc = Signal()\n"
                       "m.d.sync += [a.eq(b), b.eq(a)]\nm.d.comb += c.eq(a)")
    assert changes["lose reset"] == "a = Signal(reset_less=True)"
    assert list(changes).count("lose reset") == 1


@pytest.mark.parametrize("body", [
    '"""A text with 1 and 2."""', "a: tuple[int, 3]", 'raise ValueError(f"more than {a + 1}")',
    "if a > 3:\n    raise ValueError", 'a = Signal(name=f"a{b + 1}")', "assert a < 2", "a = isinstance(b, int)",
    "a = Signal(1)", "def inner(step: int = 1) -> None:\n    pass"])
def test_what_makes_no_hardware_is_left_alone(body: str) -> None:
    assert not _changes(body)


def test_module_level_is_left_alone() -> None:
    assert not candidates("unit.py", b"A = 3\nB = A + 1\n")


def test_characters_of_several_bytes_do_not_move_a_change() -> None:
    text = 'def make():\n    a = "µ" + "ß"; b = c + d\n'.encode()
    assert candidates("unit.py", text)[-1].applied(text).decode().endswith("b = c - d\n")


def test_all_of_the_hardware() -> None:
    """Names are their own, every change is Python, and every operator is there."""
    found = [(mutant, name) for name, mutants in units().items() for mutant in mutants]
    assert len({mutant.name for mutant, _ in found}) == len(found) > 10_000
    assert {mutant.operator for mutant, _ in found} == set(OPERATORS)
    assert all(mutant.path == name and mutant.first <= mutant.line <= mutant.last for mutant, name in found)


def test_samples_are_of_all_units_and_grow() -> None:
    all_units = units()
    some, more = sample(all_units, 150, 1), sample(all_units, 370, 1)
    assert more[:150] == some
    assert {mutant.path for mutant in some} == set(all_units)
    assert sample(all_units, 150, 2) != some
    largest = max(all_units, key=lambda name: len(all_units[name]))
    assert sum(mutant.path == largest for mutant in more) >= 5


def test_names_and_changes_choose() -> None:
    all_units = units()
    path = "hdl/common/skid.py"
    one = all_units[path][3]
    assert named(all_units, [one.name]) == [one]
    assert named(all_units, [path]) == all_units[path]
    with pytest.raises(ValueError, match=r"no mutant 'hdl/none\.py'"):
        named(all_units, ["hdl/none.py"])
    there = of_changes(all_units, {path: {one.line}}, 1000, 1)
    assert one in there
    assert all(mutant.first <= one.line <= mutant.last for mutant in there)
    assert len(of_changes(all_units, {path: set(range(1000))}, 4, 1)) == 4


def test_changes_need_a_repository(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is in no git repository, so nothing is known of changed lines"):
        changed_lines("HEAD", tmp_path)
