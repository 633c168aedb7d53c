"""The sections on clocks of the page of figures, and what bench measures for them."""

from __future__ import annotations

from typing import Any

import pytest

import cdma.measure.clocks
from cdma.report.performance import performance_page
from cdma.report.timing_text import unit_facts

_PATH = {"kind": "register to register", "ps": 800.0, "mhz": 1250.0, "start": "count[3]", "end": "full",
         "stages": [{"cell": "DFF"}, {"cell": "NAND2"}, {"cell": "INV"}, {"cell": "DFF"}]}
_ENGINE: dict[str, Any] = {
    "name": "cdma_some_engine", "lanes": 2, "library": "cells", "recipe": "fast", "tool": "a timer", "yosys": "Yosys",
    "mhz": 1250.0, "macros": {"output_ps": 310.0, "setup_ps": 50.0, "pin_ff": 5.0}, "parts": [],
    "units": [{"unit": "CRC", "part": "offload.crc", "instances": 1, "paths": [_PATH | {"kind": "input to output"}]},
              {"unit": "lane control", "part": "offload.walker0", "instances": 2, "paths": [_PATH]},
              {"unit": "glue", "part": "", "instances": 1, "paths": [_PATH | {"mhz": 400.0, "ps": 2500.0}]}]}
_PLACED: dict[str, Any] = {
    "name": "cdma_some_core", "device": "LFE5U-85F", "speed": 8, "yosys": "Yosys", "nextpnr": "nextpnr-1",
    "used": {"luts": 7000, "flip_flops": 2000, "block_ram": 2, "dsp": 0}, "median_mhz": 120.0,
    "available": {"luts": 83640, "flip_flops": 83640, "block_ram": 208, "dsp": 156},
    "runs": [{"seed": 1, "mhz": 120.0}, {"seed": 2, "mhz": 125.0}],
    "best": {"seed": 2, "mhz": 125.0, "path": {"ns": 8.0, "routing_ns": 6.0, "levels": 9, "start": "a", "end": "b",
                                               "stages": []}}}


def test_units_without_registers_have_no_row() -> None:
    assert unit_facts(_ENGINE) == [
        {"unit": "lane control", "instances": 2, "mhz": 1250.0, "ps": 800.0, "gates": 2,
         "start": "offload.walker0.count[3]", "end": "offload.walker0.full"},
        {"unit": "glue", "instances": 1, "mhz": 400.0, "ps": 2500.0, "gates": 2, "start": "count[3]", "end": "full"}]


def test_what_bench_keeps_is_what_the_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cdma.measure.clocks, "timed_engine", lambda *given: _ENGINE)
    monkeypatch.setattr(cdma.measure.clocks, "placed",
                        lambda config, device, speed, *more: _PLACED | {"name": config.name, "speed": speed} | (
                            {"best": None, "runs": [], "median_mhz": None} if config.name == "cdma_engine" else {}))
    units = [_PLACED | {"name": "control", "instances": 1},
             _PLACED | {"name": "glue", "instances": 1, "best": None, "runs": [], "median_mhz": None}]
    monkeypatch.setattr(cdma.measure.clocks, "placed_units", lambda config, device, speed, *more: {
        "name": config.name, "device": device, "speed": speed, "nextpnr": "nextpnr-1", "units": units,
        "available": _PLACED["available"], "total": {"luts": 14000, "flip_flops": 4000, "block_ram": 4, "dsp": 0}})
    points = [{"design": "engine", "lanes": lanes, "beat_bytes": 32, "pipeline": "small", "kge": 100.0 * lanes,
               "mhz": 500.0, "gb_per_s": 16.0 * lanes, "front": lanes > 1, "start": "a", "end": "b"}
              for lanes in (1, 2)]
    monkeypatch.setattr(cdma.measure.clocks, "swept", lambda *given: {
        "library": "cells", "recipe": "fast", "tool": "a timer", "points": points})
    progress: Any = None
    figures = (cdma.measure.clocks.timing_units("cells.lib", progress) | cdma.measure.clocks.pnr(progress)
               | cdma.measure.clocks.pnr_units(progress) | cdma.measure.clocks.sweep("cells.lib", progress))
    assert [row["preset"] for row in figures["timing_units"]] == ["default", "tiny"]
    assert "parts" not in figures["timing_units"][0]
    speeds = [row["speed"] for row in figures["pnr"]]
    assert {row["preset"] for row in figures["pnr"]} > {"compressor", "decompressor", "tiny", "default"}
    assert speeds == sorted(speeds, reverse=True) and set(speeds) == {6, 8}
    page = performance_page(figures)
    assert "| lane control | 1250 | 800 | 2 | `offload.walker0.count[3]` | `offload.walker0.full` |" in page
    assert "50 ps of set-up, 310 ps\nclock-to-output" in page
    assert "LFE5U-85F, speed grade 6, nextpnr-1, best and median of so many seeds; the part has 83,640 LUTs" in page
    assert "| `cdma_tiny_engine` | 2 | 125.0 | 120.0 | 7,000 | 2,000 | 2 | 0 | 8.00 | 6.00 | 9 | `a` | `b` |" in page
    assert "| `cdma_engine` | 0 | too large |  | 7,000 | 2,000 | 2 | 0 |  |  |  |  |  |" in page
    assert [row["preset"] for row in figures["pnr_units"]] == ["tiny", "default"]
    assert "stages" not in figures["pnr_units"][0]["units"][0]["best"]["path"]
    assert "`cdma_engine`, LFE5U-85F, speed grade 8, nextpnr-1:" in page
    assert "| control | 125.0 | 120.0 | 7,000 | 2,000 | 2 | 0 | 8.00 | 6.00 | 9 | `a` | `b` |" in page
    assert "| glue | too large |  | 7,000 | 2,000 | 2 | 0 |  |  |  |  |  |" in page
    assert "| total |  |  | 14,000 | 4,000 | 4 | 0 |  |  |  |  |  |" in page
    assert "| engine | 1 | 32 | small | 100.0 | 500 | 16.0 |  |" in page
    assert "| engine | 2 | 32 | small | 200.0 | 500 | 32.0 | yes |" in page
    assert "](sweep.svg)" in page
    assert "Aimed at: 800 MHz for every unit in cells of 45 nm. Below: glue of `cdma_some_engine` (400)." in page
    assert "Aimed at: 125 MHz for the cores on speed grade 8. All are there." in page
    assert "The critical loop of the decompressors" not in page
    assert "Aimed at: 100 MHz for the tiny engine on speed grade 8. All are there." in page


def test_clocks_in_cells_need_a_library(fails) -> None:
    for section in ("timing_units", "sweep"):
        assert "needs a cell library: give --liberty FILE" in fails("bench", "--only", section)


def test_a_clock_that_is_missed_is_explained() -> None:
    path = {"ns": 10.0, "start": "a", "end": "b", "levels": 9, "routing_ns": 6.0}
    slow = _PLACED | {"preset": "decompressor", "name": "cdma_decompressor", "speed": 8,
                      "best": {"seed": 1, "mhz": 100.0, "path": path}}
    page = performance_page({"pnr": [slow]})
    assert "Below: `decompressor` (100)." in page
    assert "The critical loop of the decompressors" in page
