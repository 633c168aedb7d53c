"""Errors that rounding float32 values to 16 bits causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cdma.golden.codec.narrowing import Narrowing, narrow, widen

__all__ = ["BOUNDS", "Rounding", "of_all", "rounding"]

BOUNDS = {Narrowing.BFLOAT16: 2.0 ** -8, Narrowing.FLOAT16: 2.0 ** -11}
"""Largest relative error of a value, within the range of the format's normal values."""

# Values that are compared in one step.
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Rounding:
    """The difference between values before and after rounding.

    Parameters
    ----------
    max_abs
        Largest error of a finite value.
    max_relative
        The same as a share of the tensor's largest magnitude; infinite if a value became infinity.
    mean_relative
        Mean relative error of all finite values that are not zero.
    overflows, underflows
        Finite values that became infinity; values other than zero that became zero.
    nans, infinities
        Numbers of NaNs and infinities; they stay NaNs and infinities, but NaNs lose their payload.
    """

    max_abs: float
    max_relative: float
    mean_relative: float
    overflows: int
    underflows: int
    nans: int
    infinities: int


def rounding(values: np.ndarray, form: Narrowing | int) -> Rounding:
    """Round float32 values, restore them, and compare.

    Parameters
    ----------
    values
        Any shape; float32.
    form
        A format of :class:`cdma.golden.codec.narrowing.Narrowing`.

    Raises
    ------
    TypeError
        If the values are not float32.
    ValueError
        If there is no such form.
    """
    if values.dtype != np.float32:
        raise TypeError(f"only float32 values can be rounded to 16 bits in the engine, not {values.dtype}")
    flat = values.reshape(-1)
    worst = largest = total = 0.0
    counted = overflows = underflows = nans = infinities = 0
    for start in range(0, flat.size, _CHUNK):
        chunk = np.ascontiguousarray(flat[start:start + _CHUNK])
        back = widen(narrow(chunk, form), form).view(np.float32)
        finite = np.isfinite(chunk)
        before = chunk[finite].astype(np.float64)
        after = back[finite].astype(np.float64)
        filled = before != 0
        kept = np.isfinite(after)
        error = np.abs(after - before)
        nans += int(np.count_nonzero(np.isnan(chunk)))
        infinities += int(np.count_nonzero(np.isinf(chunk)))
        overflows += int(np.count_nonzero(~kept))
        underflows += int(np.count_nonzero(filled & (after == 0)))
        worst = max(worst, float(error[kept].max(initial=0.0)))
        largest = max(largest, float(np.abs(before).max(initial=0.0)))
        there = filled & kept
        total += float((error[there] / np.abs(before[there])).sum())
        counted += int(np.count_nonzero(there))
    relative = np.inf if overflows else worst / largest if largest else 0.0
    return Rounding(worst, float(relative), total / counted if counted else 0.0, overflows, underflows, nans,
                    infinities)


def of_all(several: Sequence[Rounding]) -> Rounding:
    """The largest errors, the mean of the mean errors, and the sums of the counts."""
    return Rounding(max(each.max_abs for each in several), max(each.max_relative for each in several),
                    sum(each.mean_relative for each in several) / len(several),
                    *(sum(getattr(each, name) for each in several)
                      for name in ("overflows", "underflows", "nans", "infinities")))
