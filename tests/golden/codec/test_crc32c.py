"""CRC-32C: known values, and the plain bit-by-bit definition on any bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.golden.codec.crc32c import crc32c
from cdma.golden.reference import blocks as reference


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


def test_arrays_that_cannot_be_written() -> None:
    content = np.arange(100, dtype=np.uint8)
    content.setflags(write=False)
    assert crc32c(content) == crc32c(bytearray(content)) == crc32c(memoryview(content.tobytes()))


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
