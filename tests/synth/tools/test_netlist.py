"""Netlists: nets and their names as Yosys' JSON tells them."""

import json

from cdma.synth.cells.library import Library
from cdma.synth.tools.netlist import Netlist, read

_MODULE = {
    "ports": {"clk": {"direction": "input", "bits": [2]}, "d": {"direction": "input", "bits": [3, 4]},
              "q": {"direction": "output", "bits": [5, "0"]}},
    "cells": {
        "_1_": {"type": "DFF", "connections": {"CK": [9], "D": [6], "Q": [5]}},
        "_0_": {"type": "NAND2", "connections": {"A": [3], "B": ["1"], "Y": [6]}},
        "g": {"type": "GATE", "connections": {"CE": [4], "CK": [2], "TE": ["0"], "GCK": [9]}},
        "note": {"type": "$scopeinfo", "connections": {}}},
    "netnames": {
        "clk": {"bits": [2]}, "d": {"bits": [3, 4]}, "q": {"bits": [5, "0"]}, "deep.name": {"bits": [6]},
        "_7_": {"bits": [6]}, "$4": {"bits": [9]}, "long.state[7]": {"bits": [5], "offset": 7},
        "part": {"bits": [3, 4], "offset": 8}}}


def _netlist() -> Netlist:
    return read(json.dumps({"modules": {"top": _MODULE}}), "top")


def test_cells_and_ports() -> None:
    netlist = _netlist()
    assert netlist.cells == {"_0_": ("NAND2", {"A": 3, "Y": 6}), "_1_": ("DFF", {"CK": 9, "D": 6, "Q": 5}),
                             "g": ("GATE", {"CE": 4, "CK": 2, "GCK": 9})}
    assert netlist.inputs == {"clk": 2, "d[0]": 3, "d[1]": 4}
    assert netlist.outputs == {"q[0]": 5}


def test_names_given_by_the_design_win_then_short_ones() -> None:
    names = _netlist().names
    assert names == {2: "clk", 3: "d[0]", 4: "d[1]", 5: "q[0]", 6: "deep.name", 9: "$4"}


def test_registers_have_the_names_of_what_they_hold(tiny: Library) -> None:
    netlist = _netlist()
    assert netlist.register("_1_", tiny) == "q[0]"
    assert netlist.register("g", tiny) == "clock gate of q[0]"


def test_registers_without_a_name_say_where_they_lead(tiny: Library) -> None:
    netlist = Netlist(
        name="chain", cells={"_0_": ("DFF", {"CK": 2, "D": 3, "Q": 4}), "_1_": ("INV", {"A": 4, "Y": 5}),
                             "_2_": ("NAND2", {"A": 5, "B": 4, "Y": 6}), "_3_": ("DFF", {"CK": 2, "D": 6, "Q": 7})},
        inputs={"clk": 2, "d": 3}, outputs={}, names={2: "clk", 3: "d", 4: "_9_", 5: "$7", 6: "deep.next", 7: "$8[3]"})
    # The gate is both one and two gates away.
    assert netlist.register("_0_", tiny) == "_9_->deep.next"
    assert netlist.register("_3_", tiny) == "$8[3]"


def test_split_bits_keep_the_index_in_their_name() -> None:
    nets = {"r[7]": {"bits": [5], "offset": 7}, "s": {"bits": [6], "offset": 3}, "t": {"bits": [7, 8], "offset": 2}}
    module = {"ports": {}, "cells": {}, "netnames": nets}
    names = read(json.dumps({"modules": {"top": module}}), "top").names
    assert names == {5: "r[7]", 6: "s[3]", 7: "t[2]", 8: "t[3]"}
