"""Layouts: every element where its indices say, and all there and back."""

import itertools

import numpy as np
import pytest

from cdma.workload.dumps.layouts import LAYOUTS, reorder

SIZES = {"N": 2, "C": 3, "H": 4, "W": 5}


@pytest.mark.parametrize(("stored", "layout"), list(itertools.product(LAYOUTS, LAYOUTS)))
def test_every_element_is_where_its_indices_say(stored: str, layout: str) -> None:
    array = np.arange(120, dtype=np.float32).reshape([SIZES[axis] for axis in stored])
    moved = reorder(array, layout, stored)
    assert moved.shape == tuple(SIZES[axis] for axis in layout)
    assert moved.flags.c_contiguous
    for indices in itertools.product(*(range(size) for size in SIZES.values())):
        at = dict(zip(SIZES, indices, strict=True))
        assert moved[tuple(at[axis] for axis in layout)] == array[tuple(at[axis] for axis in stored)]
    assert np.array_equal(reorder(moved, stored, layout), array)


@pytest.mark.parametrize("shape", [(), (7,), (3, 4), (2, 3, 4), (1, 2, 3, 4, 5)])
def test_other_shapes_pass_through(shape: tuple[int, ...]) -> None:
    array = np.ones(shape)
    assert reorder(array, "NHWC") is array


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="layout must be NCHW, NHWC, CHWN, not 'NWHC'"):
        reorder(np.ones((1, 1, 1, 1)), "NWHC")
    with pytest.raises(ValueError, match="not 'nchw'"):
        reorder(np.ones(4), "NCHW", "nchw")
