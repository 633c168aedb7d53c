"""Octets: eight small numbers as a word of 64 bits, one byte each or as many bits each as they need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.codec.buffers import Bytes

__all__ = ["spread", "squeezed", "words_at"]

Words = NDArray[Any]

# By half the bits of a slot: the lower half of every slot of a word.
_SLOTS = {half: np.uint64(sum(((1 << half) - 1) << at for at in range(0, 64, 2 * half))) for half in (8, 16, 32)}


def squeezed(octets: Words, bits: Words) -> Words:
    """Words of eight bytes with ``bits`` bits each, without the bits between them."""
    gap = np.uint64(8) - bits
    for mask in (0x00FF_00FF_00FF_00FF, 0x0000_FFFF_0000_FFFF, 0x0000_0000_FFFF_FFFF):
        low = np.uint64(mask)
        octets = octets & low | (octets & ~low) >> gap
        gap = gap + gap
    return octets


def spread(octets: Words, bits: Words) -> Words:
    """The inverse of :func:`squeezed`."""
    gap = (np.uint64(8) - bits) << np.uint64(2)
    for half in (32, 16, 8):
        # In slots of twice ``half`` bits, the upper half of what is there goes to the upper half of the slot.
        low = _SLOTS[half] >> gap & _SLOTS[half]
        octets = octets & low | (octets & ~low) << gap & ~_SLOTS[half]
        gap = gap >> np.uint64(1)
    return octets


def words_at(stream: Bytes, places: NDArray[np.int64]) -> Words:
    """Eight bytes from each place on, as a word; bytes beyond the end are undefined."""
    whole = stream[:stream.size // 8 * 8].view("<u8")
    if whole.size < 2:
        whole = np.append(stream, np.zeros(16, np.uint8))[:16].view("<u8")
    elif stream.size % 8:
        whole = np.append(whole, np.append(stream[whole.size * 8:], np.zeros(8, np.uint8))[:8].view("<u8"))
    shift = (places & 7).astype(np.uint64) << np.uint64(3)
    low = whole.take(places >> 3, mode="clip") >> shift
    return low | whole.take((places >> 3) + 1, mode="clip") << np.uint64(1) << (np.uint64(63) - shift)
