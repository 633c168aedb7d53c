"""Windows: a fixed number of bytes from any byte of a buffer on, of which NumPy reads or writes many in one step.

Written windows may overlap. They are written in the order of their places, so bytes of a window that do not belong to
it are repaired by the windows after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.golden.codec.buffers import Bytes

__all__ = ["read", "runs", "spans", "write"]


def read(content: Bytes, places: NDArray[np.int64], size: int) -> NDArray[Any]:
    """The ``size`` bytes from each place on: places by bytes. All must be inside the buffer."""
    return _windows(content, size)[places].view(np.uint8).reshape(places.size, size)


def write(content: Bytes, places: NDArray[np.int64], rows: NDArray[Any]) -> None:
    """Write each row, whose numbers are back to back, from its place on. All must be inside the buffer."""
    size = rows.itemsize * rows.shape[1]
    _windows(content, size)[places] = rows.view(f"V{size}")[:, 0]


def runs(starts: NDArray[np.int64], counts: NDArray[Any], size: int = 1) -> NDArray[np.int64]:
    """Places of windows of this size back to back, as many as each count says, from each start on."""
    ends = counts.astype(np.int64).cumsum()
    ends *= size
    found = np.arange(0, ends[-1] if ends.size else 0, size)
    found += np.repeat(starts - ends + counts * size, counts)
    return found


def spans(content: Bytes, places: NDArray[np.int64], before: int, behind: int, step: int
          ) -> Iterator[tuple[slice, Bytes, NDArray[np.int64]]]:
    """Up to ``step`` places at once, a buffer with these bytes around each of them, and where they are in it.

    It is the buffer itself, or, for the places close to its ends, a copy with zeros around it.

    Parameters
    ----------
    content
        The buffer.
    places
        The places, in any order. They need not be inside the buffer.
    before, behind
        Bytes in front of each place, and from it on.
    step
        Most places at once.
    """
    inside = (places >= before) & (places + behind <= content.size)
    near = int(np.append(inside, True).argmax())
    far = near + int(np.append(inside[near:], False).argmin())
    for first, last in ((0, near), (near, far), (far, places.size)):
        for at in range(first, last, step):
            some = slice(at, min(at + step, last))
            if near <= at < far:
                yield some, content, places[some]
                continue
            start = min(int(places[some].min()), content.size) - before
            copy = np.zeros(int(places[some].max()) + behind - start, np.uint8)
            found = content[max(start, 0):start + copy.size]
            copy[max(-start, 0):][:found.size] = found
            yield some, copy, places[some] - start


def _windows(content: Bytes, size: int) -> NDArray[Any]:
    return np.ndarray((content.size - size + 1,), f"V{size}", content.data, strides=(1,))
