"""The data of the benchmark are what they are called."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.speeds.samples import GELU, RELU, Sample, samples

DTYPES = {"float32": np.dtype("<f4"), "bfloat16": np.dtype(ml_dtypes.bfloat16), "uint8": np.dtype("u1")}


@pytest.mark.parametrize("values", DTYPES)
@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
def test_values_behind_a_relu_have_their_density(values: str, density: float) -> None:
    found = Sample(values, density).data(1 << 18).view(DTYPES[values]).astype(float)
    assert found.nbytes * DTYPES[values].itemsize == (1 << 18) * 8
    assert found.min() >= 0
    assert np.isfinite(found).all()
    assert np.count_nonzero(found) / found.size == pytest.approx(density, abs=0.01)


@pytest.mark.parametrize("values", ["float32", "bfloat16"])
def test_values_behind_a_gelu_are_dense_and_of_both_signs(values: str) -> None:
    sample = Sample(values, activation=GELU)
    found = sample.data(1 << 18).view(DTYPES[values]).astype(float)
    assert np.isfinite(found).all()
    # The least value of a GELU is -0.17, and half of its inputs are below zero.
    assert found.min() == pytest.approx(-0.17, abs=0.001)
    assert np.signbit(found).mean() == pytest.approx(0.5, abs=0.01)
    assert blocks.compress(sample.data(1 << 18), Coding(0x10 | sample.element_bytes)).size > 1 << 18


def test_codings_fit_the_values() -> None:
    assert Sample("float32").codings() == (Coding.LINES32, Coding.ZVC32, Coding.FLOAT32)
    assert Sample("bfloat16").codings() == (Coding.LINES16, Coding.ZVC16, Coding.BFLOAT16)
    assert Sample("uint8").codings() == (Coding.LINES8, Coding.ZVC8)


def test_samples_are_every_type_at_every_density_and_behind_a_gelu() -> None:
    found = samples([0.0, 0.5])
    assert [(sample.values, sample.label) for sample in found] == [
        (values, label) for values in DTYPES for label in ("0.0", "0.5", *([GELU] if values != "uint8" else []))]
    assert {sample.activation for sample in found} == {RELU, GELU}
