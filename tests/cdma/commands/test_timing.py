"""timing: tables and JSON of cores and engines in cells, of place and route, of the sweep; and every mistake."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cdma.commands.timing import cells_text
from cdma.hdl.config.engine import EngineConfig
from cdma.report.plots.sweep import sweep_plot
from cdma.synth.pnr import place as places
from cdma.synth.pnr.place import DEVICES
from cdma.synth.timing import clocks
from cdma.synth.timing import estimate as estimates
from cdma.synth.timing import sweep as timing_sweep
from cdma.synth.units import division as divisions
from cdma.synth.units.hierarchy import Design
from tests.extended import usually
from tests.synth.conftest import kept_engines as kept_engines
from tests.synth.conftest import needs_opensta

_LIBRARY = Path(__file__).parents[2] / "synth/tiny.lib"
_SMALL = ["paper_compressor", "--set", "beat_bytes=16", "--recipe", "small"]


@needs_opensta
def test_a_core_in_cells(cdma) -> None:
    (report,) = cdma("timing", *_SMALL, "--liberty", _LIBRARY, "--json").json
    path = next(path for path in report["paths"] if path["kind"] == "register to register")
    assert path["ps"] == pytest.approx(sum(stage["ps"] for stage in path["stages"]), abs=0.2)
    text = cells_text([report])
    assert text.startswith("tiny (recipe small), timed with OpenSTA")
    line = next(line for line in text.splitlines() if line.startswith(report["name"]))
    gates = str(len(path["stages"]) - 2)
    assert line.split() == [report["name"], f"{path['mhz']:.0f}", f"{path['ps']:.0f}", gates, path["start"],
                            path["end"]]


@needs_opensta
def test_an_engine_in_cells(cdma, kept_engines: None, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = divisions.division

    def division(design: Design, lanes: int) -> tuple[list[tuple[str, str]], set[str]]:
        parts, cut = whole(design, lanes)
        return [(unit, root) for unit, root in parts if root in ("offload.lane0.rows", "offload.walker0")], cut

    monkeypatch.setattr(divisions, "division", division)
    monkeypatch.setattr(clocks, "engine_timing", partial(clocks.engine_timing, whole=False))
    call = ["timing", "tiny", "--liberty", _LIBRARY, "--memory-setup", "75"]
    (report,) = cdma(*call, "--json").json
    assert (report["lanes"], report["macros"]["setup_ps"], report["macros"]["output_ps"]) == (1, 75.0, 310.0)
    assert [part["unit"] for part in report["units"]] == ["buffers, offload", "lane control"]
    out = cells_text([report])
    assert "75 ps of set-up, and 310 ps from the clock" in out
    for part in report["units"]:
        worst = next(path for path in part["paths"] if path["kind"] == "register to register")
        line = next(line for line in out.splitlines() if line.startswith(part["unit"]))
        assert f"{part['part']}.{worst['start']}" in line and f"{worst['mhz']:.0f}" in line


def _report(name: str, **more: Any) -> dict[str, Any]:
    path = {"ns": 7.0, "start": "core.first", "end": "core.last", "levels": 5, "routing_ns": 6.5, "stages": []}
    return {"name": name, "device": "LFE5U-45F", "speed": 6, "yosys": "Yosys", "nextpnr": "nextpnr-0.9",
            "used": {"luts": 1200, "flip_flops": 1100, "block_ram": 3, "dsp": 0}, "available": DEVICES["LFE5U-45F"],
            "runs": [{"seed": seed, "mhz": 151.0 - seed} for seed in (1, 2, 3)],
            "best": {"seed": 1, "mhz": 150.0, "path": path}, "median_mhz": 149.0, **more}


_LINE = ["149.0", "148.0", "to", "150.0", "1,200", "1,100", "3", "0", "7.00", "6.50", "5", "core.first", "core.last"]


def test_place_and_route(cdma, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def place(config: Any, **named: Any) -> dict[str, Any]:
        given.update(named)
        return _report(config.name)

    monkeypatch.setattr(places, "place", place)
    outcome = cdma("timing", "paper_compressor", "--target", "ecp5", "--part", "LFE5U-45F", "--speed", 6,
                   "--seeds", 3)
    assert (outcome.code, outcome.err) == (0, "")
    assert (given["device"], given["speed"], given["seeds"]) == ("LFE5U-45F", 6, 3)
    assert "LFE5U-45F, speed grade 6, placed and routed by nextpnr-0.9, median of 3 seeds, and the" in outcome.out
    assert outcome.out.splitlines()[-1].split() == ["cdma_paper_compressor", *_LINE]


def test_place_and_route_of_units(cdma, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def place_units(config: EngineConfig, **named: Any) -> dict[str, Any]:
        given.update(named)
        return _report(config.name, units=[
            _report("lane control", instances=1), _report("control", instances=1, runs=[], best=None, median_mhz=None),
        ], total=_report("")["used"])

    monkeypatch.setattr(places, "place_units", place_units)
    call = ["timing", "tiny", "--target", "ecp5", "--units", "--seeds", 3]
    outcome = cdma(*call)
    assert (outcome.code, outcome.err) == (0, "")
    assert (given["device"], given["speed"], given["seeds"]) == ("LFE5U-85F", 8, 3)
    assert "cdma_tiny_engine, each unit by itself on LFE5U-45F, speed grade 6" in outcome.out
    rows = {line.partition("  ")[0]: line.split() for line in outcome.out.splitlines()}
    assert rows["lane control"][2:] == _LINE
    assert rows["control"][1:] == ["too", "large", "1,200", "1,100", "3", "0"]
    assert rows["total"][1:] == ["1,200", "1,100", "3", "0"]
    assert cdma(*call, "--json").json["units"][0]["best"]["mhz"] == 150.0


@pytest.mark.parametrize("target", ["ultrascale+", "xilinx7"])
def test_an_estimate(cdma, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    path = {"ns": 4.5, "levels": 9, "start": "core.a", "end": "core.b"}

    def estimate(config: Any, given: str, progress: Any) -> dict[str, Any]:
        return {"name": config.name, "target": given, "yosys": "Yosys", "delays": asdict(estimates.FAMILIES[given]),
                "luts": 1200, "flip_flops": 1100, "rams": {"RAMB36E2": 3, "RAM32M": 2}, "path": path, "levels": 10,
                "mhz": 222.2, "ends": 5000, "over_ns": 4.0, "over": 7, "groups": [{**path, "ends": 7}]}

    monkeypatch.setattr(estimates, "estimate", estimate)
    call = ["timing", "paper_compressor", "--target", target]
    assert cdma(*call, "--json").json[0]["target"] == target
    lines = cdma(*call).out.splitlines()
    assert lines[0].startswith(f"An estimate for {target}: nothing is placed,")
    assert lines[6].split() == ["cdma_paper_compressor", "1,200", "1,100", "3", "RAMB36E2,", "2", "RAM32M", "10",
                                "4.50", "222", "7", "of", "5,000"]
    assert lines[-1].split() == ["7", "4.50", "9", "core.a", "core.b"]


def _point(design: str, lanes: int, beat: int, pipeline: str, kge: float, mhz: float) -> dict[str, Any]:
    return timing_sweep.point(design, lanes, beat, pipeline, kge, mhz, "first", "last")


_CORES = [_point("compressor", 1, 16, "small", 10.0, 1000.0), _point("compressor", 1, 16, "fast", 12.0, 900.0),
          _point("compressor", 1, 32, "small", 20.0, 1000.0), _point("compressor", 1, 32, "fast", 20.0, 1100.0)]
_ENGINES = [_point("engine", 1, 32, "small", 100.0, 500.0), _point("engine", 2, 32, "small", 180.0, 500.0)]


def test_the_front_has_what_no_other_beats() -> None:
    # 16, 14.4, 32 and 35.2 GB/s: the second has less for more, the third less for as much.
    assert [point["gb_per_s"] for point in _CORES] == pytest.approx([16.0, 14.4, 32.0, 35.2])
    assert timing_sweep.front(_CORES) == [_CORES[0], _CORES[3]]
    assert timing_sweep.front(_ENGINES) == _ENGINES


@needs_opensta
def test_the_sweep_as_table_json_and_plot(cdma, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(timing_sweep, "sweep_cores", lambda **given: deepcopy(_CORES))
    monkeypatch.setattr(timing_sweep, "sweep_engines", lambda **given: deepcopy(_ENGINES))
    call = ["timing", "--sweep", "--liberty", _LIBRARY]
    sweep = cdma(*call, "--json").json
    assert [point["front"] for point in sweep["points"]] == [True, False, False, True, True, True]
    outcome = cdma(*call, "--plot", "sweep.svg")
    assert (outcome.code, outcome.err) == (0, "")
    rows = [line.split() for line in outcome.out.splitlines()[4:]]
    assert rows[0] == ["compressor", "1", "16", "small", "10.0", "1000", "16.0", "yes"]
    assert rows[1] == ["compressor", "1", "16", "fast", "12.0", "900", "14.4"]
    assert rows[5] == ["engine", "2", "32", "small", "180.0", "500", "32.0", "yes"]
    assert (tmp_path / "sweep.svg").read_text() == sweep_plot(sweep["points"])


@needs_opensta
def test_cores_are_swept_one_by_one() -> None:
    (point,) = timing_sweep.sweep_cores(liberty=_LIBRARY, recipe="small", cores=["compressor"], beat_bytes=[16],
                                        pipelines=["fast"])
    assert (point["design"], point["lanes"], point["beat_bytes"], point["pipeline"]) == ("compressor", 1, 16, "fast")
    assert point["gb_per_s"] == pytest.approx(16 * point["mhz"] / 1000, abs=0.005)
    assert point["kge"] > 5 and point["start"].startswith("core.")


@pytest.mark.parametrize("what", usually(["compressor"], of=[["compressor"], ["tiny"], ["--sweep"]]))
def test_without_opensta(fails, monkeypatch: pytest.MonkeyPatch, what: list[str]) -> None:
    monkeypatch.setattr("cdma.synth.tools.opensta.available", lambda: False)
    words = fails("timing", *what, "--liberty", _LIBRARY)
    assert "calculated by OpenSTA, and its program sta is not on PATH: install it" in words


def test_without_nextpnr(fails, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEXTPNR_ECP5", "/nowhere/nextpnr-ecp5")
    words = fails("timing", "paper_compressor", "--target", "ecp5")
    assert "needs nextpnr-ecp5" in words and "cdma-rtl[boards]" in words
