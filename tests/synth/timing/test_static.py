"""Static timing: every path of small netlists, against sums made by hand.

In the small library a delay is a constant, plus so much per fF of load, plus so much per ps of input slew:
INV 10 + 1 load + 0.2 slew rising and 8 + 0.5 load + 0.2 slew falling, NAND2 12 and 14 + 1 load + 0.1 slew, a register
50 rising and 40 falling + 1 load; set-up 20 and 30 + 0.1 slew.
"""

from dataclasses import replace

import pytest

from synth.cells.library import Library
from synth.timing.static import Step, worst_paths
from synth.tools.netlist import Netlist
from tests.synth.designs import CHAIN

_REGISTERS = ("register", "register")


def _rounded(steps: list[Step]) -> list[tuple[str, int | None, float]]:
    return [(step.instance, step.net, round(step.ps, 4)) for step in steps]


def test_register_to_register(tiny: Library) -> None:
    path = worst_paths(CHAIN, tiny, "clk", 5.0)[_REGISTERS]
    # The register falls with 2 fF: 42 ps, slew 12. The inverter rises with 3 fF: 10 + 3 + 2.4, slew 8. The NAND gate
    # falls with 2 fF: 14 + 2 + 0.8, slew 9. Set-up 30 + 0.9. In all 105.1; the other direction takes 99.25.
    assert _rounded(path) == [("a", 4, 42.0), ("i", 5, 15.4), ("n", 7, 16.8), ("b", None, 30.9)]


def test_the_later_of_two_ways_to_a_gate(tiny: Library) -> None:
    cells = CHAIN.cells | {"n": ("NAND2", {"A": 5, "B": 4, "Y": 7})}
    path = worst_paths(replace(CHAIN, cells=cells), tiny, "clk", 5.0)[_REGISTERS]
    # The register falls with 5 fF: 45, slew 15; the inverter rises: 10 + 3 + 3. Past it the register is there at
    # 55 + 17.5, through it at 45 + 16 + 16.8: that is later.
    assert _rounded(path) == [("a", 4, 45.0), ("i", 5, 16.0), ("n", 7, 16.8), ("b", None, 30.9)]


def test_input_to_register(tiny: Library) -> None:
    # What drives the port is a buffer: of its delay only what 3 fF add counts, 2 ps per fF rising; its slew is 11.
    path = worst_paths(CHAIN, tiny, "clk", 5.0)["input", "register"]
    assert _rounded(path) == [("", 6, 6.0), ("n", 7, 17.1), ("b", None, 30.9)]


@pytest.mark.parametrize("load", [5.0, 20.0])
def test_register_to_output_with_the_load_of_the_port(tiny: Library, load: float) -> None:
    assert _rounded(worst_paths(CHAIN, tiny, "clk", load)["register", "output"]) == [("b", 8, 50 + load)]


def test_there_is_no_path_from_input_to_output(tiny: Library) -> None:
    assert set(worst_paths(CHAIN, tiny, "clk", 5.0)) == {_REGISTERS, ("input", "register"), ("register", "output")}


def test_input_to_output(tiny: Library) -> None:
    netlist = Netlist("through", {"n": ("NAND2", {"A": 3, "B": 3, "Y": 4})}, {"clk": 2, "x": 3}, {"y": 4},
                      {2: "clk", 3: "x", 4: "y"})
    # The port loads both pins: rising 2 x 6, slew 14; the gate falls with 5 fF: 14 + 5 + 1.4.
    assert {ends: _rounded(path) for ends, path in worst_paths(netlist, tiny, "clk", 5.0).items()} == {
        ("input", "output"): [("", 3, 12.0), ("n", 4, 20.4)]}


def test_gated_clocks_arrive_with_the_clock(tiny: Library) -> None:
    netlist = Netlist(
        "gated", {"a": ("DFF", {"CK": 2, "D": 3, "Q": 4}), "g": ("GATE", {"CK": 9, "CE": 4, "GCK": 5}),
                  "c": ("BUF", {"A": 2, "Y": 9}), "b": ("DFF", {"CK": 5, "D": 4, "Q": 6})},
        {"clk": 2, "d": 3}, {"q": 6}, {net: f"n{net}" for net in range(2, 10)})
    paths = worst_paths(netlist, tiny, "clk", 5.0)
    # The register drives the gate's enable and the next register, 4 fF: falling 44, and 75 before the gated clock.
    assert _rounded(paths[_REGISTERS]) == [("a", 4, 44.0), ("g", None, 75.0)]
    # The register behind the gate and the buffer starts at once.
    assert _rounded(paths["register", "output"]) == [("b", 6, 55.0)]


def test_wires_load_nets(changed) -> None:
    library = changed(("delay_model : table_lookup;", """delay_model : table_lookup; default_wire_load : w;
        wire_load (w) { capacitance : 1; slope : 0; fanout_length (1, 10); }"""))
    # 10 fF more on every net, and slews 10 or 5 ps longer: 52; 10 + 13 + 0.2 x 22; 14 + 12 + 0.1 x 18; 30 + 1.9.
    path = worst_paths(CHAIN, library, "clk", 5.0)[_REGISTERS]
    assert _rounded(path) == [("a", 4, 52.0), ("i", 5, 27.4), ("n", 7, 27.8), ("b", None, 31.9)]


def test_units_of_the_library(changed) -> None:
    library = changed(('"1ps"', '"10ps"'))
    assert _rounded(worst_paths(CHAIN, library, "clk", 5.0)["register", "output"]) == [("b", 8, 550.0)]


def test_loops_are_refused(tiny: Library) -> None:
    netlist = Netlist("loop", {"i": ("INV", {"A": 3, "Y": 4}), "j": ("INV", {"A": 4, "Y": 3})}, {"clk": 2}, {},
                      {2: "clk", 3: "x", 4: "y"})
    with pytest.raises(ValueError, match=r"^the logic of loop has a loop through i$"):
        worst_paths(netlist, tiny, "clk", 5.0)
