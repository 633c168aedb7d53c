"""Run-length coding against a coder that goes element by element, zlib on windows, and the bound of mask coding."""

import math
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cdma.golden.codec import lines as zvc
from cdma.workload.characterise.baselines import bound_bytes, rle_bytes, zlib_bytes


def reference(values: np.ndarray) -> bytes:
    """The stream of the format's description, one element at a time."""
    out = bytearray()
    place = None
    kind = None
    for value in values.tolist():
        zero = value == 0
        full = place is not None and (out[place] & 127) == 127
        if place is None or zero != kind or full:
            kind, place = zero, len(out)
            out.append(128 if zero else 0)
        else:
            out[place] += 1
        if not zero:
            out += value.to_bytes(values.itemsize, "little")
    return bytes(out)


def test_the_reference_by_hand() -> None:
    raw = np.array([0, 0, 0x0102, 0, 0xFFFF, 1], "<u2")
    assert reference(raw) == bytes([129, 0, 0x02, 0x01, 128, 1, 0xFF, 0xFF, 0x01, 0x00])
    for zeros, stream in ((1, [128]), (128, [255]), (129, [255, 128]), (256, [255, 255])):
        assert list(reference(np.zeros(zeros, "<u4"))) == stream


@pytest.mark.parametrize("size", [1, 2, 4])
def test_growth_of_run_length_coding(size: int) -> None:
    assert rle_bytes(np.full(1280, 7, f"<u{size}"), size) == 1280 * size + 10
    assert rle_bytes(np.tile(np.array([0, 9], f"<u{size}"), 50), size) == 50 * (2 + size)


@pytest.mark.parametrize("kind", ["<u1", "<u2", "<u4"])
@given(data=st.data())
def test_as_many_bytes_as_the_reference(kind: str, data: st.DataObject) -> None:
    short = data.draw(arrays(kind, st.integers(0, 60), elements=st.sampled_from([0, 1, 255])))
    raw = np.repeat(short, data.draw(st.sampled_from([1, 2, 127, 128, 129, 300])))
    assert rle_bytes(raw, raw.itemsize) == len(reference(raw))


def test_zero_means_that_all_bits_are() -> None:
    raw = np.array([[0.0, -0.0], [np.nan, 1.5]], np.float32)
    assert rle_bytes(raw, 4) == len(reference(raw.reshape(-1).view("<u4"))) == 1 + 1 + 3 * 4


def test_windows_of_zlib_stand_alone() -> None:
    # The second window repeats the first, which it must not see.
    window = np.random.default_rng(0).integers(0, 256, 4096).astype(np.uint8).tobytes()
    assert zlib_bytes(window * 2 + b"end") == 2 * len(zlib.compress(window, 6)) + len(zlib.compress(b"end", 6))
    assert zlib_bytes(window) <= 4096 + 11
    array = np.arange(2000, dtype=np.float32).reshape(2, 1000)
    assert zlib_bytes(array.T) == zlib_bytes(array.T.tobytes())


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="multiple"):
        rle_bytes(b"123", 2)
    with pytest.raises(ValueError, match="element"):
        rle_bytes(b"", 3)
    with pytest.raises(TypeError, match="buffer"):
        zlib_bytes(17)


@pytest.mark.parametrize(("elements", "nonzero", "size", "found"), [
    (1024, 512, 4, 128 + 2048), (1024, 0, 4, 0), (1024, 1024, 2, 2048), (0, 0, 4, 0),
    (8000, 2000, 1, 811.278 + 2000), (8000, 6000, 1, 811.278 + 6000), (8000, 880, 1, 499.916 + 880)])
def test_bounds_of_known_densities(elements: int, nonzero: int, size: int, found: float) -> None:
    assert bound_bytes(elements, nonzero, size) == pytest.approx(found, abs=1e-3)


@pytest.mark.parametrize("nonzero", [1, 300, 2500, 5000])
def test_mask_needs_as_many_bits_as_there_are_masks(nonzero: int) -> None:
    # log2 of the number of masks of 10,000 elements with so many ones; the bound is above it by a logarithm.
    masks = math.log2(math.comb(10_000, nonzero))
    bits = 8 * bound_bytes(10_000, nonzero, 1) - 8 * nonzero
    assert masks <= bits <= masks + 0.5 * math.log2(8 * 10_000)


@given(st.integers(1, 64), st.floats(0, 1), st.sampled_from([1, 2, 4]), st.integers(0, 2**32 - 1))
def test_zero_value_coding_does_not_beat_the_bound(lines: int, density: float, size: int, seed: int) -> None:
    mask = np.random.default_rng(seed).random(lines * 128 // size) < density
    raw = mask.astype(f"<u{size}")
    assert zvc.packed_bytes(raw, size) >= bound_bytes(raw.size, int(mask.sum()), size) - 1e-6
