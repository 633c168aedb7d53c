"""The block stream: what goes in comes back, in the bytes that the format says, whole or block by block."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.reference import blocks as reference
from tests.golden.implementations import Codec, Numpy, block_of, expected
from tests.golden.samples import (
    CODED,
    CODINGS,
    EXPONENTS,
    corners,
    floats,
    free_payload,
    raw_bytes,
    raws,
)

WRONG_TYPE: dict[str, Any] = {"block": "4096", "crc": "0"}
SIZE = 512
by_coding = pytest.mark.parametrize("coding", CODINGS.values(), ids=CODINGS)


def element(coding: int) -> int:
    return coding & 15 or 1


def check(coder: Numpy | Codec, raw: bytes, coding: int, block: int = SIZE, fallback: bool = True) -> None:
    """The stream is that of the reference, and gives the raw bytes again, whole and block by block."""
    stream = reference.compress_blocks(raw, coding or 1, block, fallback, leave_raw=coding == 0)
    assert coder.compress(raw, coding, block, fallback) == stream
    assert coder.decompress(stream, block, len(raw), coding) == raw
    if isinstance(coder, Codec):        # with no byte of capacity to spare
        assert coder.compress(raw, coding, block, fallback, capacity=len(stream)) == stream
        assert coder.decompress(stream, block, capacity=len(raw)) == raw
    else:
        assert coder.decompress(stream, block) == raw


@by_coding
@settings(max_examples=60)
@given(data=st.data(), block=st.sampled_from([512, 640, 1024, 4096]), fallback=st.booleans())
def test_bytes_are_those_of_the_reference(coder: Numpy | Codec, coding: int, data: st.DataObject, block: int,
                                          fallback: bool) -> None:
    raw = data.draw(raws(element(coding), 6000))
    check(coder, raw, coding, block, fallback)
    stream = reference.compress_blocks(raw, coding or 1, block, fallback, leave_raw=coding == 0)
    if isinstance(coder, Codec):
        for number, *_ in coder.blocks(stream, block):
            assert isinstance(number, int)
            assert coder.read_block(stream, block, number) == raw[number * block:number * block + block]


@by_coding
def test_corners(coder: Numpy | Codec, coding: int) -> None:
    for raw in corners(element(coding)):
        for fallback in (True, False):
            check(coder, raw, coding, fallback=fallback)


@pytest.mark.parametrize("size", EXPONENTS)
@pytest.mark.parametrize("step", [1, 7])
def test_numpy_in_steps_of_few_blocks(size: int, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdma.golden.kernels.exponents_numpy._STEP_BYTES", step * SIZE)
    raw = b"".join(raw + bytes(-len(raw) % SIZE) for raw in corners(size))
    for fallback in (True, False):
        check(Numpy(), raw, EXPONENTS[size], fallback=fallback)


@by_coding
def test_corners_where_bytes_are_swapped(portable_codec: Codec, coding: int) -> None:
    for raw in corners(element(coding)):
        check(portable_codec, raw, coding)


@by_coding
@pytest.mark.parametrize("block", [512, 640, 4096, 32768])
def test_every_length_around_a_block(coder: Numpy | Codec, coding: int, block: int) -> None:
    size = element(coding)
    for density in (0.3, 1.0):
        for elements in range(block // size - 3, block // size + 4):
            check(coder, raw_bytes(elements, size, density, elements), coding, block)


@by_coding
def test_every_element_count_of_a_short_block(coder: Numpy | Codec, coding: int) -> None:
    size = element(coding)
    raw = floats(2 * SIZE // size, size, 5)
    for elements in range(SIZE // size + 1):
        check(coder, raw[:elements * size], coding, fallback=coding == 0)


@pytest.mark.parametrize("size", EXPONENTS)
@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 30))
def test_facts_that_other_writers_choose(coder: Numpy | Codec, size: int, seed: int) -> None:
    stream = block_of(EXPONENTS[size], free_payload(size, SIZE // 128, seed))
    assert coder.decompress(stream, SIZE) == expected(stream, SIZE)


@pytest.mark.parametrize(("coding", "fallback"), list(zip(CODED.values(), itertools.cycle([True, False]))), ids=CODED)
def test_more_blocks_than_are_worked_on_at_once(coder: Numpy | Codec, coding: int, fallback: bool) -> None:
    """Sparse, dense and mixed stretches of some MiB; the sequence goes round."""
    size = coding & 15
    densities = [0.0, 1.0, 0.4, 0.95, 0.02, 1.0]
    raw = b"".join(raw_bytes((1 << 20) // size, size, density, 1) for density in densities) + bytes(size)
    stream = coder.compress(raw, coding, 512, fallback)
    assert isinstance(stream, bytes)
    found = list(coder.blocks(stream, 512))
    assert len(found) == 6 * 2048 + 1
    assert coder.decompress(stream, 512, len(raw), coding) == raw
    for number in (0, 255, 256, 2047, 2048, 2049, 6144, len(found) - 1):
        one = found[number]
        part = raw[number * 512:number * 512 + 512]
        alone = bytearray(reference.compress_blocks(part, coding, 512, fallback))
        alone[3] = number % 256
        assert stream[one[1]:one[-1]] == bytes(alone)
        if isinstance(coder, Codec):
            assert coder.read_block(stream, 512, number) == part


def test_headers_say_what_is_there() -> None:
    raw = bytes(4096) + raw_bytes(1024, 4, 1.0, 1) + bytes(8)
    stream = blocks.compress(raw, 4)
    first, second, third = blocks.headers(stream)
    assert first == blocks.Block(0, 0, 32 * 4, Coding.LINES32, False, 0)
    assert second == blocks.Block(1, 4 + 128, 4096, Coding.RAW, False, 1)
    assert third == blocks.Block(2, 4 + 128 + 4 + 4096, 4, Coding.LINES32, False, 2)
    assert (third.payload_offset, third.end) == (third.offset + 4, len(stream))


def test_a_short_block_is_marked() -> None:
    raw = bytes(4096) + bytes(130)
    whole, short = blocks.headers(blocks.compress(raw, Coding.ZVC16))
    assert (whole.coding, whole.short, whole.field, whole.payload_bytes) == (Coding.ZVC16, False, 0x12, 256)
    assert (short.coding, short.short, short.field, short.payload_bytes) == (Coding.ZVC16, True, 0x92, 4 + 16)


def test_block_that_is_just_as_long_goes_raw() -> None:
    """32 lines of 128 bytes, tags of 4: coding saves nothing when 32 of 1024 elements are zero."""
    raw = np.ones(1024, np.uint32)
    raw[:32] = 0
    assert next(blocks.headers(blocks.compress(raw, 4))).coding == 0
    raw[32] = 0
    assert next(blocks.headers(blocks.compress(raw, 4))).coding == 4


def test_codings_may_differ_from_block_to_block(coder: Numpy | Codec) -> None:
    parts = [(4, 0.3), (1, 0.3), (2, 1.0), (2, 0.5), (4, 0.1), (1, 0.7), (0x11, 0.3), (0x12, 0.3), (0x14, 0.3),
             (0x22, 0.2), (0x24, 0.2)] * 30
    stream, raw = b"", b""
    for number, (coding, density) in enumerate(parts):
        part = raw_bytes(512 // (coding & 15), coding & 15, density, number)
        one = bytearray(reference.compress_blocks(part, coding, 512, True))
        one[3] = number % 256
        stream += bytes(one)
        raw += part
    assert {one.coding for one in blocks.headers(stream, 512)} == set(Coding)
    assert coder.decompress(stream, 512) == coder.decompress(stream, 512, len(raw)) == raw


def test_empty_is_empty() -> None:
    assert blocks.compress(b"", 4).size == 0
    assert blocks.decompress(b"").size == blocks.decompress(b"", raw_bytes=0, crc=0).size == 0
    assert list(blocks.headers(b"")) == []


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: blocks.compress(bytes(8), 4, 500), ValueError,
     "block_bytes must be 512 to 32768 and a multiple of 128, not 500"),
    (lambda: blocks.compress(bytes(8), 4, 576), ValueError, "multiple of 128, not 576"),
    (lambda: blocks.decompress(bytes(8), 65536), ValueError, "not 65536"),
    (lambda: blocks.headers(bytes(8), 1), ValueError, "not 1"),
    (lambda: blocks.decompress(bytes(8), WRONG_TYPE["block"]), TypeError, "block_bytes must be an integer, not '4096'"),
    (lambda: blocks.compress(bytes(7), 4), ValueError, "the length of raw must be a multiple of the 4 bytes"),
    (lambda: blocks.compress(bytes(8), 8), ValueError, "0x22 .bfloat16., 0x24 .float32., not 0x08"),
    (lambda: blocks.compress(bytes(8), 0), ValueError, "not 0x00"),
    (lambda: blocks.decompress(b"", coding=5), ValueError, "coding must be one of 0x01 .lines8., .* not 0x05"),
    (lambda: blocks.decompress(b"", raw_bytes=7, coding=2), ValueError, "raw_bytes must be a multiple"),
    (lambda: blocks.decompress(b"", crc=1 << 32), ValueError, "crc must be a CRC of 32 bits, not 0x100000000"),
    (lambda: blocks.decompress(b"", crc=WRONG_TYPE["crc"]), TypeError, "crc must be an integer, not '0'"),
    (lambda: blocks.decompress(7), TypeError, "stream must be an array or a buffer of bytes, not int"),
])
def test_mistakes_are_named(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
