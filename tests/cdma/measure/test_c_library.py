"""The C library for the benchmark: compiled, the same streams as the golden model's, or the reason why not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cdma.measure import c_library as measured
from cdma.measure.c_library import c_library
from golden import bench
from golden.codec import blocks
from golden.codec.coding import Coding
from golden.speeds.codecs import Library
from golden.speeds.samples import Sample


@pytest.fixture(scope="module")
def library() -> Library:
    """Compiled once."""
    return c_library()


def test_it_writes_the_streams_of_the_golden_model(library: Library) -> None:
    assert library.functions is not None, library.note
    assert library.about.endswith("-std=c99 -O3")
    for sample in (Sample("float32", 0.4), Sample("bfloat16", activation="GELU"), Sample("uint8", 0.6)):
        for coding in sample.codings():
            compress, decompress = library.functions(coding)
            # Another size than before, and the last block is short.
            for size in (20_000, 12_000):
                data = sample.data(size)
                packed = compress(data)
                assert np.array_equal(packed, blocks.compress(data, coding)), coding
                assert np.array_equal(decompress(packed), data), coding


def test_a_stream_that_it_refuses_is_an_error(library: Library) -> None:
    assert library.functions is not None
    compress, decompress = library.functions(Coding.ZVC32)
    packed = compress(Sample("float32", 0.4).data(8192)).copy()
    packed[2] = 0x33
    with pytest.raises(RuntimeError, match=r"status 17 of cdma_codec\.h"):
        decompress(packed)


def test_without_a_compiler_the_rows_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "COMPILERS", ())
    monkeypatch.setattr(bench, "_SECONDS", 0.0)
    rows = bench.measure([Sample("uint8", 0.5)], 1 << 12, [c_library()])
    assert {(row.coding, row.ratio, row.note) for row in rows if row.codec == "C library"} == {
        (coding, None, "no C compiler") for coding in ("lines8", "zvc8")}


def test_a_compiler_that_fails_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "broken-cc"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(measured, "COMPILERS", (str(broken),))
    found = c_library()
    assert found.functions is None
    assert found.note == f"{broken} failed"
