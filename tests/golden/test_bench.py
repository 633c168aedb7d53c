"""The benchmark measures what it says, and does without what is not installed."""

from __future__ import annotations

import json

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
    monkeypatch.setattr(library, "_COMPILERS", ())
    library._library.cache_clear()
    rows = {row.label: row for row in bench.measure([Sample("bfloat16", 0.5)], 1 << 16)}
    assert [name for name, row in rows.items() if row.note == "not installed"] == [
        "lz4 1", "lz4 1, byte planes", "zstd 1", "zstd 1, byte planes"]
    assert [name for name, row in rows.items() if row.note == "no C compiler"] == [
        "C library, lines16", "C library, zvc16", "C library, bfloat16"]
    assert rows["lz4 1"].ratio is rows["lz4 1"].compress is None
    text = bench.table(list(rows.values()))
    assert text.count("not installed") == 4
    assert len(text.splitlines()) == 2 + 12
    assert bench.machine()["C library"] == "no C compiler"
    library._library.cache_clear()


def test_a_codec_that_loses_bytes_is_found() -> None:
    row = bench.Speed("bad", "", "float32", "ReLU", 0.5, 1 << 12)
    with pytest.raises(RuntimeError, match=r"bad does not give back the same bytes of float32, 0\.5"):
        bench._measured(row, row.sample.data(1 << 12), bytes, lambda packed: packed[1:])


def test_command_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--megabytes", "1", "--density", "0.4"]) == 0
    text = capsys.readouterr().out
    # Lines and tags first of three types, and exponents of two; these two behind a GELU as well.
    assert len([line for line in text.splitlines() if " golden numpy, " in line]) == 3 + 3 + 2 + 6
    assert "CRC-32C: " in text


def test_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--json", "--megabytes", "1", "--density", "0.4"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert set(figures) == {"machine", "crc32c", "rows"}
    assert figures["crc32c"] > 0
    assert {row["values"] for row in figures["rows"]} == {"float32", "bfloat16", "uint8"}


@pytest.mark.parametrize(("arguments", "words"), [
    (["--megabytes", "0"], "must be a whole number from 1 to 1024, not '0'"),
    (["--megabytes", "x"], "must be a whole number from 1 to 1024, not 'x'"),
    (["--density", "2"], "must be a number from 0 to 1, not '2'"),
    (["--density", "much"], "must be a number from 0 to 1, not 'much'"),
])
def test_mistakes_are_named(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        bench.main(arguments)
    assert caught.value.code == 2
    assert words in capsys.readouterr().err
