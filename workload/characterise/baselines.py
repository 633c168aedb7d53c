"""The paper's baselines, run-length coding of zeros and zlib: how many bytes they would take.

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

import zlib
from typing import Any

import numpy as np

from cdma.golden.codec.buffers import as_bytes
from cdma.workload.characterise.density import elements, runs

__all__ = ["rle_bytes", "zlib_bytes"]

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
