"""CRC-32C (Castagnoli) in NumPy, faster than tables: folding by sparse multiples of the polynomial.

A message is a polynomial over GF(2), and its CRC the remainder modulo P. Any multiple of P may be taken off on the
way. In y = x^64, P has multiples of four and six terms::

    y^5685 + y^1362 + y^426 + 1        y^503 + y^220 + y^71 + y^65 + y^61 + 1

so a 64-bit word may be dropped when it is XORed into the words 5685 - 1362, 5685 - 426 and 5685 places further on.
Thousands of neighbours fold in three array operations, until 5685 words are left; the second multiple leaves 503, and
the remainder of those is the XOR of x^(k + 32) mod P over their bits k.

The CRC is reflected: bit 0 of a byte is its highest power of x, and bit 31 of a remainder is x^0.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.buffers import as_bytes, whole_number

__all__ = ["POLYNOMIAL", "SPARSE_MULTIPLES", "crc32c"]

POLYNOMIAL = 0x82F63B78
"""0x1EDC6F41, reflected; x^32 is implied."""

SPARSE_MULTIPLES = ((5685, 1362, 426, 0), (503, 220, 71, 65, 61, 0))
"""Exponents, in words of 64 bits, whose sum is a multiple of the polynomial."""

_WORD_BITS = 64
_SEGMENT_WORDS = 4 * (SPARSE_MULTIPLES[0][0] - SPARSE_MULTIPLES[0][1])
_ALL_ONES = 0xFFFF_FFFF

_Words = NDArray[np.uint64]


def crc32c(buffer: Any, value: int = 0) -> int:
    """CRC-32C over bytes.

    Parameters
    ----------
    buffer
        Array or buffer; its bytes in C order.
    value
        CRC of what came before, to go on from there.

    Returns
    -------
    int
        32 bits, as zlib.crc32 and iSCSI give theirs: initial value and final exclusive-or are all ones.
    """
    data = as_bytes(buffer, "buffer")
    start = whole_number(value, "value")
    if start > _ALL_ONES:
        raise ValueError(f"value must be a CRC of 32 bits, not {start:#x}")
    register = start ^ _ALL_ONES
    words = data[:data.size // 8 * 8].view("<u8")
    if words.size:
        # The register meets the first four bytes of the message.
        state = _fold(words, register, *SPARSE_MULTIPLES[0])
        register = _remainder(_fold(state, 0, *SPARSE_MULTIPLES[1]))
    for byte in data[words.nbytes:].tolist():
        register ^= byte
        for _ in range(8):
            register = _times_x(register)
    return register ^ _ALL_ONES


def _times_x(remainder: int) -> int:
    return (remainder >> 1) ^ (POLYNOMIAL if remainder & 1 else 0)


def _fold(words: _Words, pending: int, degree: int, *lower: int) -> _Words:
    """A message as at most ``degree`` words with the same remainder; ``pending`` is XORed into its first word."""
    many = words.size - degree
    if many <= 0:
        left = words.copy()
        left[0] ^= np.uint64(pending)
        return left
    steps = [degree - exponent for exponent in lower]
    # Words that are folded now, and behind them what they leave for the words that follow.
    work = np.zeros(min(many, _SEGMENT_WORDS) + degree, np.uint64)
    work[0] = pending
    for start in range(0, many, _SEGMENT_WORDS):
        length = min(_SEGMENT_WORDS, many - start)
        work[:length] ^= words[start:start + length]
        for low in range(0, length, steps[0]):
            folded = work[low:min(low + steps[0], length)]
            for step in steps:
                work[low + step:low + step + folded.size] ^= folded
        work[:degree] = work[length:length + degree].copy()
        work[degree:] = 0
    return work[:degree] ^ words[many:]


def _remainder(words: _Words) -> int:
    """Remainder of a short message that 32 zero bits follow."""
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    return int(np.bitwise_xor.reduce(_powers()[-bits.size:] * bits))


@cache
def _powers() -> NDArray[np.uint32]:
    """x^(k + 32) mod P for every bit of the longest message that is not folded, the first bit's first."""
    powers = np.empty(SPARSE_MULTIPLES[-1][0] * _WORD_BITS, np.uint32)
    value = POLYNOMIAL
    for index in range(powers.size - 1, -1, -1):
        powers[index] = value
        value = _times_x(value)
    return powers
