"""The benchmark measures what it says, and does without what is not installed."""

from __future__ import annotations

import pytest

from cdma.golden import bench
from cdma.golden.c import library
from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.speeds import codecs
from cdma.golden.speeds.samples import Sample


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few runs as there can be."""
    monkeypatch.setattr(bench, "_SECONDS", 0.0)
    monkeypatch.setattr(bench, "_FEWEST_RUNS", 1)


def test_rows() -> None:
    seen: list[tuple[str, int, int]] = []
    chosen = [Sample("float32", 0.5), Sample("uint8", 0.5)]
    rows = bench.measure(chosen, 1 << 16, progress=lambda *step: seen.append(step))
    assert len(rows) == len(seen) == (3 * 2 + 3 * 2) + (2 * 2 + 3)
    assert [step[1:] for step in seen] == [(number, len(rows)) for number in range(len(rows))]
    assert seen[0][0] == "golden numpy, lines32: float32, 0.5"
    for row in rows:
        if row.coding and row.coding != codecs.BYTE_PLANES:
            stream = blocks.compress(row.sample.data(1 << 16), Coding[row.coding.upper()])
            assert row.packed_bytes == stream.size
            assert row.ratio == pytest.approx(65536 / stream.size)
        if row.note != "not installed":
            assert row.compress and row.decompress and row.packed_bytes


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codecs, "_installed", lambda name: False)
    monkeypatch.setattr(library, "compiled", lambda *given: None)
    library._library.cache_clear()
    rows = {row.label: row for row in bench.measure([Sample("bfloat16", 0.5)], 1 << 16)}
    assert [name for name, row in rows.items() if row.note == "not installed"] == [
        "lz4 1", "lz4 1, byte planes", "zstd 1", "zstd 1, byte planes"]
    assert [name for name, row in rows.items() if row.note == "no C compiler"] == [
        "C library, lines16", "C library, zvc16", "C library, bfloat16"]
    assert rows["lz4 1"].ratio is rows["lz4 1"].compress is None
    assert bench.machine()["C library"] == "no C compiler"
    library._library.cache_clear()


def test_a_codec_that_loses_bytes_is_found() -> None:
    row = bench.Speed("bad", "", "float32", "ReLU", 0.5, 1 << 12)
    with pytest.raises(RuntimeError, match=r"bad does not give back the same bytes of float32, 0\.5"):
        bench._measured(row, row.sample.data(1 << 12), bytes, lambda packed: packed[1:])
