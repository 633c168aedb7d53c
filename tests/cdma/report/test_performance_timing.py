"""The sections on clocks of the page of figures, and what bench measures for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import cdma.measure.clocks
from cdma.golden.results import from_json, to_json
from cdma.measure.figures import BestSeed, EngineClocks, Figures, PlacedPreset, RoutedPath
from cdma.report.performance import performance_page
from cdma.synth.pnr.engines import PlacedUnit, PlacedUnits
from cdma.synth.pnr.place import PnrPath, PnrReport, PnrStage, Resources, Run
from cdma.synth.timing.cores import REGISTERS, Stage, TimingPath
from cdma.synth.timing.engines import EngineTiming, PartTiming, UnitClock
from cdma.synth.timing.macros import DEFAULT
from cdma.synth.timing.sweep import Sweep, SweepPoint

_PATH = TimingPath(REGISTERS, 800.0, 1250.0, "count[3]", "full", tuple(
    Stage(cell, "", 200.0) for cell in ("DFF", "NAND2", "INV", "DFF")))
_ENGINE = EngineTiming("cdma_some_engine", 2, "cells", "fast", "a timer", "Yosys", DEFAULT, (
    PartTiming("CRC", "offload.crc", 1, 10.0, 1.0, 0, (replace(_PATH, kind="input to output"),)),
    PartTiming("lane control", "offload.walker0", 2, 10.0, 1.0, 0, (_PATH,)),
    PartTiming("glue", "", 1, 10.0, 1.0, 0, (replace(_PATH, mhz=400.0, ps=2500.0),))))
_ROUTED = PnrPath(8.0, "a", "b", 9, 6.0, (PnrStage("routing", 6.0, "a"),))
_PLACED = PnrReport("cdma_some_core", "LFE5U-85F", 8, "Yosys", "nextpnr-1", Resources(7000, 2000, 2, 0),
                    Resources(83640, 83640, 208, 156), (Run(1, 120.0, _ROUTED), Run(2, 125.0, _ROUTED)))


def test_units_without_registers_have_no_row() -> None:
    assert EngineClocks.of("tiny", _ENGINE).units == (
        UnitClock("lane control", 2, 1250.0, 800.0, 2, "offload.walker0.count[3]", "offload.walker0.full"),
        UnitClock("glue", 1, 400.0, 2500.0, 2, "count[3]", "full"))


def test_what_bench_keeps_is_what_the_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cdma.measure.clocks, "timed_engine", lambda *given: _ENGINE)

    def placed(config: Any, device: str, speed: int, *more: Any) -> PnrReport:
        too_large = config.name == "cdma_tiny_engine" and speed == 6
        return replace(_PLACED, name=config.name, speed=speed, **{"runs": ()} if too_large else {})

    monkeypatch.setattr(cdma.measure.clocks, "placed", placed)
    units = (PlacedUnit("control", 1, _PLACED.used, _PLACED),
             PlacedUnit("glue", 1, _PLACED.used, replace(_PLACED, runs=())))
    monkeypatch.setattr(cdma.measure.clocks, "placed_units", lambda config, device, speed, *more: PlacedUnits(
        config.name, device, speed, "Yosys", "nextpnr-1", _PLACED.available, units))
    points = tuple(SweepPoint("engine", lanes, 32, "small", 100.0 * lanes, 500.0, "a", "b", lanes > 1)
                   for lanes in (1, 2))
    monkeypatch.setattr(cdma.measure.clocks, "swept", lambda *given: Sweep("cells", "fast", "a timer", points))
    progress: Any = None
    figures = to_json({"timing_units": cdma.measure.clocks.timing_units("cells.lib", progress),
                       "pnr": cdma.measure.clocks.pnr(progress), "pnr_units": cdma.measure.clocks.pnr_units(progress),
                       "sweep": cdma.measure.clocks.sweep("cells.lib", progress)})
    assert [row["preset"] for row in figures["timing_units"]] == ["default", "paper"]
    assert "parts" not in figures["timing_units"][0]
    speeds = [row["speed"] for row in figures["pnr"]]
    assert {row["preset"] for row in figures["pnr"]} > {"compressor", "decompressor", "tiny"}
    assert speeds == sorted(speeds, reverse=True) and set(speeds) == {6, 8}
    page = performance_page(from_json(Figures, figures)).markdown()
    assert "| lane control | 1250 | 800 | 2 | `offload.walker0.count[3]` | `offload.walker0.full` |" in page
    assert "50 ps of set-up, 310 ps clock-to-output" in page
    assert "LFE5U-85F, speed grade 6, nextpnr-1, best and median over the seeds; the part has 83,640 LUTs" in page
    assert "| `cdma_tiny_engine` | 2 | 125.0 | 120.0 | 7,000 | 2,000 | 2 | 0 | 8.00 | 6.00 | 9 | `a` | `b` |" in page
    assert "| `cdma_tiny_engine` | 0 | too large |  | 7,000 | 2,000 | 2 | 0 |  |  |  |  |  |" in page
    assert [row["preset"] for row in figures["pnr_units"]] == ["tiny", "default_zvc"]
    assert "stages" not in figures["pnr_units"][0]["units"][0]["best"]["path"]
    assert "`cdma_engine_zvc`, LFE5U-85F, speed grade 8, nextpnr-1:" in page
    assert "| control | 125.0 | 120.0 | 7,000 | 2,000 | 2 | 0 | 8.00 | 6.00 | 9 | `a` | `b` |" in page
    assert "| glue | too large |  | 7,000 | 2,000 | 2 | 0 |  |  |  |  |  |" in page
    assert "| total |  |  | 14,000 | 4,000 | 4 | 0 |  |  |  |  |  |" in page
    assert "| engine | 1 | 32 | small | 100.0 | 500 | 16.0 |  |" in page
    assert "| engine | 2 | 32 | small | 200.0 | 500 | 32.0 | yes |" in page
    assert "](sweep.svg)" in page
    assert "Goal: 1000 MHz for every unit in cells of 45 nm. Below it: glue of `cdma_some_engine` (400)." in page
    assert "Goal: 125 MHz for the cores on speed grade 8. All reach it." in page
    assert "The critical loop of the decompressors" not in page
    assert "Goal: 125 MHz for `tiny` on speed grade 8. All reach it." in page


def test_clocks_in_cells_need_a_library(fails) -> None:
    for section in ("timing_units", "sweep"):
        assert "needs a cell library: give --liberty FILE" in fails("bench", "--only", section)


def test_a_clock_that_is_missed_is_explained() -> None:
    slow = replace(PlacedPreset.of("decompressor", _PLACED),
                   best=BestSeed(1, 100.0, RoutedPath(10.0, "a", "b", 9, 6.0)))
    page = performance_page(Figures(pnr=(slow,))).markdown()
    assert "Below it: `decompressor` (100)." in page
    assert "The critical loop of the decompressors" in page
