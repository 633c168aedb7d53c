"""area: rows, JSON, targets, and every way to get it wrong."""

import pytest

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


@pytest.mark.parametrize(("arguments", "words"), [
    (["nothing"], "no preset 'nothing'"),
    (["--target", "liberty"], "--liberty FILE"),
    (["--target", "ecp5", "--liberty", "x.lib"], "ecp5"),
    (["compressor", "--liberty", "missing.lib"], "missing.lib"),
    (["--target", "asic"], "asic"),
])
def test_mistakes(fails, arguments: list[str], words: str) -> None:
    assert words in fails("area", *arguments)
