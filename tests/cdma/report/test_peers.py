"""The page of peers: its figures are those of the benchmark, and follow them."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.measure.compare import read_figures
from cdma.report.peers import MEASURED, PUBLISHED, blocks_table, codecs_table, exponents_table, fpga_table, paper_table
from cdma.report.table import Table
from tests.docs.pages import ROOT


@pytest.fixture
def figures() -> dict[str, Any]:
    """The figures of the project."""
    return read_figures(ROOT / "bench/performance.json")


def _cells(table: Table) -> dict[str, list[str]]:
    return {row[0]: list(row[1:]) for row in table.rows}


def _area(target: str, kge: float) -> dict[str, Any]:
    return {"preset": "compressor", "name": "cdma_compressor", "target": target, "total": {"kge": kge}}


def _timing(kge: float, *clocks: float) -> dict[str, Any]:
    return {"preset": "compressor", "kge": kge, "paths": [{"mhz": mhz} for mhz in clocks]}


def test_a_row_is_bytes_gates_and_clock() -> None:
    measured = {
        "throughput": [{"name": "cdma_compressor", "beat_bytes": 32, "element_bits": bits, "density": density,
                        "beats_per_cycle": beats} for bits, density, beats in (
                            (8, 0.4, 0.5), (32, 0.4, 1.0), (8, 1.0, 0.1))],
        "area": [_area("generic", 30.0), _area("liberty", 20.0)], "timing": [_timing(20.0, 900.0, 500.0)],
        "timing_plain": [_timing(32.0, 400.0, 700.0)]}
    # First as peers are measured, then as cores are built here.
    assert _cells(blocks_table(measured))["`compressor`, 32 B"] == [
        "this project", "16", "32.0", "400", "6.4", "0.50", "20.0", "500", "0.80", "elements of 8, 32 bits"]
    # Without a library there are gates and no clock, and nothing to compare with peers.
    measured = {"throughput": measured["throughput"], "area": measured["area"][:1]}
    assert _cells(blocks_table(measured))["`compressor`, 32 B"][1:9] == ["16", "", "", "", "", "30.0", "", "0.53"]


def test_like_stands_beside_like(figures: dict[str, Any]) -> None:
    cells = _cells(blocks_table(figures))
    for row in cells.values():
        assert all(row[:6]), "every block has figures by the recipe of the peers"
        assert all(row[6:9]) if row[0] == "this project" else not any(row[6:9])
    assert {row["recipe"] for row in figures["timing_plain"]} == {"plain"}


def test_peers_are_normalised_like_the_cores(figures: dict[str, Any]) -> None:
    cells = _cells(blocks_table(figures))
    assert cells["EBPC encoder, 8 bit"][:6] == ["measured", "0.97", "3.7", "736", "0.7", "0.26"]
    assert sum(row[0] == "measured" for row in cells.values()) == len(MEASURED)
    assert sum(row[0] == "this project" for row in cells.values()) == 4


def test_the_paper_stands_beside_the_engine_of_its_size(figures: dict[str, Any]) -> None:
    # The paper's engine twice as large, all others as they are; and other latencies.
    before = _cells(paper_table(figures))
    for report in figures["engine_area"]:
        factor = 2 if report["name"] == "cdma_paper_engine" else 1
        report["mm2_28"] = {key: factor * mm2 for key, mm2 in report["mm2_28"].items()}
    for row in figures["latency"]:
        row["first_cycles"] = 9 if row["core"] == "decompressor" else 8
    after = _cells(paper_table(figures))
    for name, published in (("compressors and decompressors of 6 lanes, 28 nm", "0.31 mm2"),
                            ("whole engine of 6 lanes with its buffers, 28 nm", "1.5 mm2")):
        once, twice = (float(cells[name][0].removesuffix(" mm2")) for cells in (before, after))
        assert twice == pytest.approx(2 * once, abs=0.011) and once > 0.05
        assert after[name][1] == published
    assert list(after.values())[2:] == [["8 cycles", "6 cycles"], ["9 cycles", "2 cycles"]]


def test_cores_of_exponents_have_the_slower_coding_of_dense_values(figures: dict[str, Any]) -> None:
    cells = _cells(exponents_table(figures))
    assert list(cells) == ["`exponent_block_compressor`", "`exponent_block_decompressor`"]
    for row in figures["block_throughput"]:
        if (row["coding"], row["beat_bytes"], row["density"]) == ("float32", 32, 1.0):
            row |= {"compress_beats_per_cycle": 0.5, "decompress_beats_per_cycle": 0.25}
    after = _cells(exponents_table(figures))
    for row, bytes_per_cycle in zip(after, ("16.0", "8.0"), strict=True):
        assert float(cells[row][0]) > 31
        assert after[row][0] == bytes_per_cycle and after[row][1:4] == cells[row][1:4]
        assert float(after[row][4]) == pytest.approx(float(bytes_per_cycle) * float(cells[row][3]) / 1000, abs=0.051)
    # Without a library there are neither gates nor clocks.
    assert not exponents_table(figures | {"block_timing": []}).rows


def test_published_designs_stand_beside_the_estimates(figures: dict[str, Any]) -> None:
    table = fpga_table({"engine_estimates": [{
        "preset": "tiny", "luts": 21_476, "flip_flops": 15_000, "rams": {"RAMB36E2": 20, "RAM32M16": 70}, "levels": 8,
        "mhz": 248.4, "over": 7, "ends": 30_000}]})
    assert _cells(table)["`tiny`, `pipeline=fast`"] == [
        "estimated", "21,476", "15,000", "20 RAMB36E2, 70 RAM32M16", "8", "248", "7 of 30,000"]
    assert _cells(table)["AMD XDMA, one channel, VC1902"] == [
        "published", "13,193", "14,452", "16 block RAMs", "", "250", ""]
    assert len(table.rows) == 1 + len(PUBLISHED)


def test_codecs_are_compared_on_the_same_values(figures: dict[str, Any]) -> None:
    table = codecs_table(figures)
    cells = _cells(table)
    assert all(all(row) for row in cells.values())
    # What the page says in words.
    dense = {name: float(row[1]) for name, row in cells.items()}
    ours = dense["exponent coding, blocks of 4 KiB"]
    assert dense["LZ4"] == 1.0 < dense["LZ4, byte planes"] < ours
    assert ours > max(dense["Deflate"], dense["Zstandard"]) > 1.0
    assert ours < min(dense["Deflate, byte planes"], dense["Zstandard, byte planes"])
    del figures["golden"]
    assert not any(any(row[1:]) for row in codecs_table(figures).rows)
