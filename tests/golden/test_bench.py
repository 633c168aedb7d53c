"""The benchmark measures what it says, on data that is what it says, and does without what is not installed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from golden import bench
from golden.codec import blocks
from golden.kernels.choice import numba_installed


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few runs as there can be."""
    monkeypatch.setattr(bench, "_SECONDS", 0.0)
    monkeypatch.setattr(bench, "_FEWEST_RUNS", 1)


@pytest.mark.parametrize(("size", "dtype"), [(4, "<f4"), (2, "<f2"), (1, "u1")])
@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
def test_sample_has_its_density(size: int, dtype: str, density: float) -> None:
    values = bench.sample(density, size, 1 << 18).view(dtype)
    assert values.nbytes == 1 << 18
    assert values.min() >= 0
    assert np.isfinite(values.astype(float)).all()
    assert np.count_nonzero(values) / values.size == pytest.approx(density, abs=0.01)


def test_rows() -> None:
    seen: list[tuple[str, int, int]] = []
    rows = bench.measure([0.5], [4, 1], 1 << 16, lambda *step: seen.append(step))
    assert len(rows) == len(seen) == 2 * 5
    assert [step[1:] for step in seen] == [(number, 10) for number in range(10)]
    for row in rows:
        if row.codec == "golden numba" and not numba_installed():
            continue
        if row.codec.startswith("golden"):
            stream = blocks.compress(bench.sample(0.5, row.element_bits // 8, 1 << 16), row.element_bits // 8)
            assert row.packed_bytes == stream.size
            assert row.ratio == pytest.approx(65536 / stream.size)
        if row.note != "not installed":
            assert row.compress and row.decompress and row.packed_bytes


def test_peers_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_installed", lambda name: False)
    monkeypatch.setattr(bench, "numba_installed", lambda: False)
    rows = {row.codec: row for row in bench.measure([0.5], [2], 1 << 16)}
    assert [name for name, row in rows.items() if row.note == "not installed"] == ["golden numba", "lz4 1", "zstd 1"]
    assert rows["lz4 1"].ratio is rows["lz4 1"].compress is None
    text = bench.table(list(rows.values()))
    assert text.count("not installed") == 3
    assert len(text.splitlines()) == 2 + 5
    assert bench.machine()["numba"] == "not installed"


def test_a_codec_that_loses_bytes_is_found() -> None:
    data = bench.sample(0.5, 4, 1 << 12)
    with pytest.raises(RuntimeError, match=r"bad does not give back the same bytes at density 0\.5"):
        bench._measured(bench.Speed("bad", 32, 0.5, data.size), data, bytes, lambda packed: packed[1:])


def test_command_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--megabytes", "1", "--density", "0.4"]) == 0
    text = capsys.readouterr().out
    assert len([line for line in text.splitlines() if " golden numpy " in line]) == 3
    assert "CRC-32C: " in text


def test_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--json", "--megabytes", "1", "--density", "0.4"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert set(figures) == {"machine", "crc32c", "rows"}
    assert figures["crc32c"] > 0
    assert {row["element_bits"] for row in figures["rows"]} == {8, 16, 32}


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
