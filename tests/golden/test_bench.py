"""The benchmark measures what it says, on data that are what they are called, and does without what is not there."""

from __future__ import annotations

import zlib

import ml_dtypes
import numpy as np
import pytest

from cdma.golden import bench
from cdma.golden.bench import BYTE_PLANES, GELU, SAMPLES, Sample, codecs, data_of
from cdma.golden.c import library
from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding

DTYPES = {"float32": np.dtype("<f4"), "bfloat16": np.dtype(ml_dtypes.bfloat16), "uint8": np.dtype("u1")}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few runs as there can be."""
    monkeypatch.setattr(bench, "_SECONDS", 0.0)
    monkeypatch.setattr(bench, "_FEWEST_RUNS", 1)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_data(sample: Sample) -> None:
    found = data_of(sample, 1 << 18).view(DTYPES[sample.values]).astype(float)
    assert found.size * DTYPES[sample.values].itemsize == 1 << 18
    assert np.isfinite(found).all()
    assert np.count_nonzero(found) / found.size == pytest.approx(sample.density, abs=0.01)
    # The least value of a GELU is -0.17, and half of its inputs are below zero.
    assert found.min() == pytest.approx(-0.17, abs=0.001) if sample.activation == GELU else found.min() >= 0
    assert np.signbit(found).mean() == pytest.approx(0.5 if sample.activation == GELU else 0, abs=0.01)


def test_rows() -> None:
    seen: list[tuple[str, int, int]] = []
    chosen = [Sample("float32", 0.5), Sample("uint8", 0.5)]
    rows = bench.measure(chosen, 1 << 16, progress=lambda *step: seen.append(step))
    assert len(rows) == len(seen) == (3 * 2 + 3 * 2) + (2 * 2 + 3)
    assert [step[1:] for step in seen] == [(number, len(rows)) for number in range(len(rows))]
    assert seen[0][0] == "golden numpy, lines32: float32, 0.5"
    assert [[row["coding"] for row in rows if (row["codec"], row["values"]) == ("golden numpy", values)]
            for values in ("float32", "uint8")] == [["lines32", "zvc32", "float32"], ["lines8", "zvc8"]]
    for row in rows:
        if row["coding"] not in ("", BYTE_PLANES):
            data = data_of(Sample(row["values"], row["density"]), 1 << 16)
            assert row["packed_bytes"] == blocks.compress(data, Coding[row["coding"].upper()]).size
            assert row["ratio"] == 65536 / row["packed_bytes"]
        if row["note"] != "not installed":
            assert row["compress"] and row["decompress"] and row["packed_bytes"]


def test_general_codecs_run_on_planes_of_bytes_too() -> None:
    found = {(name, coding): functions for name, coding, functions, _ in codecs("float32")}
    functions = found["zlib 1", BYTE_PLANES]
    assert functions is not None
    packed = functions[0](np.array([0x04030201, 0x14131211], "<u4").view(np.uint8))
    assert list(zlib.decompress(packed)) == [0x01, 0x11, 0x02, 0x12, 0x03, 0x13, 0x04, 0x14]
    assert functions[1](packed).tolist() == [0x01, 0x02, 0x03, 0x04, 0x11, 0x12, 0x13, 0x14]


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_installed", lambda name: name == "zlib")
    monkeypatch.setattr(library, "compiled", lambda *given: None)
    library._library.cache_clear()
    rows = {(row["codec"], row["coding"]): row for row in bench.measure([Sample("bfloat16", 0.5)], 1 << 16)}
    assert [name for name, row in rows.items() if row["note"] == "not installed"] == [
        ("lz4 1", ""), ("lz4 1", BYTE_PLANES), ("zstd 1", ""), ("zstd 1", BYTE_PLANES)]
    assert [name for name, row in rows.items() if row["note"] == "no C compiler"] == [
        ("C library", "lines16"), ("C library", "zvc16"), ("C library", "bfloat16")]
    assert rows["lz4 1", ""]["ratio"] is rows["lz4 1", ""]["compress"] is None
    assert bench.machine()["C library"] == "no C compiler"
    library._library.cache_clear()


def test_a_codec_that_loses_bytes_is_found() -> None:
    with pytest.raises(RuntimeError, match=r"a codec does not give back the same bytes: bad, lines32"):
        bench._speeds("bad, lines32", data_of(Sample("float32", 0.5), 1 << 12), (bytes, lambda packed: packed[1:]))
