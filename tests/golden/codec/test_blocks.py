"""The block stream: what goes in comes back, in the bytes that the format says, whole or block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.golden.codec import blocks
from cdma.golden.codec import lines as zvc
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.crc32c import crc32c
from cdma.golden.reference import blocks as reference
from tests.golden.samples import CODINGS, ELEMENT_BYTES, KINDS, floats, raw_bytes, raws_for

pytestmark = pytest.mark.usefixtures("codec_in_use")

WRONG_TYPE: dict[str, Any] = {"block": "4096", "crc": "0"}
BLOCKS = st.sampled_from([512, 640, 1024, 4096])


@pytest.mark.parametrize("coding", CODINGS)
@given(data=st.data(), block=BLOCKS, fallback=st.booleans())
def test_bytes_are_those_of_the_reference(coding: int, data: st.DataObject, block: int, fallback: bool) -> None:
    raw = data.draw(raws_for(coding, 6000))
    stream = blocks.compress(raw, coding, block, fallback)
    assert stream.tobytes() == reference.compress_blocks(raw, coding, block, fallback)
    for known in (None, len(raw)):
        assert blocks.decompress(stream, block, known, crc32c(stream), coding).tobytes() == raw
    found = list(blocks.headers(stream, block))
    assert found == list(blocks.headers(stream))
    for one in found:
        at = one.number * block
        assert blocks.read_block(stream, one.number, block).tobytes() == raw[at:at + block]


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("block", [512, 4096, 32768])
def test_every_length_around_a_block(coding: int, block: int) -> None:
    size = coding & 15
    for density in (0.3, 1.0):
        for elements in range(block // size - 3, block // size + 4):
            raw = raw_bytes(elements, size, density, elements)
            stream = blocks.compress(raw, coding, block)
            assert stream.tobytes() == reference.compress_blocks(raw, coding, block, True)
            assert blocks.decompress(stream, block).tobytes() == raw


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("fallback", [True, False])
def test_every_element_count_of_a_short_block(coding: int, fallback: bool) -> None:
    size = coding & 15
    for elements in range(1, 512 // size):
        raw = raw_bytes(elements, size, 0.3, elements)
        if coding > 0x20:
            raw = floats(elements, size, "positive", elements)
        stream = blocks.compress(raw, coding, 512, fallback)
        assert stream.tobytes() == reference.compress_blocks(raw, coding, 512, fallback)
        assert blocks.decompress(stream, 512).tobytes() == blocks.decompress(stream, 512, len(raw)).tobytes() == raw


@pytest.mark.parametrize("coding", [0x22, 0x24])
@pytest.mark.parametrize("kind", KINDS)
def test_values_of_every_kind(coding: int, kind: str) -> None:
    """Bit fields come back exactly: NaN, infinities, -0.0 and subnormal numbers are values like others."""
    size = coding & 15
    for block in (512, 4096):
        raw = floats(3 * block // size + 65, size, kind, block)
        for fallback in (True, False):
            stream = blocks.compress(raw, coding, block, fallback)
            assert stream.tobytes() == reference.compress_blocks(raw, coding, block, fallback)
            assert blocks.decompress(stream, block).tobytes() == raw


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("fallback", [True, False])
def test_more_blocks_than_are_worked_on_at_once(coding: int, fallback: bool) -> None:
    """Sparse, dense and mixed stretches of some MiB; the sequence goes round."""
    size = coding & 15
    densities = [0.0, 1.0, 0.4, 0.95, 0.02, 1.0]
    raw = b"".join(raw_bytes((1 << 20) // size, size, density, 1) for density in densities) + bytes(size)
    stream = blocks.compress(raw, coding, 512, fallback)
    found = list(blocks.headers(stream, 512))
    assert len(found) == 6 * 2048 + 1
    assert blocks.decompress(stream, 512, len(raw), crc32c(stream), coding).tobytes() == raw
    for number in (0, 255, 256, 2047, 2048, 2049, 6144, len(found) - 1):
        one = found[number]
        part = raw[number * 512:number * 512 + 512]
        expected = bytearray(reference.compress_blocks(part, coding, 512, fallback))
        expected[3] = number % 256
        assert stream[one.offset:one.end].tobytes() == bytes(expected)
        assert blocks.read_block(stream, number, 512).tobytes() == part


def test_headers_say_what_is_there() -> None:
    raw = bytes(4096) + raw_bytes(1024, 4, 1.0, 1) + bytes(8)
    stream = blocks.compress(raw, 4)
    first, second, third = blocks.headers(stream)
    assert first == blocks.Block(0, 0, 32 * 4, Coding.LINES32, False, 0)
    assert second == blocks.Block(1, 4 + 128, 4096, Coding.RAW, False, 1)
    assert third == blocks.Block(2, 4 + 128 + 4 + 4096, 4, Coding.LINES32, False, 2)
    assert (third.payload_offset, third.end) == (third.offset + 4, len(stream))


def test_fallback_never_grows_a_block_by_more_than_its_header() -> None:
    for size in ELEMENT_BYTES:
        for density in (0.8, 0.85, 0.9, 0.95, 0.97, 1.0):
            raw = raw_bytes(16384 // size, size, density, 5)
            stream = blocks.compress(raw, size)
            assert stream.size <= len(raw) + 4 * 4
            for one in blocks.headers(stream):
                part = raw[one.number * 4096:one.number * 4096 + 4096]
                packed = zvc.packed_bytes(part, size)
                assert one.coding == (0 if packed >= 4096 else size)
                assert one.payload_bytes == min(packed, 4096)


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


def test_without_fallback_every_block_is_coded() -> None:
    for size in ELEMENT_BYTES:
        stream = blocks.compress(raw_bytes(65536 // size, size, 1.0, 5), size, 32768, fallback=False)
        assert [one.coding for one in blocks.headers(stream)] == [size, size]
        assert [one.payload_bytes for one in blocks.headers(stream)] == [32768 + 32768 // size // 8] * 2


def test_codings_may_differ_from_block_to_block() -> None:
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
    assert blocks.decompress(stream, 512).tobytes() == raw
    assert blocks.decompress(stream, 512, len(raw)).tobytes() == raw


def test_empty_is_empty() -> None:
    assert blocks.compress(b"", 4).size == 0
    assert blocks.decompress(b"").size == blocks.decompress(b"", raw_bytes=0, crc=0).size == 0
    assert list(blocks.headers(b"")) == []


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "complex128"])
@pytest.mark.parametrize("shape", [(), (0, 3), (5, 4), (3, 7, 9, 8)])
def test_any_type_and_shape(dtype: str, shape: tuple[int, ...]) -> None:
    array = (np.arange(int(np.prod(shape))).reshape(shape) % 3).astype(dtype)
    for view in (array, array.T, array[..., ::2] if shape else array):
        assert blocks.decompress(blocks.compress(view, 1)).tobytes() == view.tobytes()


def test_result_of_read_block_is_a_copy() -> None:
    stream = blocks.compress(np.ones(1024, np.float32), 4)
    block = blocks.read_block(stream, 0)
    block[:] = 0
    assert blocks.decompress(stream).view(np.float32).min() == 1


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
    (lambda: blocks.read_block(blocks.compress(bytes(8), 4), 1), ValueError,
     "number must be that of a block of the stream, which has 1, not 1"),
    (lambda: blocks.read_block(b"", 0), ValueError, "which has 0, not 0"),
    (lambda: blocks.read_block(b"", -1), ValueError, "number must be 0 or more, not -1"),
])
def test_mistakes_are_named(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
