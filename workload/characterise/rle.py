"""Run-length coding of zeros, one of the paper's baselines.

The stream is runs back to back, without header, padding or windows. Elements have 1, 2 or 4 bytes, little-endian. A
run is

    byte 0 of 0 to 127     a run of byte 0 + 1 literals: the 1 to 128 elements, none of them zero, follow
    byte 0 of 128 to 255   a run of byte 0 - 127 zeros, 1 to 128; nothing follows

Runs are maximal: a run has either only zeros or only non-zero elements, and a run of more than 128 elements is split
into runs of 128 and a shorter last one. The raw length follows from the stream. This is PackBits with
zeros as the only value that repeats, and a count byte at any element size.

The paper does not fix the widths of its counts. Its statements hold for any width: the cost depends on the number of
runs, so the ratio depends on zeros that are adjacent in memory and on the layout. Short counts favour this coding: a
single zero costs a byte, and a second one where the literals continue. There is no fallback: dense data grows by 1
byte in 128 elements, and strictly alternating 8-bit data by a half.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cdma.golden.codec.buffers import as_bytes, check_element_bytes
from cdma.workload.characterise.density import elements, runs

__all__ = ["LONGEST", "compress", "decompress", "packed_bytes"]

LONGEST = 128
"""Most elements of a run."""


def compress(raw: Any, element_bytes: int) -> np.ndarray:
    """The run-length stream of an array.

    Parameters
    ----------
    raw
        Array of any shape and type, or a buffer; its bytes in C order. A multiple of the element size.
    element_bytes
        1, 2 or 4.

    Returns
    -------
    np.ndarray
        The packed bytes, :func:`packed_bytes` of them.

    Raises
    ------
    TypeError, ValueError
        If ``raw`` is no array or buffer or no whole number of elements, or ``element_bytes`` is not allowed.
    """
    values = elements(raw, element_bytes)
    literal, lengths = runs(values)
    parts = -(-lengths // LONGEST)
    literal = np.repeat(literal, parts)
    cut = np.full(literal.size, LONGEST)
    cut[np.cumsum(parts) - 1] = lengths - (parts - 1) * LONGEST
    # A run is a count byte and, for literals, the elements; all bytes that are not counts belong to elements.
    sizes = 1 + np.where(literal, cut * element_bytes, 0)
    places = np.cumsum(sizes) - sizes
    out = np.empty(int(sizes.sum()), np.uint8)
    content = np.ones(out.size, bool)
    content[places] = False
    out[places] = np.where(literal, cut - 1, cut + LONGEST - 1)
    out[content] = values[values != 0].view(np.uint8)
    return out


def packed_bytes(raw: Any, element_bytes: int) -> int:
    """Bytes of the run-length stream of an array, without making it; parameters, errors: as :func:`compress`."""
    values = elements(raw, element_bytes)
    _, lengths = runs(values)
    return int((-(-lengths // LONGEST)).sum()) + int(np.count_nonzero(values)) * element_bytes


def decompress(packed: Any, element_bytes: int) -> np.ndarray:
    """The raw bytes of a run-length stream.

    Raises
    ------
    TypeError, ValueError
        If ``packed`` is no array or buffer or ends within a run, or ``element_bytes`` is not allowed.
    """
    size = check_element_bytes(element_bytes)
    data = as_bytes(packed, "packed").tobytes()
    parts: list[bytes] = []
    at = 0
    while at < len(data):
        count = data[at]
        at += 1
        if count >= LONGEST:
            parts.append(bytes((count - LONGEST + 1) * size))
            continue
        stop = at + (count + 1) * size
        if stop > len(data):
            raise ValueError(f"a run of {count + 1} literals of {size} bytes must follow byte {at - 1}, not "
                             f"{len(data) - at} bytes: the stream is cut or of another element size")
        parts.append(data[at:stop])
        at = stop
    return np.frombuffer(b"".join(parts), np.uint8)
