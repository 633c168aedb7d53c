"""OpenSTA: its reports, and what happens when it has none; a stand-in plays OpenSTA, so that none need be installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cdma.synth.cells.library import Library, load
from cdma.synth.tools import opensta
from cdma.synth.tools.opensta import Step
from tests.synth.conftest import TINY
from tests.synth.designs import CHAIN

_REPORT = r"""
Startpoint: x (input port clocked by clock)
Endpoint: b (rising edge-triggered flip-flop clocked by clock)
Path Group: from_inputs
Path Type: max

      Delay        Time   Description
-----------------------------------------------------------------
   0.000000    0.000000   clock clock (rise edge)
   0.000000    0.000000   clock network delay (ideal)
   0.000000    0.000000 ^ input external delay
   6.000000    6.000000 ^ x (in)
  17.100000   23.100000 v n/Y (NAND2)
   0.000000   23.100000 v b/D (DFF)
              23.100000   data arrival time

   1.000000    1.000000   clock clock (rise edge)
               1.000000 ^ b/CK (DFF)
 -30.900000  -29.900000   library setup time
             -29.900000   data required time
-----------------------------------------------------------------
             -53.000000   slack (VIOLATED)


Startpoint: a (rising edge-triggered flip-flop clocked by clock)
Endpoint: b (rising edge-triggered flip-flop clocked by clock)
Path Group: clock
   0.000000    0.000000 ^ a/CK (DFF)
  42.000000   42.000000 v a/Q (DFF)
  15.400000   57.400000 ^ \i/Y (INV)
  16.800000   74.200000 v n/Y (NAND2)
   0.000000   74.200000 v b/D (DFF)
               1.000000 ^ b/CK (DFF)
 -30.900000  -29.900000   clock gating setup time

Startpoint: b (rising edge-triggered flip-flop clocked by clock)
Endpoint: q (output port clocked by clock)
Path Group: to_outputs
   0.000000    0.000000 ^ b/CK (DFF)
  55.000000   55.000000 ^ b/Q (DFF)
   0.000000   55.000000 ^ q (out)

Startpoint: b (rising edge-triggered flip-flop clocked by clock)
Endpoint: q (output port clocked by clock)
Path Group: (none)
  99.000000   99.000000 ^ b/Q (DFF)
"""

_PATHS = {
    ("input", "register"): [Step("", 6, 6.0), Step("n", 7, 17.1), Step("b", None, 30.9)],
    ("register", "register"): [Step("a", 4, 42.0), Step("i", 5, 15.4), Step("n", 7, 16.8), Step("b", None, 30.9)],
    ("register", "output"): [Step("b", 8, 55.0)]}


@pytest.fixture
def plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Put a program ``sta`` on PATH that runs a shell script; returns its folder."""
    def play(script: str) -> Path:
        program = tmp_path / "sta"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        return tmp_path

    return play


def test_paths_of_a_report(tiny: Library) -> None:
    assert opensta.steps(_REPORT, CHAIN, tiny) == _PATHS


def test_times_are_in_the_units_of_the_library(changed) -> None:
    paths = opensta.steps(_REPORT, CHAIN, changed(('"1ps"', '"1ns"')))
    assert paths["register", "output"] == [Step("b", 8, 55000.0)]


def test_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not opensta.available()
    with pytest.raises(opensta.OpenStaError, match=r"its program sta is not on PATH: install it \("):
        opensta.worst_paths("", CHAIN, load(TINY), "clk", 5.0)


def test_a_run(tiny: Library, plays) -> None:
    folder = plays('cat "$(dirname "$0")/report"; cp run.tcl cells.lib net.v "$(dirname "$0")"')
    folder.joinpath("report").write_text(_REPORT)
    assert opensta.available()
    assert opensta.worst_paths("module chain;", CHAIN, tiny, "clk", 5.0) == _PATHS
    assert folder.joinpath("cells.lib").read_text() == tiny.text
    assert folder.joinpath("net.v").read_text() == "module chain;"
    commands = folder.joinpath("run.tcl").read_text().splitlines()
    assert "create_clock -name clock -period 1 [get_ports clk]" in commands
    assert "set_driving_cell -lib_cell BUF $ports" in commands
    assert "set_load 5 [all_outputs]" in commands


@pytest.mark.parametrize(("script", "why"), [
    ("echo 'Error: cannot read it'; exit 1", "Error: cannot read it"), ("exit 0", "it reported none")])
def test_no_report(tiny: Library, plays, script: str, why: str) -> None:
    plays(script)
    with pytest.raises(opensta.OpenStaError) as caught:
        opensta.worst_paths("", CHAIN, tiny, "clk", 5.0)
    assert str(caught.value) == f"OpenSTA has no paths for chain: {why}"
