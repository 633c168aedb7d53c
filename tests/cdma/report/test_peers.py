"""The page of peers: its figures are those of the benchmark, and follow them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from cdma.report.peers import MEASURED, blocks_table, paper_table
from tests.docs.pages import ROOT


@pytest.fixture
def figures() -> dict[str, Any]:
    """The figures of the project."""
    return json.loads((ROOT / "docs/performance.json").read_text(encoding="utf-8"))


def _cells(text: str) -> dict[str, list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    return {row[0]: row[1:] for row in rows}


def test_a_row_is_bytes_gates_and_clock() -> None:
    measured = {
        "throughput": [{"name": "cdma_compressor", "beat_bytes": 32, "element_bits": bits, "density": density,
                        "beats_per_cycle": beats} for bits, density, beats in ((8, 0.4, 0.5), (32, 0.4, 1.0),
                                                                               (8, 1.0, 0.1))],
        "area": [{"preset": "compressor", "name": "cdma_compressor", "target": target, "total": {"kge": kge}}
                 for target, kge in (("generic", 30.0), ("liberty", 20.0))],
        "timing": [{"preset": "compressor", "paths": [{"mhz": 900.0}, {"mhz": 500.0}]}],
        "timing_plain": [{"preset": "compressor", "kge": 32.0, "paths": [{"mhz": 400.0}, {"mhz": 700.0}]}]}
    # First as peers are measured, then as cores are built here.
    assert _cells(blocks_table(measured))["`compressor`, 32 B"] == [
        "this project", "16", "32.0", "400", "6.4", "0.50", "20.0", "500", "0.80", "elements of 8, 32 bits"]
    # Without a library there are gates and no clock, and nothing to compare with peers.
    measured["area"].pop()
    del measured["timing"], measured["timing_plain"]
    assert _cells(blocks_table(measured))["`compressor`, 32 B"][1:9] == ["16", "", "", "", "", "30.0", "", "0.53"]


def test_like_stands_beside_like(figures: dict[str, Any]) -> None:
    cells = _cells(blocks_table(figures))
    for row in cells.values():
        assert all(row[:6]), "every block has figures by the recipe of the peers"
        assert all(row[6:9]) if row[0] == "this project" else not any(row[6:9])
    assert {report["recipe"] for report in figures["timing_plain"]} == {"plain"}


def test_peers_are_normalised_like_the_cores(figures: dict[str, Any]) -> None:
    cells = _cells(blocks_table(figures))
    assert cells["EBPC encoder, 8 bit"][:6] == ["measured", "0.97", "3.7", "736", "0.7", "0.26"]
    assert sum(row[0] == "measured" for row in cells.values()) == len(MEASURED)
    assert sum(row[0] == "this project" for row in cells.values()) == 8


def test_the_paper_stands_beside_the_engine_of_its_size(figures: dict[str, Any]) -> None:
    changed = copy.deepcopy(figures)
    for report in changed["engine_area"]:
        report["mm2_28"] = {"cores": report["lanes"] / 100, "engine": report["lanes"] / 10}
    for row in changed["latency"]:
        row["first_cycles"] = 9 if "decompressor" in row["name"] else 8
    assert list(_cells(paper_table(changed)).values()) == [
        ["0.060 mm2", "0.31 mm2"], ["0.60 mm2", "1.5 mm2"], ["8 cycles", "6 cycles"], ["9 cycles", "2 cycles"]]
