"""The bound of mask coding: how small a mask of the zeros and the non-zero elements can be together.

A coder that stores which elements are zero and knows only the density d needs H(d) bits of mask per element on
average, plus the non-zero elements. Zero-value coding has 1 bit of mask per element, so it never beats the bound. A
coder that uses more can beat it: clusters of zeros (run-length coding), or the values (zlib).
"""

from __future__ import annotations

import math

from cdma.golden.codec.buffers import check_element_bytes

__all__ = ["bound_bytes", "mask_entropy"]


def mask_entropy(density: float) -> float:
    """H(d) = -d log2 d - (1 - d) log2 (1 - d): bits of mask per element, 0 to 1.

    Raises
    ------
    ValueError
        If ``density`` is not from 0 to 1.
    """
    if not 0 <= density <= 1:
        raise ValueError(f"density must be from 0 to 1, not {density}")
    return -sum(share * math.log2(share) for share in (density, 1 - density) if share > 0)


def bound_bytes(elements: int, nonzero: int, element_bytes: int) -> float:
    """Lower bound for the bytes of mask and non-zero elements.

    Parameters
    ----------
    elements, nonzero
        Elements in all, and those that are not zero.
    element_bytes
        1, 2 or 4.

    Raises
    ------
    TypeError, ValueError
        If there is no such element size, or more elements are not zero than there are.
    """
    size = check_element_bytes(element_bytes)
    if not 0 <= nonzero <= elements:
        raise ValueError(f"nonzero must be from 0 to the {elements} elements, not {nonzero}")
    return elements * mask_entropy(nonzero / elements) / 8 + nonzero * size if elements else 0.0
