"""The coding that makes a tensor smallest: values of every kind against all codings tried on all of them."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.smallest import SAMPLE_BYTES, SIZED, of_elements, smallest

LARGE = 1 << 17  # values, of which less than all are tried


def dense(size: int = LARGE) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(size).astype(np.float32)


def short(values: np.ndarray) -> np.ndarray:
    """bfloat16 values in float32."""
    return values.astype(ml_dtypes.bfloat16).astype(np.float32)


def masks(share: float) -> np.ndarray:
    return np.random.default_rng(2).random(2 * LARGE) < share


def whole(most: int, kind: type) -> np.ndarray:
    return np.random.default_rng(3).integers(0, most, LARGE).astype(kind)


def some(values: np.ndarray, other: np.ndarray, every: int) -> np.ndarray:
    """Blocks of values, with a block of the others at every so many."""
    rows = values[:len(values) // 1024 * 1024].reshape(-1, 1024).copy()
    rows[::every] = other[:rows[::every].size].reshape(-1, 1024)
    return rows.reshape(-1)


KINDS: dict[str, tuple[Callable[[], np.ndarray], Coding]] = {
    "float32": (dense, Coding.FLOAT32),
    "float32 after a ReLU": (lambda: np.maximum(dense(), 0), Coding.FLOAT32),
    "float32 with few values": (lambda: np.where(masks(0.01)[:LARGE], dense(), np.float32(0)), Coding.FLOAT32),
    "bfloat16 in float32": (lambda: short(dense()), Coding.BFLOAT16),
    "bfloat16 in float32 after a ReLU": (lambda: short(np.maximum(dense(), 0)), Coding.BFLOAT16),
    "float16 in float32": (lambda: dense().astype(np.float16).astype(np.float32), Coding.ZVC8),
    "whole numbers in float32": (lambda: whole(100, np.float32), Coding.BFLOAT16),
    "bfloat16": (lambda: dense().astype(ml_dtypes.bfloat16), Coding.BFLOAT16),
    "float16": (lambda: dense().astype(np.float16), Coding.BFLOAT16),
    "float8": (lambda: np.maximum(dense(), 0).astype(ml_dtypes.float8_e4m3fn), Coding.ZVC8),
    "bfloat16 in float64": (lambda: short(dense()).astype(np.float64), Coding.FLOAT32),
    "float32 in float64": (lambda: dense().astype(np.float64), Coding.ZVC8),
    "complex64": (lambda: (dense() + 1j * dense()).astype(np.complex64), Coding.FLOAT32),
    "places in int64": (lambda: np.arange(LARGE), Coding.BFLOAT16),
    "tokens in int64": (lambda: whole(50257, np.int64), Coding.ZVC16),
    "small int32": (lambda: whole(1000, np.int32), Coding.BFLOAT16),
    "few of a mask": (lambda: masks(0.005), Coding.FLOAT32),
    "most of a mask": (lambda: masks(0.9), Coding.BFLOAT16),
    "noise": (lambda: whole(256, np.uint8), Coding.ZVC32),
    "low halves empty but in some blocks": (lambda: some(short(dense()), dense(), 16), Coding.BFLOAT16),
    "low halves empty in some blocks": (lambda: some(dense(), short(dense()), 16), Coding.FLOAT32)}


def test_the_values_decide() -> None:
    for kind, (make, coding) in KINDS.items():
        values = make()
        sizes = {each: blocks.compress(values, each).size for each in SIZED}
        assert smallest(values) is coding, kind
        assert sizes[coding] == min(sizes.values()), kind


@pytest.mark.parametrize("block_bytes", [512, 4096, 32768])
def test_what_is_built_and_divides_is_chosen_from(block_bytes: int) -> None:
    values = short(dense()).view(np.uint8)
    assert smallest(values, block_bytes=block_bytes) is Coding.BFLOAT16
    assert smallest(values, (Coding.ZVC32, Coding.FLOAT32), block_bytes) is Coding.FLOAT32
    assert smallest(values[:-2], (Coding.ZVC32, Coding.ZVC16), block_bytes) is Coding.ZVC16
    assert smallest(values[:-1], block_bytes=block_bytes) is Coding.ZVC8
    assert smallest(values, of_elements(4), block_bytes) is Coding.FLOAT32
    assert smallest(values[:0]) is Coding.ZVC32
    with pytest.raises(ValueError, match="6 bytes are no whole number of the elements of zvc32: choose codings of"):
        smallest(values[:6], (Coding.ZVC32,))


def test_blocks_are_not_chosen_by_their_places() -> None:
    """A few blocks unlike the others, at just the places that blocks evenly spread over the tensor would have."""
    rows = dense(4 * LARGE).reshape(-1, 1024)
    rows[np.linspace(0, len(rows) - 1, SAMPLE_BYTES // blocks.BLOCK_BYTES).astype(int)] = short(dense(1024))
    assert smallest(rows) is Coding.FLOAT32
