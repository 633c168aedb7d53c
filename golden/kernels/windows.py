"""Windows: a fixed number of bytes from any byte of a buffer on, of which NumPy reads or writes many in one step.

Written windows may overlap. They are written in the order of their places, so bytes of a window that do not belong to
it are repaired by the windows after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.codec.buffers import Bytes

__all__ = ["read", "runs", "spans", "write"]


def read(content: Bytes, places: NDArray[np.int64], size: int) -> NDArray[Any]:
    """The ``size`` bytes from each place on: places by bytes. All must be inside the buffer."""
    return _windows(content, size)[places].view(np.uint8).reshape(places.size, size)


def write(content: Bytes, places: NDArray[np.int64], rows: NDArray[Any]) -> None:
    """Write each row, contiguous, from its place on. All must be inside the buffer."""
    size = rows.itemsize * rows.shape[1]
    _windows(content, size)[places] = rows.view(f"V{size}").reshape(-1)


def runs(starts: NDArray[np.int64], counts: NDArray[Any], size: int = 1) -> NDArray[np.int64]:
    """Places of windows of this size back to back, as many as each count says, from each start on."""
    ends = counts.astype(np.int64).cumsum()
    ends *= size
    found = np.arange(0, ends[-1] if ends.size else 0, size)
    found += np.repeat(starts - ends + counts * size, counts)
    return found


def spans(content: Bytes, places: NDArray[np.int64], most: int, step: int
          ) -> Iterator[tuple[slice, Bytes, NDArray[np.int64]]]:
    """Up to ``step`` places at once, a buffer in which ``most`` bytes follow each of them, and where they are in it.

    It is the buffer itself, or, for the places close to its end, a copy with zeros behind it.
    """
    inside = places + most <= content.size
    far = places.size if inside.all() else int(inside.argmin())
    for start in range(0, far, step):
        some = slice(start, min(start + step, far))
        yield some, content, places[some]
    for start in range(far, places.size, step):
        some = slice(start, start + step)
        first = min(int(places[some].min()), content.size)
        copy = np.zeros(int(places[some].max()) + most - first, np.uint8)
        end = min(first + copy.size, content.size)
        copy[:end - first] = content[first:end]
        yield some, copy, places[some] - first


def _windows(content: Bytes, size: int) -> NDArray[Any]:
    return np.ndarray((content.size - size + 1,), f"V{size}", content.data, strides=(1,))
