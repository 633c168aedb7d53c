"""Payloads of blocks with a fault."""

from __future__ import annotations

import numpy as np

from cdma.golden.codec.coding import Coding
from cdma.golden.codec.layout import LINE_BYTES, TAG_BYTES
from cdma.verif.common.stream import Bytes

__all__ = ["DAMAGES", "damaged_payload"]

DAMAGES = ("cut", "cut in front", "flip", "flip in front", "insert", "remove", "surplus", "random")
"""What can happen to a payload: it is cut anywhere or in its tags or facts, bits are flipped, bytes are put in, taken
out or left over, or all bytes are random."""


def damaged_payload(rng: np.random.Generator, data: Bytes, coding: Coding, raw_bytes: int, kind: str) -> Bytes:
    """A payload with a fault of a kind; some faults leave another payload that is right.

    Parameters
    ----------
    data
        The payload without the length field of a short block.
    coding, raw_bytes
        Of the block.
    kind
        One of :data:`DAMAGES`.

    Returns
    -------
    numpy.ndarray
        At least one byte.
    """
    lines = -(-raw_bytes // LINE_BYTES)
    # Of exponents, line headers and some of the facts behind them.
    front = min(data.size, lines * (2 if coding.exponents else TAG_BYTES[coding.element_bytes]))
    if kind == "cut in front":
        return data[:int(rng.integers(1, front + 1))]
    if kind in ("flip", "flip in front"):
        flipped = data.copy()
        flipped[int(rng.integers(front if kind == "flip in front" else data.size))] ^= 1 << int(rng.integers(8))
        return flipped
    at = int(rng.integers(1, data.size + 1))
    if kind == "insert":
        return np.insert(data, at, rng.integers(0, 256, int(rng.integers(1, 40)), dtype=np.uint8))
    if kind == "remove":
        left = np.delete(data, slice(at, at + int(rng.integers(1, 40))))
        return left if left.size else data[:1]
    if kind == "surplus":
        return np.concatenate([data, rng.integers(0, 256, int(rng.integers(1, 300)), dtype=np.uint8)])
    if kind == "random":
        return rng.integers(0, 256, int(rng.integers(1, 2 * data.size + 40)), dtype=np.uint8)
    return data[:at]
