"""Masks and numbers: thermometer masks, whose set bits come first, counts of set bits, choices by one-hot numbers."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Mux, Value
from amaranth.utils import exact_log2

__all__ = ["length", "ones", "pick", "thermometer"]


def length(kept: Value) -> Value:
    """Number of set bits of a mask whose set bits come first: the inverse of :func:`thermometer`."""
    bits: list[Value] = []
    for rank in range(exact_log2(len(kept))):
        step = 1 << rank
        bits.append(Cat(kept[k - 1] & ~kept[k + step - 1] for k in range(step, len(kept), 2 * step)).any())
    return Cat(*bits, kept[-1])


def ones(bits: Value) -> Value:
    """Number of set bits of any mask, as a tree of sums."""
    half = len(bits) // 2
    return ones(bits[:half]) + ones(bits[half:]) if half else bits


def pick(one_hot: Value, choices: Sequence[Value]) -> Value:
    """The choice that ``one_hot`` points at, as a sum of products."""
    result: Value = Const(0)
    for chosen, choice in zip(one_hot, choices, strict=True):
        result = result | Mux(chosen, choice, 0)
    return result


def thermometer(value: Value, width: int) -> Value:
    """``width`` bits, bit ``k`` set when ``k < value``."""
    most = (1 << len(value)) - 1
    return Cat(value > k if k < most else Const(0) for k in range(width))
