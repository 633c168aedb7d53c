"""Delay tables: interpolation, templates, arcs, loads and wire loads, by hand."""

from collections.abc import Callable

import pytest

from synth.cells.liberty import LibertyError
from synth.cells.library import Library
from synth.timing.tables import FALL, RISE, Table, WireLoad, arcs, loads

_Changed = Callable[..., Library]
_BENT = Table((0.0, 10.0, 30.0), (1.0, 3.0), ((5.0, 9.0), (7.0, 15.0), (27.0, 35.0)))


@pytest.mark.parametrize(("x", "y", "value"), [
    (0, 1, 5), (10, 3, 15), (30, 3, 35),                # the points themselves
    (0, 2, 7), (5, 1, 6), (20, 1, 17),                  # between two
    (5, 2, 9), (20, 2, 21),                             # between four
    (40, 1, 37), (-5, 1, 4), (0, 5, 13), (40, 5, 53),   # beyond
])
def test_tables_are_straight_between_points_and_beyond(x: float, y: float, value: float) -> None:
    assert _BENT.at(x, y) == pytest.approx(value)


def test_tables_of_one_axis_or_none() -> None:
    assert Table((), (), ((4.0,),)).at(3, 9) == 4
    assert Table((0.0, 2.0), (), ((1.0,), (5.0,))).at(1, 9) == 3
    assert Table((), (0.0, 2.0), ((1.0, 5.0),)).at(9, 1) == 3


def test_arcs_of_logic(tiny: Library) -> None:
    a, b = arcs(tiny, "NAND2")
    assert (a.kind, a.source, a.pin, b.source) == ("through", "A", "Y", "B")
    assert set(a.edges) == {(RISE, FALL), (FALL, RISE)}
    rise, fall = a.delays
    assert rise is not None and fall is not None
    assert rise.at(50, 30) == pytest.approx(12 + 30 + 0.1 * 50)
    assert fall.at(50, 30) == pytest.approx(14 + 30 + 0.1 * 50)


def test_arcs_of_a_flip_flop(tiny: Library) -> None:
    capture, launch = arcs(tiny, "DFF")
    assert (capture.kind, capture.source, capture.pin) == ("capture", "CK", "D")
    assert (launch.kind, launch.source, launch.pin) == ("launch", "CK", "Q")
    assert set(launch.edges) == {(RISE, RISE), (RISE, FALL)}
    setup = capture.delays[FALL]
    assert setup is not None
    # The clock's slew is the first axis in the file, the data's the second; here the data's comes first.
    assert setup.at(50, 0) == pytest.approx(35)
    assert setup.at(0, 50) == pytest.approx(30)


def test_axes_may_be_swapped_or_the_tables_own(changed: _Changed) -> None:
    library = changed(
        ('variable_1 : input_net_transition; variable_2 : total_output_net_capacitance;',
         'variable_1 : total_output_net_capacitance; variable_2 : input_net_transition;'),
        ('cell_rise (over_slew_and_load) { values ("10, 110, 210", "30, 130, 230", "50, 150, 250"); }',
         'cell_rise (over_slew_and_load) { index_1 ("0, 50"); values ("10, 110, 210", "30, 130, 230"); }'))
    (arc,) = arcs(library, "INV")
    rise = arc.delays[RISE]
    assert rise is not None
    assert rise.at(200, 0) == pytest.approx(210)        # slew
    assert rise.at(0, 50) == pytest.approx(30)          # load


def test_constants(changed: _Changed) -> None:
    library = changed(('cell_fall (over_slew_and_load) { values ("8, 58, 108", "28, 78, 128", "48, 98, 148"); }',
                       'cell_fall (scalar) { values ("8"); }'))
    fall = arcs(library, "INV")[0].delays[FALL]
    assert fall is not None and fall.at(70, 70) == 8


@pytest.mark.parametrize(("values", "message"), [
    ('"8, 58, 108"', r"a table cell_fall \(over_slew_and_load\) has 3 values where its indices ask for 9"),
    ('"8, many"', "'8, many' is no list of numbers"),
])
def test_damaged_tables(changed: _Changed, values: str, message: str) -> None:
    library = changed(('"8, 58, 108", "28, 78, 128", "48, 98, 148"', values))
    with pytest.raises(LibertyError, match=f"^cell library changed.lib: {message}"):
        arcs(library, "INV")


def test_loads_by_direction(changed: _Changed) -> None:
    assert loads(changed(), "NAND2")["B"] == (3.0, 3.0)
    library = changed(("capacitance : 3;", "capacitance : 3; rise_capacitance : 4; fall_capacitance : 2.5;"))
    assert loads(library, "NAND2")["A"] == (4.0, 2.5)


def test_wire_loads(tiny: Library, changed: _Changed) -> None:
    assert WireLoad(tiny).load(3) == 0.0
    wires = WireLoad(changed(("delay_model : table_lookup;", """delay_model : table_lookup;
        default_wire_load : "w";
        wire_load ("w") { capacitance : 2; slope : 10; fanout_length (4, 13); fanout_length (1, 4); }""")))
    # Lengths 4 for one reader and 13 for four, a straight line between, 10 for each more; 2 a length.
    assert [wires.load(readers) for readers in (0, 1, 2, 4, 6)] == pytest.approx([0, 8, 14, 26, 66])
