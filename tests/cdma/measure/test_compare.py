"""bench --compare: every figure by name, the largest change first, and what fails."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.commands.bench import comparison_text
from cdma.measure import bench as measured
from cdma.measure.compare import compare, worse
from tests.docs.pages import ROOT

_OLD: dict[str, Any] = {
    "engine": [
        {"name": "e", "direction": "offload", "density": 0.0, "cycles": 100, "bytes_per_cycle": 8.0},
        {"name": "e", "direction": "offload", "density": 0.5, "cycles": 200, "bytes_per_cycle": 4.0},
        {"name": "e", "direction": "prefetch", "density": 0.0, "cycles": 0, "bytes_per_cycle": 8.0}],
    "area": [{"preset": "c", "target": "generic", "library": None, "total": {"kge": 4.0, "um2": None},
              "mm2": {"engine": 1.0}, "rows": [{"module": "core", "kge": 3.0}, {"module": "total", "kge": 4.0}]}],
    "golden": {"machine": {"processor": "p"}, "crc32c": 5.0},
}


def _new() -> dict[str, Any]:
    new = copy.deepcopy(_OLD)
    new["engine"][0]["cycles"] = 103
    new["engine"][1]["bytes_per_cycle"] = 3.0
    new["engine"][2]["cycles"] = 7
    new["area"][0]["total"] = {"kge": 2.0, "um2": 9.0}
    new["golden"] = {"machine": {"processor": "q"}, "zlib": 1.0}
    new["toggles"] = {"dump": 1}
    return new


@pytest.fixture
def files(tmp_path: Path) -> None:
    """old.json and new.json."""
    (tmp_path / "old.json").write_text(json.dumps(_OLD))
    (tmp_path / "new.json").write_text(json.dumps(_new()))


def test_changes_are_sorted_and_named(cdma, files: None) -> None:
    found = cdma("bench", "--compare", "old.json", "new.json", "--json").json
    assert [(row["section"], row["figure"], row["old"], row["new"], row["percent"]) for row in found["figures"]] == [
        ("engine", "e, prefetch, density 0 / cycles", 0, 7, None),
        ("area", "generic, c / total / kge", 4.0, 2.0, -50.0),
        ("engine", "e, offload, density 0.5 / bytes_per_cycle", 4.0, 3.0, -25.0),
        ("engine", "e, offload, density 0 / cycles", 100, 103, 3.0),
        ("engine", "e, offload, density 0 / bytes_per_cycle", 8.0, 8.0, 0.0),
        ("engine", "e, offload, density 0.5 / cycles", 200, 200, 0.0),
        ("engine", "e, prefetch, density 0 / bytes_per_cycle", 8.0, 8.0, 0.0),
        ("area", "generic, c / mm2 / engine", 1.0, 1.0, 0.0),
        ("area", "generic, c / rows / core / kge", 3.0, 3.0, 0.0)]
    assert found["appeared"] == ["area / generic, c / total / um2", "golden / zlib", "toggles"]
    assert found["vanished"] == ["golden / crc32c"]
    assert found["worse"] == []


def test_the_text_has_what_changed(cdma, files: None) -> None:
    outcome = cdma("bench", "--compare", "old.json", "new.json")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "9 figures in both: 4 changed, 5 are the same."
    assert next(line for line in lines if "kge" in line).split()[-3:] == ["2.0000", "-50.00", "%"]
    assert "  golden / crc32c" in lines and "  toggles" in lines


def test_worse_cycles_fail(cdma, files: None) -> None:
    # One that takes more cycles, one from none to some, one with less per cycle; area and speed are not judged.
    outcome = cdma("bench", "--compare", "old.json", "new.json", "--fail-over", 2)
    assert outcome.code == 1
    said = outcome.err.splitlines()
    assert len(said) == 3
    assert "cdma: engine / e, offload, density 0 / cycles: 100 -> 103 is worse by more than 2 %" in said
    assert len(cdma("bench", "--compare", "old.json", "new.json", "--fail-over", 3).err.splitlines()) == 2
    better = cdma("bench", "--compare", "new.json", "old.json", "--fail-over", 0)
    assert (better.code, better.err) == (0, "")


def test_one_file_stands_beside_what_is_measured(cdma, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(measured.SECTIONS, "golden", lambda setup, progress: {"crc32c": 6.0})
    (tmp_path / "figures.json").write_text(json.dumps(_OLD))
    found = cdma("bench", "--only", "golden", "--compare", "figures.json", "--output", "figures.json", "--json").json
    assert [(row["figure"], row["percent"]) for row in found["figures"]] == [("crc32c", 20.0)]
    # Sections that were not measured are neither gone nor lost.
    assert found["vanished"] == ["golden / machine"]
    assert json.loads((tmp_path / "figures.json").read_text()) == _OLD | {"golden": {"crc32c": 6.0}}


def test_every_figure_of_the_project_has_a_name_of_its_own() -> None:
    figures = json.loads((ROOT / "bench/performance.json").read_text(encoding="utf-8"))
    comparison = compare(figures, figures)
    names = [(change["section"], change["figure"]) for change in comparison["figures"]]
    assert len(names) == len(set(names)) > 1000
    # Rows that no name tells apart are numbered; arrays of the dense dump have such numbers of their own.
    own = [row["name"] for entry in figures["engine_dense"] for row in entry["arrays"] if "#" in row["name"]]
    assert not any("#" in figure and not any(name in figure for name in own) for _, figure in names)
    assert comparison["appeared"] == comparison["vanished"] == []
    assert comparison_text(comparison) == f"{len(names)} figures in both: 0 changed, {len(names)} are the same."


@given(st.floats(1, 1e9), st.floats(1, 1e9), st.floats(0, 100))
def test_worse_is_more_cycles_or_less_per_cycle(old: float, new: float, percent: float) -> None:
    def change(figure: str) -> dict[str, Any]:
        found = compare({"s": {figure: old}}, {"s": {figure: new}})
        return found["figures"][0]

    limit = old * (1 + percent / 100)
    if abs(new - limit) > 1e-6 * limit:
        assert worse(change("offload_cycles"), percent) == (new > limit)
    assert not worse(change("kge"), percent)
    assert worse(change("x_per_cycle"), 0) == (new < old)
