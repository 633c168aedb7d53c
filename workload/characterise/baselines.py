"""The paper's baselines, run-length coding of zeros and zlib, and the bound of mask coding: the bytes they would take.

**Run-length coding.** The stream is runs back to back, without header, padding or windows. Elements have 1, 2 or 4
bytes, little-endian. A run is

    byte 0 of 0 to 127     a run of byte 0 + 1 literals: the 1 to 128 elements, none of them zero, follow
    byte 0 of 128 to 255   a run of byte 0 - 127 zeros, 1 to 128; nothing follows

Runs are maximal: a run has either only zeros or only non-zero elements, and a run of more than 128 elements is split
into runs of 128 and a shorter last one. The raw length follows from the stream. This is PackBits with
zeros as the only value that repeats, and a count byte at any element size.

The paper does not fix the widths of its counts. Its statements hold for any width: the cost depends on the number of
runs, so the ratio depends on zeros that are adjacent in memory and on the layout. Short counts favour this coding: a
single zero costs a byte, and a second one where the literals continue. There is no fallback: dense data grows by 1
byte in 128 elements, and strictly alternating 8-bit data by a half.

**zlib.** Every 4 KiB of an array is a stream of its own, as ``zlib.compress(window, 6)`` gives it (zlib's default
level), so that no match reaches back into the window before; the paper uses 4 KB too. The last window may be shorter.
There is no fallback, but DEFLATE's stored blocks keep the growth to 11 bytes in a window.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np

from cdma.golden.codec.buffers import as_bytes
from cdma.workload.characterise.density import elements, runs

__all__ = ["bound_bytes", "rle_bytes", "zlib_bytes"]

_LONGEST = 128
"""Most elements of a run."""
_WINDOW_BYTES = 4096
"""Raw bytes that zlib codes together."""


def rle_bytes(raw: Any, element_bytes: int) -> int:
    """Bytes of the run-length stream of an array.

    Parameters
    ----------
    raw
        Array of any shape and type, or a buffer; its bytes in C order. A multiple of the element size.
    element_bytes
        1, 2 or 4.

    Raises
    ------
    TypeError, ValueError
        If ``raw`` is no array or buffer or no whole number of elements, or ``element_bytes`` is not allowed.
    """
    values = elements(raw, element_bytes)
    _, lengths = runs(values)
    return int((-(-lengths // _LONGEST)).sum()) + int(np.count_nonzero(values)) * element_bytes


def zlib_bytes(raw: Any) -> int:
    """Bytes of the zlib streams of an array's windows; raises TypeError if it is no array or buffer."""
    data = as_bytes(raw)
    return sum(len(zlib.compress(data[start:start + _WINDOW_BYTES].tobytes(), 6))
               for start in range(0, data.size, _WINDOW_BYTES))


def bound_bytes(elements: int, nonzero: int, element_bytes: int) -> float:
    """The bound of mask coding, in bytes: how small a mask of the zeros and the non-zero elements can be together.

    A coder that stores which elements are zero and knows only the density d needs H(d) = -d log2 d - (1 - d) log2 (1 -
    d) bits of mask per element on average, plus the non-zero elements. Zero-value coding has 1 bit of mask per element,
    so it never beats the bound. A coder that uses more can beat it: clusters of zeros (run-length coding), or the
    values (zlib).

    Parameters
    ----------
    elements, nonzero
        Elements in all, and those that are not zero.
    element_bytes
        1, 2 or 4.
    """
    shares = (nonzero / elements, 1 - nonzero / elements) if elements else ()
    entropy = -sum(share * math.log2(share) for share in shares if share > 0)
    return elements * entropy / 8 + nonzero * element_bytes
