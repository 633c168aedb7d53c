"""Orders in which the values of a feature map lie in memory: NCHW, NHWC, CHWN."""

from __future__ import annotations

import numpy as np

__all__ = ["LAYOUTS", "reorder"]

LAYOUTS = ("NCHW", "NHWC", "CHWN")
"""N images, C channels, H rows, W columns; the last letter varies fastest."""


def reorder(array: np.ndarray, layout: str, stored: str = "NCHW") -> np.ndarray:
    """A feature map in another layout.

    Parameters
    ----------
    array
        Four dimensions in the order of ``stored``. Arrays with another number of dimensions have no channels and rows
        to exchange and are returned unchanged.
    layout
        The new layout, one of :data:`LAYOUTS`.
    stored
        The layout that it has, one of :data:`LAYOUTS`.

    Returns
    -------
    np.ndarray
        C-contiguous; the array itself where nothing changes.

    Raises
    ------
    ValueError
        If there is no such layout.
    """
    for name in (layout, stored):
        if name not in LAYOUTS:
            raise ValueError(f"layout must be {', '.join(LAYOUTS)}, not {name!r}")
    if array.ndim != 4:
        return array
    return np.ascontiguousarray(array.transpose([stored.index(axis) for axis in layout]))
