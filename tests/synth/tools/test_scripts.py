"""Yosys scripts: what the recipes, the library and the target put into them."""

import pytest

from cdma.synth.cells.library import Library
from cdma.synth.tools import scripts


@pytest.mark.parametrize("recipe", ["fast", "small"])
def test_only_cells_of_a_library_are_sized(tiny: Library, recipe: str) -> None:
    assert "size" not in scripts.inputs("", recipe, None)["abc.script"]
    sized = scripts.inputs("", recipe, tiny)["abc.script"]
    assert sized.startswith(scripts.inputs("", recipe, None)["abc.script"])
    assert "upsize\ndnsize\n" in sized


def test_files(tiny: Library) -> None:
    files = scripts.inputs("module top;", "small", tiny)
    assert files["design.v"] == "module top;"
    assert files["cells.lib"] == tiny.text
    # Three of the smallest buffers, 2 fF each.
    assert files["constraints"] == "set_driving_cell BUF\nset_load 6.0000\n"
    assert set(scripts.inputs("module top;", "small", None)) == {"design.v", "abc.script", "gates.genlib"}


def test_what_the_library_has_is_used(tiny: Library, changed) -> None:
    script = scripts.library_script("top", True, "fast", tiny)
    assert "clockgate -pos GATE CE:CK:GCK -tie_lo TE -min_net_size 4\n" in script
    assert "hilomap -singleton -hicell TIE1 Y -locell TIE0 Y\n" in script
    assert script.count("-dont_use GATE") == 2
    poor = scripts.library_script("top", True, "fast", changed(
        ("latch_posedge_precontrol", "latch_negedge_precontrol"), ('function : "0"', 'function : "1"')))
    assert "clockgate" not in poor and "hilomap" not in poor


def test_the_plain_recipe_is_yosys_own(tiny: Library) -> None:
    script = scripts.library_script("top", True, "plain", tiny)
    assert "synth -top top -flatten\n" in script and "clockgate" not in script and "-mince" not in script
    assert "abc -liberty cells.lib -constr constraints -dont_use GATE\n" in script
    assert "clockgate" not in scripts.gates_script("top", True, "plain")
