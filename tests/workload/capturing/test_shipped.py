"""The dump of a training that ships is what its page says."""

from __future__ import annotations

import numpy as np

from tests.docs.pages import ROOT, table
from workload.data import DIGITS, shipped, shipped_dumps
from workload.dumps import load
from workload.dumps.steps import training_step

PERCENT = (0, 2, 20, 60, 100)


def test_both_dumps_are_listed() -> None:
    assert shipped_dumps() == {"squeezenet_cc0": shipped(), "digits_cnn": DIGITS}
    assert all(path.is_file() for path in shipped_dumps().values())
    assert DIGITS.stat().st_size < 1_500_000


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


def test_values_are_plain() -> None:
    for array in load(DIGITS).values():
        assert array.dtype == np.float32
        # After a ReLU: no -0.0, no NaN, no infinity, nothing negative.
        assert np.isfinite(array).all()
        assert not np.signbit(array).any()
