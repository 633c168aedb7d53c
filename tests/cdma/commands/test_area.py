"""area: rows, JSON, targets, and every way to get it wrong."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from cdma.commands.area import area_text
from cdma.synth.area.fpga import BLOCK
from cdma.synth.units import hierarchy
from tests.extended import usually
from tests.synth.area.test_fpga import MEMORIES
from tests.synth.conftest import needs_opensta

pytestmark = pytest.mark.usefixtures("kept_synthesis")

_LIBRARY = Path(__file__).parents[2] / "synth/tiny.lib"
_SMALL = ["paper_compressor", "--set", "beat_bytes=16"]


def test_table_has_a_row_per_module_and_a_total(cdma) -> None:
    outcome = cdma("area", *_SMALL)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("cdma_paper_compressor, mapped to generic gates:\n")
    head = next(line for line in outcome.out.splitlines() if line.startswith("module"))
    assert {"module", "cells", "flip-flops", "kGE"} <= set(head.split())
    assert "um2" not in head
    (report,) = cdma("area", *_SMALL, "--json").json
    rows = report["rows"]
    assert len(rows) > 2
    for row in rows:
        assert row["module"] in outcome.out
    assert rows[-1] == report["total"]
    assert f"{report['total']['kge']:.2f}" in outcome.out


def test_fpga_targets_count_luts(cdma) -> None:
    outcome = cdma("area", *_SMALL, "--target", "ecp5")
    assert outcome.code == 0
    assert "LUTs" in outcome.out


def test_an_engine_on_an_fpga_says_what_its_buffers_became(cdma, monkeypatch: pytest.MonkeyPatch) -> None:
    # In the engine's place, a design with one buffer of each kind: one in block RAM, one in LUTs, one in flip-flops.
    monkeypatch.setattr(hierarchy, "emit", lambda config: SimpleNamespace(
        text=MEMORIES.replace("memories", config.name), ports=()))
    (report,) = cdma("area", "tiny", "--target", "ecp5", "--json").json
    assert (report["name"], report["lanes"], report["target"]) == ("cdma_tiny_engine", 1, "ecp5")
    # The table of constants is another, and no buffer.
    assert report["block_rams"] == {"DP16KD": 2}
    assert report["no_block_ram"] == ["async", "many"]
    lines = cdma("area", "tiny", "--target", "ecp5").out.splitlines()
    assert lines[0] == "cdma_tiny_engine, 1 lanes, mapped to ecp5:"
    assert lines[2].split() == ["LUTs", "flip-flops", "DP16KD", "TRELLIS_DPR16X4"]
    assert lines[4].split() == [f"{report[key]:,}" for key in ("luts", "flip_flops")] + ["2", "66"]
    assert [line.split() for line in lines[10:13]] == [
        ["async", "128", "32", "LUTs", "64", "TRELLIS_DPR16X4"], ["good", "128", "32", "block", "RAM", "1", "DP16KD"],
        ["many", "64", "32", "flip-flops"]]
    assert lines[-1] == "warning: not in block RAM: async (LUTs), many (flip-flops)"
    # Without such buffers it says so.
    good = [memory for memory in report["memories"] if memory["built"] == BLOCK]
    assert area_text(report | {"memories": good}).splitlines()[-1] == "Every one is block RAM, or has 64 words at most."


def test_a_library_without_opensta_gives_area_and_says_what_is_missing(cdma, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdma.synth.tools.opensta.available", lambda: False)
    outcome = cdma("area", *_SMALL, "--liberty", _LIBRARY, "--recipe", "plain")
    assert outcome.code == 0 and "um2" in outcome.out
    assert outcome.out.splitlines()[-1].startswith("No clock: OpenSTA calculates it, and its program sta")


@needs_opensta
@pytest.mark.parametrize("recipe", usually("fast", of=["fast", "small"]))
def test_a_library_gives_area_and_clock_of_the_same_netlist(cdma, recipe: str) -> None:
    call = [*_SMALL, "--liberty", _LIBRARY, "--recipe", recipe]
    (report,) = cdma("area", *call, "--json").json
    assert (report["library"], report["recipe"], report["total"]["luts"]) == ("tiny", recipe, None)
    worst = next(path for path in report["paths"] if path["kind"] == "register to register")
    outcome = cdma("area", *call)
    assert outcome.code == 0
    assert "um2" in outcome.out and f"{report['total']['um2']:.0f}" in outcome.out
    assert f"recipe {recipe}" in outcome.out
    line = next(line for line in outcome.out.splitlines() if line.startswith("register to register"))
    assert {f"{worst['ps']:.0f}", f"{worst['mhz']:.0f}", worst["start"], worst["end"]} <= set(line.split())
