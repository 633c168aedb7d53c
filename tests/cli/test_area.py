"""area: rows, JSON, targets, and every way to get it wrong."""

from pathlib import Path

import pytest

_LIBRARY = Path(__file__).parents[1] / "synth/tiny.lib"
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


@pytest.mark.parametrize("recipe", ["fast", "small"])
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


@pytest.mark.parametrize(("arguments", "words"), [
    (["nothing"], "no preset 'nothing'"),
    (["--target", "liberty"], "--liberty FILE"),
    (["--target", "ecp5", "--liberty", "x.lib"], "ecp5"),
    (["compressor", "--liberty", "missing.lib"], "missing.lib"),
    (["--target", "asic"], "asic"),
    (["--recipe", "balanced"], "'fast', 'small'"),
])
def test_mistakes(fails, arguments: list[str], words: str) -> None:
    assert words in fails("area", *arguments)
