"""The page of figures: its tables, goals, and what bench keeps of clocks."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from cdma.hdl.config.engine import engine_preset_names
from cdma.measure import bench
from cdma.measure.bench import Setup, measured
from cdma.measure.compare import read_figures
from cdma.report.performance import performance_page
from cdma.synth.pnr.place import DEVICES
from cdma.synth.timing.macros import DEFAULT
from tests.docs.pages import ROOT

_PATH = {"kind": "register to register", "ps": 800.0, "mhz": 1250.0, "start": "count[3]", "end": "full",
         "stages": [{"cell": cell, "net": "", "ps": 200.0} for cell in ("DFF", "NAND2", "INV", "DFF")]}
_PARTS = [{"unit": unit, "part": part, "instances": number, "um2": 10.0, "kge": 1.0, "memory_bits": 0, "paths": [path]}
          for unit, part, number, path in (
              ("CRC", "offload.crc", 1, _PATH | {"kind": "input to output"}),
              ("lane control", "offload.walker0", 2, _PATH), ("glue", "", 1, _PATH | {"mhz": 400.0, "ps": 2500.0}))]
_ENGINE = {"name": "cdma_some_engine", "lanes": 2, "library": "cells", "recipe": "fast", "tool": "a timer",
           "yosys": "Yosys", "macros": asdict(DEFAULT), "parts": _PARTS, "units": _PARTS[1:], "mhz": 400.0}


def _placed(**more: Any) -> dict[str, Any]:
    path = {"ns": 8.0, "start": "a", "end": "b", "levels": 9, "routing_ns": 6.0, "stages": []}
    return {"name": "cdma_some_core", "device": "LFE5U-85F", "nextpnr": "nextpnr-1", "available": DEVICES["LFE5U-85F"],
            "used": {"luts": 7000, "flip_flops": 2000, "block_ram": 2, "dsp": 0},
            "best": {"seed": 2, "mhz": 125.0, "path": path}, "median_mhz": 120.0,
            "runs": [{"seed": seed, "mhz": mhz} for seed, mhz in enumerate((118.0, 125.0, 120.0), 1)], **more}


_SETUP = Setup(Path("build"), "cells.lib")
_PROGRESS: Any = MagicMock()


def _page(**figures: Any) -> str:
    return performance_page(figures).markdown()


def test_the_page_has_every_section_and_can_be_read() -> None:
    figures = read_figures(ROOT / "bench/performance.json")
    page = performance_page(figures)
    html, text = page.html(), page.markdown()
    assert "Area and throughput of compressor" in html
    assert html.count("<h2") == text.count("\n## ") == 17
    assert len(text) < 30_000
    sparse = next(row for row in figures["engine_shipped"] if row["engine"] == "cdma_engine")
    assert f"| `cdma_engine` | sparse | 4 | {sparse['ratio']:.3f} |" in text
    # Timing needs a cell library of the user's own, so a run without one leaves it out.
    without = _page(**{key: rows for key, rows in figures.items() if key != "timing_units"})
    assert "\n## The engine: timing\n" in text and "\n## The engine: timing\n" not in without


def test_units_in_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "engine_timing", lambda *given, **named: _ENGINE)
    figures = measured("timing_units", _SETUP, _PROGRESS)
    assert [row["preset"] for row in figures["timing_units"]] == ["engine", "paper"]
    row = figures["timing_units"][0]
    # A unit without registers has no row, and a path is below the top.
    assert "parts" not in row and row["units"] == [
        {"unit": "lane control", "instances": 2, "mhz": 1250.0, "ps": 800.0, "gates": 2,
         "start": "offload.walker0.count[3]", "end": "offload.walker0.full"},
        {"unit": "glue", "instances": 1, "mhz": 400.0, "ps": 2500.0, "gates": 2, "start": "count[3]", "end": "full"}]
    page = _page(timing_units=[row])
    assert "| lane control | 1250 (2) |" in page and "50 ps of set-up, 310 ps clock-to-output" in page
    assert "Below it: glue of `cdma_some_engine` (400)." in page


def test_what_is_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    def place(config: Any, speed: int, seeds: int, **more: Any) -> dict[str, Any]:
        assert seeds == 3
        too_large = config.name == "cdma_tiny_engine" and speed == 6
        return _placed(speed=speed, **{"best": None, "runs": []} if too_large else {})

    monkeypatch.setattr(bench, "place", place)
    figures = measured("pnr", _SETUP, _PROGRESS)
    speeds = [row["speed"] for row in figures["pnr"]]
    assert [row["preset"] for row in figures["pnr"]][-3:] == ["tiny --set pipeline=fast", "lean",
                                                             "tiny --set pipeline=fast"]
    assert speeds == sorted(speeds, reverse=True) and set(speeds) == {6, 8}
    assert figures["pnr"][0]["median_mhz"] == 120.0 and "stages" not in figures["pnr"][0]["best"]["path"]
    page = _page(**figures)
    assert "on an LFE5U-85F, which has 83,640 LUTs and 208 block RAMs" in page
    assert "| `tiny --set pipeline=fast` | 8 | 120.0 | 118.0 to 125.0 | 100 | 7,000 | 2,000 | 2 | 8.00 |" in page
    assert "| `tiny --set pipeline=fast` | 6 | too large |  |  | 7,000 | 2,000 | 2 |  |  |  |" in page
    blocks = measured("block_pnr", _SETUP, _PROGRESS)
    assert [row["preset"] for row in blocks["block_pnr"] if "fast" in row["preset"]] == [
        f"{name}_{end} --set pipeline=fast" for name in ("block", "exponent_block")
        for end in ("compressor", "decompressor")]
    assert "| `block_compressor --set pipeline=fast` | 8 | 120.0 | 118.0 to 125.0 | 130 |" in _page(**blocks)


def test_estimates_are_of_the_pipeline_for_fpgas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "estimate", lambda config, target, progress: {
        "found": (str(config.pipeline), target)})
    monkeypatch.setattr(bench, "Part", MagicMock())
    rows = measured("engine_estimates", _SETUP, _PROGRESS)["engine_estimates"]
    assert [row["preset"] for row in rows] == [*engine_preset_names(), "wide: offload.aggregator",
                                               "wide: prefetch.distributor"]
    assert {tuple(row["found"]) for row in rows[:-2]} == {("fast", "ultrascale+")}


def test_clocks_in_cells_need_a_library(fails) -> None:
    for section in ("timing_units", "sweep"):
        assert "needs a cell library: give --liberty FILE" in fails("bench", "--only", section)


def test_streams_in_pages() -> None:
    row = {"direction": "offload", "latency": 350, "coding": "zvc32", "density": 0.1, "raw_bytes": 8 << 20,
           "packed_bytes": 1 << 20, "bytes_per_cycle": 119.4, "contiguous_bytes_per_cycle": 120.0}
    page = _page(engine_pages=[row])
    assert "| zvc32 | 0.1 | 8.00 | 350 cycles | offload | 119.4 | 120.0 | 99.5% |" in page
    assert "All reach it." in page
    assert "Below it: offload of zvc32 at 350 cycles (0.9833)." in _page(
        engine_pages=[row | {"bytes_per_cycle": 118.0}])


def test_completions_in_rings() -> None:
    assert "| 64 x 8 KiB | 350 cycles | prefetch | 59.9 | 60.0 | 99.8% | 377 |" in _page(engine_write_back=[
        {"direction": "prefetch", "latency": 350, "tensors": 64, "tensor_bytes": 8192, "record_cycles": 377,
         "bytes_per_cycle": 59.9, "window_bytes_per_cycle": 60.0}])


def test_fragments_by_rings() -> None:
    rows = [{"name": "cdma_engine", "transfers_in_flight": 6, "way": way, "direction": direction, "latency": latency,
             "density": 0.4, "mm2_28": 0.4, "tensor_bytes": 4096, "limit": 76.2, "cycles": 60 + latency, "share": share}
            for way, share in (("in order", 0.9), ("random", 0.8)) for direction in ("offload", "prefetch")
            for latency in (0, 350)]
    others = [{**row, "transfers_in_flight": 32} for row in rows[:4]]
    page = _page(engine_fragments=[*rows, *others])
    assert f"| `cdma_engine` | 6 | 4,096 | 76.2 |{2 * ' 90%, 60; 80% | 90%, 410; 80% |'}" in page
    assert f"| `cdma_engine` | 32 | 4,096 | 76.2 |{2 * ' 90%, 60 | 90%, 410 |'}" in page
    assert "At 28 nm they have 0.400 mm2 (`cdma_engine`, 6 in flight), 0.400 mm2 (`cdma_engine`, 32 in flight)." in page


def test_what_options_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdma.measure.options.engine_timing", lambda *given, **named: _ENGINE)
    rows = measured("engine_options", _SETUP, _PROGRESS)["engine_options"]
    # Logic of all instances; the clock and the path of the slowest unit.
    assert {key: rows[1][key] for key in ("kge", "memory_bits", "mhz", "start")} == {
        "kge": 4.0, "memory_bits": 0, "mhz": 400.0, "start": "count[3]"}
    page = _page(engine_options=[rows[0], rows[0] | {"option": "write_back", "kge": 4.12, "mhz": 990.0, "ps": 1010.1,
                                                     "memory_bits": 3072}])
    assert "| `write_back` | 4.1 | +3.0% | 3.0 | 990 | 1010 |" in page
    assert "Below it: `none` (400), `write_back` (990)." in page
