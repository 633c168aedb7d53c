# Triton's language is no Python that a type checker follows.
# type: ignore
"""Triton: elements of a block as numbers, narrowed or widened where asked for; small sums that both ways need.

All tensors here are of one program, which works on one block: lines, lines x 4 groups, lines x 4 groups x elements.
"""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = ["before", "load_elements", "padded", "tag_flags", "widened"]


@triton.jit
def padded(count):
    """A number of bytes, rounded up to whole words of 4."""
    return (count + 3) & -4


@triton.jit
def before(numbers):
    """The sum of all numbers in front of each."""
    return tl.cumsum(numbers, 0) - numbers


@triton.jit
def _narrowed(bits, NARROW: tl.constexpr):
    """float32 to nearest, ties to even: the lower 16 bits of each; 1 is bfloat16, 2 float16."""
    sign = (bits >> 16) & 0x8000
    if NARROW == 1:
        found = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 0xFFFF
        quiet = 0x7FC0
    else:
        half = bits.to(tl.float32, bitcast=True).to(tl.float16)
        found = half.to(tl.int16, bitcast=True).to(tl.int32) & 0xFFFF
        quiet = 0x7E00
    found = tl.where((bits & 0x7FFFFFFF) > 0x7F800000, sign | quiet, found)
    # With the sign of 16 bits in front, as loads of 16 bits have it.
    return (found << 16) >> 16


@triton.jit
def widened(codes, NARROW: tl.constexpr):
    """The bits of float32 values that 16-bit values stand for; NaNs keep sign and fraction."""
    if NARROW == 1:
        return codes << 16
    wide = codes.to(tl.int16).to(tl.float16, bitcast=True).to(tl.float32).to(tl.int32, bitcast=True)
    nan = ((codes & 0x8000) << 16) | 0x7F800000 | ((codes & 0x3FF) << 13)
    return tl.where((codes & 0x7FFF) > 0x7C00, nan, wide)


@triton.jit
def load_elements(raw, block, here, PLACES: tl.constexpr, NARROW: tl.constexpr):
    """The elements of a block, flat, zeros behind the last one."""
    place = tl.arange(0, PLACES)
    source = raw + block.to(tl.int64) * PLACES + place
    if here == PLACES:      # without a mask, loads are of 16 bytes
        found = tl.load(source).to(tl.int32)
    else:
        found = tl.load(source, mask=place < here, other=0).to(tl.int32)
    if NARROW:
        found = _narrowed(found, NARROW)
    return found


@triton.jit
def tag_flags(tags, LINES: tl.constexpr, SIZE: tl.constexpr):
    """Bytes of tags, lines x bytes, as a 0 or 1 for each element, lines x 4 x elements."""
    return tl.reshape((tags[:, :, None] >> tl.arange(0, 8)[None, None, :]) & 1, (LINES, 4, 32 // SIZE))
