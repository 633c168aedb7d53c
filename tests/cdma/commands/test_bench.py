"""bench: the page and the JSON of one section, and sections put into a file beside others."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from cdma.commands.bench import SECTION_NAMES
from cdma.golden import bench
from cdma.golden.results import from_json
from cdma.golden.speeds.samples import Sample
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.measure import bench as measured
from cdma.measure.figures import Figures, OptionCost
from cdma.measure.options import OPTIONS, OPTIONS_OF
from cdma.report.performance import performance_page
from cdma.verif.engine.throughput_options import PagedStreams, WrittenBack
from tests.docs.pages import ROOT
from tests.extended import usually


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less data and fewer densities: the figures are not looked at."""
    whole = bench.measure
    monkeypatch.setattr(bench, "_SECONDS", 0.0)
    monkeypatch.setattr(bench, "_FEWEST_RUNS", 1)
    monkeypatch.setattr(bench, "measure", lambda progress: whole(
        (Sample("float32", 0.5), Sample("bfloat16", activation="GELU")), 1 << 16, progress))
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
    for codec in codecs:
        assert f"| {codec} |" in page
    assert "| codec | 0.5 |" in page and "| codec | GELU |" in page


def test_what_was_measured_stays_when_a_later_section_fails(
        cdma, fails, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object) -> dict[str, object]:
        raise ValueError("there is no such tool")

    monkeypatch.setattr(measured, "SECTIONS", {"toggles": lambda *given: {"toggles": [1]}, "golden": fail})
    path = tmp_path / "figures.json"
    path.write_text('{"area": [], "golden": {}, "toggles": []}')
    for only in ([], ["--only", "toggles", "--only", "golden"]):
        assert "there is no such tool" in fails("bench", *only, "--output", "figures.json")
        assert json.loads(path.read_text()) == {"area": [], "golden": {}, "toggles": [1]}
    # A whole run leaves nothing of the run before, and an empty file is none.
    monkeypatch.setattr(measured, "SECTIONS", {"toggles": lambda *given: {"toggles": [2]}})
    for before in (path.read_text(), ""):
        path.write_text(before)
        assert cdma("bench", "--json", "--output", "figures.json").code == 0
        assert json.loads(path.read_text()) == {"toggles": [2]}


_STALE = "the cores changed: make bench (or cdma bench --only shipped --output docs/performance.json; make docs)"


def test_the_committed_figures_of_the_shipped_dump_are_those_of_the_cores(cdma, build_dir: Path) -> None:
    shipped = cdma("bench", "--only", "shipped", "--build-dir", build_dir, "--json").json["shipped"]
    committed = json.loads((ROOT / "docs/performance.json").read_text(encoding="utf-8"))["shipped"]
    assert shipped["passed"] is True
    assert shipped == committed, _STALE


@pytest.mark.parametrize("preset", usually("tiny", of=["default", "tiny"]))
def test_the_committed_figures_of_the_shipped_dump_are_those_of_the_engine(cdma, build_dir: Path, preset: str) -> None:
    seen = cdma("simulate", "--engine", preset, "--build-dir", build_dir, "--json").json
    committed = json.loads((ROOT / "docs/performance.json").read_text(encoding="utf-8"))["engine_shipped"]
    assert seen["passed"] is True
    assert seen in committed, _STALE.replace("shipped", "engine_shipped").replace("cores", "engine")


def test_the_page_of_all_figures_has_every_section() -> None:
    figures = json.loads((ROOT / "docs/performance.json").read_text(encoding="utf-8"))
    page = performance_page(from_json(Figures, figures))
    # Figures, tables and the plot of the sweep are in the HTML page too.
    html = page.html()
    assert "<pre>cdma_engine: 4 lanes" in html and "Area and throughput of compressor" in html
    page = page.markdown()
    # Timing needs a cell library of the user's own, so a run without one leaves it out.
    for title in ("The engine: a network there and back", "The engine: dense values", "The engine: switching activity",
                  "The engine: effective bandwidth",
                  "The engine: how lanes scale",
                  "The engine: area", "The cores: a real dump", "The cores: beats per cycle", "The cores: latency",
                  "The cores: area", "Golden model"):
        assert f"\n## {title}\n" in page
    assert ("\n## The cores: timing\n" in page) == ("timing" in figures)
    assert ("\n## The engine: timing\n" in page) == ("timing_units" in figures)


def test_mistakes(fails) -> None:
    assert "golden" in fails("bench", "--only", "speed")
    assert "--liberty" in fails("bench", "--only", "timing")
    assert "nowhere is not a folder: make it first, or give figures.json another one" in fails(
        "bench", "--only", "golden", "--output", "nowhere/figures.json")
    Path("damaged.json").write_text("{")
    assert "damaged.json is not JSON" in fails("bench", "--only", "golden", "--output", "damaged.json")
    assert "missing.lib" in fails("bench", "--only", "area", "--liberty", "missing.lib")


def test_the_sections_that_can_be_asked_for_are_those_that_are_measured() -> None:
    assert tuple(measured.SECTIONS) == SECTION_NAMES


def test_the_section_of_streams_in_pages() -> None:
    row = PagedStreams("cdma_engine", "offload", 350, "zvc32", 0.1, 4096, 8, 8 << 20, 1 << 20, 119.4, 120.0)
    page = performance_page(Figures(engine_pages=(row,))).markdown()
    assert "\n## The engine: streams in pages\n" in page
    assert "| zvc32 | 0.1 | 8.00 | 8 x 1024 KiB | 350 cycles | offload | 119.4 | 120.0 | 99.5% |" in page
    assert "Goal: 99%. All reach it." in page
    slow = replace(row, bytes_per_cycle=118.0)
    assert "Goal: 99%. Below it: offload of zvc32 at 350 cycles." in performance_page(
        Figures(engine_pages=(row, slow))).markdown()


def test_the_section_of_completions_in_rings() -> None:
    row = WrittenBack("cdma_engine", "prefetch", 350, "zvc32", 0.4, 8192, 64, 377, 59.9, 60.0)
    page = performance_page(Figures(engine_write_back=(row,))).markdown()
    assert "\n## The engine: completions in rings\n" in page
    assert "| 64 x 8 KiB | 350 cycles | prefetch | 59.9 | 60.0 | 99.8% | 377 |" in page


def test_the_section_of_options() -> None:
    about = ("cells", "fast", "a timer", "Yosys")
    rows = (OptionCost("none", "cdma_engine", 4, *about, 200.0, 2048, 1050.0, 952.4, "a", "b"),
            OptionCost("write_back", "cdma_engine", 4, *about, 206.0, 3072, 990.0, 1010.1, "c", "d"))
    page = performance_page(Figures(engine_options=rows)).markdown()
    assert "\n## The engine: what options cost\n" in page
    assert "| `write_back` | 206.0 | +3.0% | 3.0 | 990 | 1010 | `c` | `d` |" in page
    assert "Below it: `write_back` (990)." in page


def test_every_option_of_an_engine_is_measured() -> None:
    """Options are what presets leave off: flags, and what has a cheaper value."""
    plain = load_engine(OPTIONS_OF)
    flags = {field.name for field in fields(EngineConfig) if getattr(plain, field.name) is False}
    measured_ones = {name for values in OPTIONS.values() for name in values}
    # Narrowing needs codings that this preset does not build, which would be measured with it.
    assert flags - measured_ones == {"narrowing"}
    assert next(iter(OPTIONS.values())) == {}
    assert all(plain.replace(**values) != plain for option, values in OPTIONS.items() if option != "none")
