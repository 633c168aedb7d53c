"""bench: the page and the JSON of one section, and sections put into a file beside others."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from cdma.commands.bench import SECTION_NAMES
from cdma.golden import bench
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.measure import bench as measured
from cdma.measure.options import OPTIONS, OPTIONS_OF
from tests.docs.pages import ROOT
from tests.extended import usually


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less data and fewer densities: the figures are not looked at."""
    whole = bench.measure
    monkeypatch.setattr(bench, "_SECONDS", 0.0)
    monkeypatch.setattr(bench, "_FEWEST_RUNS", 1)
    monkeypatch.setattr(bench, "measure", lambda progress: whole(
        (bench.Sample("float32", 0.4), bench.Sample("bfloat16", activation="GELU")), 1 << 16, progress))
    monkeypatch.setattr(bench, "crc_speed", lambda: 1.0)


def test_golden_section(cdma, quick: None, tmp_path: Path) -> None:
    """Page and figures of one section, which leave the others of a file."""
    (tmp_path / "figures.json").write_text('{"area": [], "golden": {}}')
    page = cdma("bench", "--only", "golden", "--output", "figures.json").out
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert list(figures) == ["area", "golden"] and figures["area"] == []
    assert figures["golden"]["crc32c"] == 1.0
    rows = figures["golden"]["rows"]
    codecs = {", ".join(filter(None, (row["codec"], row["coding"]))) for row in rows}
    assert {"golden numpy, zvc32", "C library, float32", "golden numpy, bfloat16", "zlib 1, byte planes"} <= codecs
    assert figures["golden"]["machine"]["C library"]
    assert "## Golden model" in page
    assert "## The cores: area" not in page
    # The page leaves out the codings whose lines have their tags first.
    assert all((f"| {codec} |" in page) == ("lines" not in codec) for codec in codecs)
    assert "| values | codec | 0.4 | GELU |" in page


def test_what_was_measured_stays_when_a_later_section_fails(
        cdma, fails, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object) -> dict[str, object]:
        raise ValueError("there is no such tool")

    monkeypatch.setattr(measured, "SECTIONS", {"toggles": lambda *given: [1], "golden": fail})
    path = tmp_path / "figures.json"
    path.write_text('{"area": [], "golden": {}, "toggles": []}')
    for only in ([], ["--only", "toggles", "--only", "golden"]):
        assert "there is no such tool" in fails("bench", *only, "--output", "figures.json")
        assert json.loads(path.read_text()) == {"area": [], "golden": {}, "toggles": [1]}
    # A whole run leaves nothing of the run before, and an empty file is none.
    monkeypatch.setattr(measured, "SECTIONS", {"toggles": lambda *given: [2]})
    for before in (path.read_text(), ""):
        path.write_text(before)
        assert cdma("bench", "--json", "--output", "figures.json").code == 0
        assert json.loads(path.read_text()) == {"toggles": [2]}


_STALE = "the cores changed: make bench (or cdma bench --only shipped --output bench/performance.json; make docs)"


def test_the_committed_figures_of_the_shipped_dump_are_those_of_the_cores(cdma, build_dir: Path) -> None:
    shipped = cdma("bench", "--only", "shipped", "--build-dir", build_dir, "--json").json["shipped"]
    committed = json.loads((ROOT / "bench/performance.json").read_text(encoding="utf-8"))["shipped"]
    assert shipped["passed"] is True
    assert shipped == committed, _STALE


@pytest.mark.parametrize("preset", usually("tiny", of=["engine", "tiny"]))
def test_the_committed_figures_of_the_shipped_dump_are_those_of_the_engine(cdma, build_dir: Path, preset: str) -> None:
    seen = cdma("simulate", "--engine", preset, "--build-dir", build_dir, "--json").json
    committed = json.loads((ROOT / "bench/performance.json").read_text(encoding="utf-8"))["engine_shipped"]
    assert seen["passed"] is True
    assert seen in committed, _STALE.replace("shipped", "engine_shipped").replace("cores", "engine")


def test_the_sections_that_can_be_asked_for_are_those_that_are_measured() -> None:
    assert tuple(measured.SECTIONS) == SECTION_NAMES


def test_every_option_of_an_engine_is_measured() -> None:
    """Options are what presets leave off: flags, and what has a cheaper value."""
    plain = load_engine(OPTIONS_OF)
    flags = {field.name for field in fields(EngineConfig) if getattr(plain, field.name) is False}
    measured_ones = {name for values in OPTIONS.values() for name in values}
    # Narrowing needs codings that this preset does not build, which would be measured with it.
    assert flags - measured_ones == {"narrowing"}
    assert next(iter(OPTIONS.values())) == {}
    assert all(plain.replace(**values) != plain for option, values in OPTIONS.items() if option != "none")
