"""CRC-32C: known values, the bit-by-bit one, and the multiples that it is folded by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden.crc32c import POLYNOMIAL, SPARSE_MULTIPLES, crc32c
from tests.golden import reference


@pytest.mark.parametrize(("content", "expected"), [
    (b"", 0),
    (b"a", 0xC1D04330),
    (b"123456789", 0xE3069283),
    # RFC 3720, appendix B.4
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (bytes(range(31, -1, -1)), 0x113FDB5C),
])
def test_known_values(content: bytes, expected: int) -> None:
    assert crc32c(content) == expected


@given(content=st.binary(max_size=400), value=st.integers(0, 0xFFFF_FFFF))
def test_any_bytes_from_any_start(content: bytes, value: int) -> None:
    assert crc32c(content, value) == reference.crc(content, value)


@pytest.mark.parametrize("words", sorted({degree + extra for degree, *_ in SPARSE_MULTIPLES for extra in (-1, 0, 1, 2)}
                                         | {SPARSE_MULTIPLES[0][0] * 5}))
def test_lengths_around_the_folds(words: int) -> None:
    content = np.random.default_rng(words).integers(0, 256, 8 * words + 3, dtype=np.uint8).tobytes()
    assert crc32c(content) == reference.crc(content)
    assert crc32c(content[:-3], 0x1234_5678) == reference.crc(content[:-3], 0x1234_5678)


@given(content=st.binary(min_size=1, max_size=100), cut=st.integers(0, 100))
def test_goes_on_from_a_part(content: bytes, cut: int) -> None:
    assert crc32c(content[cut:], crc32c(content[:cut])) == crc32c(content)


def test_long_messages_in_parts() -> None:
    """Over a megabyte, cut at places that are no multiples of anything."""
    content = np.random.default_rng(1).integers(0, 256, 3_000_017, dtype=np.uint8)
    value = 0
    for start in range(0, content.size, 99_991):
        value = crc32c(content[start:start + 99_991], value)
    assert value == crc32c(content)
    flipped = content.copy()
    flipped[2_000_003] ^= 4
    assert crc32c(flipped) != value


@pytest.mark.parametrize("exponents", SPARSE_MULTIPLES)
def test_sparse_multiples_are_multiples(exponents: tuple[int, ...]) -> None:
    """The sum of x^(64 k) over the exponents k leaves nothing, modulo the polynomial."""
    remainder = 0x8000_0000
    total = 0
    for bit in range(64 * exponents[0] + 1):
        if bit % 64 == 0 and bit // 64 in exponents:
            total ^= remainder
        remainder = remainder >> 1 ^ (POLYNOMIAL if remainder & 1 else 0)
    assert total == 0
    assert len(set(exponents)) == len(exponents)


def test_arrays_are_taken_as_their_bytes() -> None:
    array = np.arange(60, dtype=np.float32).reshape(5, 12)
    assert crc32c(array.T) == crc32c(array.T.tobytes())


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: crc32c("text"), TypeError, "buffer must be an array or a buffer of bytes, not str"),
    (lambda: crc32c(b"", 1 << 32), ValueError, "value must be a CRC of 32 bits, not 0x100000000"),
    (lambda: crc32c(b"", -1), ValueError, "value must be 0 or more, not -1"),
])
def test_mistakes_are_named(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
