"""The dumps of trainings that ship are what their page says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.workload.data import DIGITS, SUMS, shipped, shipped_dumps
from cdma.workload.dumps import load, type_name
from cdma.workload.dumps.steps import training_step
from tests.docs.pages import ROOT, table

PERCENT = (0, 2, 20, 60, 100)


def test_all_dumps_are_listed() -> None:
    assert shipped_dumps() == {"squeezenet_cc0": shipped(), "digits_cnn": DIGITS, "sums_gpt": SUMS}
    assert all(path.is_file() for path in shipped_dumps().values())
    assert max(shipped().stat().st_size, DIGITS.stat().st_size) < 1_400_000
    assert 900_000 < SUMS.stat().st_size < 1_000_000


def test_page() -> None:
    arrays = load(DIGITS)
    rows = table(ROOT / "workload/data/README.md", "layer")
    assert [training_step(name) for name in arrays] == [
        (row[0], percent, "% of training") for percent in PERCENT for row in rows]
    for layer, shape, _, *densities in rows:
        for percent, density in zip(PERCENT, densities, strict=True):
            array = arrays[f"p{percent:03d}/{layer}"]
            assert "x".join(map(str, array.shape)) == shape
            assert f"{np.count_nonzero(array.view(np.uint32)) / array.size:.3f}" == density


@pytest.mark.parametrize("path", [shipped(), DIGITS], ids=lambda path: path.stem)
def test_values_are_plain(path: Path) -> None:
    for array in load(path).values():
        assert array.dtype == np.float32
        # After a ReLU: no -0.0, no NaN, no infinity, nothing negative.
        assert np.isfinite(array).all()
        assert not np.signbit(array).any()


def test_page_of_the_network() -> None:
    arrays = load(shipped())
    assert [[row[0].strip("`"), row[1], row[-1]] for row in table(ROOT / "workload/data/README.md", "array")] == [
        [name, "x".join(map(str, array.shape)), f"{np.count_nonzero(array) / array.size:.3f}"]
        for name, array in arrays.items()]


def test_page_of_the_dense_dump() -> None:
    arrays = load(SUMS)
    *rows, whole = table(ROOT / "workload/data/README.md", "tensor")
    assert [row[0] for row in rows] == list(arrays)
    streams = {coding: {name: blocks.compress(array, coding).size for name, array in arrays.items()}
               for coding in (Coding.ZVC16, Coding.BFLOAT16)}
    for name, shape, _, density, *ratios in rows:
        array = arrays[name]
        assert type_name(array.dtype) == "bfloat16"
        assert "x".join(map(str, array.shape)) == shape
        assert f"{np.count_nonzero(array.view(np.uint16)) / array.size:.3f}" == density
        assert ratios == [f"{array.nbytes / sizes[name]:.2f}" for sizes in streams.values()], name
    raw = sum(array.nbytes for array in arrays.values())
    assert whole[-2:] == [f"{raw / sum(sizes.values()):.2f}" for sizes in streams.values()]
    # Other pages name the ratio of the whole.
    for page in ("docs/peers.md", "docs/capture.md"):
        assert f"{whole[-1]} on the shipped" in (ROOT / page).read_text(encoding="utf-8"), page
