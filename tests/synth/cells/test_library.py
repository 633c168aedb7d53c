"""Cell libraries: which cells play which part, units, and what a library must have."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cdma.synth.cells.liberty import LibertyError
from cdma.synth.cells.library import ClockGate, Library, load
from tests.synth.conftest import TINY

_Changed = Callable[..., Library]


def test_cells_and_their_parts(tiny: Library) -> None:
    assert tiny.name == "tiny"
    assert {name: cell.kind for name, cell in tiny.cells.items()} == {
        "INV": "logic", "BUF": "logic", "NAND2": "logic", "DFF": "flip-flop", "GATE": "clock gate", "TIE1": "logic",
        "TIE0": "logic"}
    assert (tiny.nand2.name, tiny.nand2.area, tiny.driver.name) == ("NAND2", 2.0, "BUF")
    assert tiny.clock_gate == ClockGate("GATE", "CE", "CK", "GCK", ("TE",))
    assert tiny.ties == (("TIE1", "Y"), ("TIE0", "Y"))
    assert tiny.dont_use == ["GATE"]
    assert [(pin.name, pin.capacitance) for pin in tiny.cells["NAND2"].inputs] == [("A", 3.0), ("B", 3.0)]


@pytest.mark.parametrize(("units", "fF", "ps"), [
    (("(1, ff)", '"1ps"'), 1.0, 1.0), (("(1, pf)", '"1ns"'), 1000.0, 1000.0), (("(10, ff)", '"10ps"'), 10.0, 10.0)])
def test_units(changed: _Changed, units: tuple[str, str], fF: float, ps: float) -> None:
    library = changed(("(1, ff)", units[0]), ('"1ps"', units[1]))
    assert (library.load_unit, library.time_unit) == (fF, ps)
    assert library.cells["NAND2"].inputs[0].capacitance == 3 * fF


@pytest.mark.parametrize(("function", "truth"), [
    ("A", "01"), ("!A", "10"), ("A'", "10"), ("(A)''", "01"), ("1", "11"), ("A ^ A", "00"), ("A + !A", "11"),
    ("!(A & 1)", "10"), ("A B", ""), ("A)", ""), ("A +", ""), ("A # A", "")])
def test_functions(changed: _Changed, function: str, truth: str) -> None:
    library = changed(('function : "A"', f'function : "{function}"'))
    assert library.cells["BUF"].truth() == truth


def test_an_and_of_two_binds_closer_than_an_or(changed: _Changed) -> None:
    library = changed(("  cell (TIE1)", """  cell (XNOR2) { area : 5;
        pin (A, B) { direction : input; } pin (Y) { direction : output; function : "A B + A' B'"; } }
      cell (TIE1)"""))
    assert library.cells["XNOR2"].truth() == "1001"


def test_smallest_cells_are_chosen(changed: _Changed) -> None:
    # An inverter drives if there is no buffer; a gate without a test pin is better than one with.
    assert changed(('function : "A"', 'function : "!A"')).driver.name == "INV"
    plain = changed(("  cell (TIE1)", """  cell (PLAIN) { area : 9; clock_gating_integrated_cell : latch_posedge;
        pin (E) { direction : input; clock_gate_enable_pin : true; }
        pin (C) { direction : input; clock_gate_clock_pin : true; }
        pin (G) { direction : output; clock_gate_out_pin : true; } }
      cell (TIE1)"""))
    assert plain.clock_gate == ClockGate("PLAIN", "E", "C", "G", ())


def test_libraries_without_clock_gate_or_ties(changed: _Changed) -> None:
    library = changed(("latch_posedge_precontrol", "latch_negedge_precontrol"), ('function : "0"', 'function : "1"'))
    assert library.clock_gate is None
    assert library.ties is None


@pytest.mark.parametrize(("pair", "message"), [
    (("ff (state, inverse)", "unknown (state, inverse)"), "cell library changed.lib has no flip-flop"),
    (("(A B)'", "A B"), "cell library changed.lib has no two-input NAND gate, which kGE are counted in"),
    (("area : 2.0", "area : two"), "cell library changed.lib: area of NAND2 must be a number, not 'two'"),
    (("capacitance : 3", "capacitance : x"),
     "cell library changed.lib: capacitance of NAND2 must be a number, not 'x'"),
])
def test_what_a_library_must_have(changed: _Changed, pair: tuple[str, str], message: str) -> None:
    with pytest.raises(LibertyError) as caught:
        changed(pair)
    assert str(caught.value) == message


def test_a_buffer_or_an_inverter_must_be_there(changed: _Changed) -> None:
    with pytest.raises(LibertyError, match=r"has no buffer or an inverter$"):
        changed(('function : "A"', 'function : "1"'), ('function : "!A"', 'function : "1"'))


def test_a_file_is_read_once_until_it_changes(tmp_path: Path) -> None:
    assert load(TINY) is load(str(TINY))
    own = tmp_path / "own.lib"
    own.write_text(TINY.read_text())
    assert load(own).nand2.area == 2.0
    own.write_text(TINY.read_text().replace("area : 2.0", "area : 4.0"))
    assert load(own).nand2.area == 4.0


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(LibertyError, match=r"cannot read cell library .*missing\.lib: No such file"):
        load(tmp_path / "missing.lib")
