"""Octets: eight small numbers as a word of 64 bits, one byte each or as many bits each as they need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["spread", "squeezed"]

Words = NDArray[Any]

# By half the bits of a slot: the lower half of every slot of a word.
_SLOTS = {half: np.uint64(sum(((1 << half) - 1) << at for at in range(0, 64, 2 * half))) for half in (8, 16, 32)}


def squeezed(octets: Words, bits: Words) -> Words:
    """Words of eight bytes with ``bits`` bits each, without the bits between them."""
    gap = np.uint64(8) - bits
    for slots in _SLOTS.values():
        low = octets & slots
        octets = octets ^ low
        octets >>= gap
        octets |= low
        gap = gap + gap
    return octets


def spread(octets: Words, bits: Words) -> Words:
    """The inverse of :func:`squeezed`; bits behind the eight numbers are ignored."""
    gap = (np.uint64(8) - bits) << np.uint64(3)
    octets = octets << gap
    octets >>= gap
    gap >>= np.uint64(1)
    for half in (32, 16, 8):
        # In slots of twice ``half`` bits, the upper half of what is there goes to the upper half of the slot.
        low = _SLOTS[half] >> gap
        low &= _SLOTS[half]
        low &= octets
        octets ^= low
        octets <<= gap
        octets |= low
        gap >>= np.uint64(1)
    return octets
