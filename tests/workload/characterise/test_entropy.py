"""The bound of mask coding: known entropies, the count of masks, and that zero-value coding never beats it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.golden.codec import lines as zvc
from cdma.workload.characterise.entropy import bound_bytes, mask_entropy


@pytest.mark.parametrize(("density", "bits"), [(0, 0), (1, 0), (0.5, 1), (0.25, 0.811278), (0.75, 0.811278),
                                               (0.11, 0.499916)])
def test_entropy_of_known_densities(density: float, bits: float) -> None:
    assert mask_entropy(density) == pytest.approx(bits, abs=1e-6)


@pytest.mark.parametrize("nonzero", [1, 300, 2500, 5000])
def test_mask_needs_as_many_bits_as_there_are_masks(nonzero: int) -> None:
    # log2 of the number of masks of 10,000 elements with so many ones; the bound is above it by a logarithm.
    masks = math.log2(math.comb(10_000, nonzero))
    bits = 8 * bound_bytes(10_000, nonzero, 1) - 8 * nonzero
    assert masks <= bits <= masks + 0.5 * math.log2(8 * 10_000)


def test_bytes_by_hand() -> None:
    assert bound_bytes(1024, 512, 4) == 128 + 2048
    assert bound_bytes(1024, 0, 4) == 0
    assert bound_bytes(1024, 1024, 2) == 2048
    assert bound_bytes(0, 0, 4) == 0


@given(st.integers(1, 64), st.floats(0, 1), st.sampled_from([1, 2, 4]), st.integers(0, 2**32 - 1))
def test_zero_value_coding_does_not_beat_it(lines: int, density: float, size: int, seed: int) -> None:
    mask = np.random.default_rng(seed).random(lines * 128 // size) < density
    raw = mask.astype(f"<u{size}")
    assert zvc.packed_bytes(raw, size) >= bound_bytes(raw.size, int(mask.sum()), size) - 1e-6


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match=r"density must be from 0 to 1, not 1\.5"):
        mask_entropy(1.5)
    with pytest.raises(ValueError, match="nonzero must be from 0 to the 4 elements, not 5"):
        bound_bytes(4, 5, 4)
    with pytest.raises(ValueError, match="element"):
        bound_bytes(4, 1, 3)
