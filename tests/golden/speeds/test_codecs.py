"""Byte planes, and which codecs there are."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from cdma.golden.speeds.codecs import BYTE_PLANES, codecs, from_planes, to_planes
from cdma.golden.speeds.samples import Sample


def test_planes_are_the_lowest_bytes_first() -> None:
    elements = np.array([0x04030201, 0x14131211], "<u4").view(np.uint8)
    assert to_planes(elements, 4).tolist() == [0x01, 0x11, 0x02, 0x12, 0x03, 0x13, 0x04, 0x14]
    assert to_planes(elements, 2).tolist() == [0x01, 0x03, 0x11, 0x13, 0x02, 0x04, 0x12, 0x14]


@pytest.mark.parametrize("size", [2, 4])
def test_planes_are_put_together_again(size: int) -> None:
    data = np.random.default_rng(0).integers(0, 256, 4096).astype(np.uint8)
    assert np.array_equal(from_planes(to_planes(data, size), size), data)


def test_general_codecs_run_on_planes_too() -> None:
    sample = Sample("bfloat16", activation="GELU")
    data = sample.data(1 << 16)
    found = {(codec.name, codec.coding): codec for codec in codecs(sample)}
    functions = found["zlib 1", BYTE_PLANES].functions
    assert functions is not None
    packed = functions[0](data)
    assert packed == zlib.compress(to_planes(data, 2).tobytes(), 1)
    assert len(packed) < len(zlib.compress(data.tobytes(), 1))
    assert np.array_equal(functions[1](packed), data)


def test_bytes_have_no_planes() -> None:
    assert not [codec for codec in codecs(Sample("uint8")) if codec.coding == BYTE_PLANES]
