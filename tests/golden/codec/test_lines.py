"""The line stream: what goes in comes back, in the bytes that the format says."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.golden.codec import lines as zvc
from cdma.golden.reference import lines as reference
from tests.golden.samples import ELEMENT_BYTES, corners, raw_bytes, raws

LINE = 128
WRONG_TYPE: dict[str, Any] = {"text": "4", "float": 4.0}


def check(raw: bytes, size: int) -> None:
    """The stream is that of the reference, as long as was said, line by line, and gives the raw bytes again."""
    packed = zvc.compress(raw, size)
    assert packed.tobytes() == reference.compress_lines(raw, size)
    assert zvc.packed_bytes(raw, size) == packed.size
    assert zvc.line_packed_bytes(raw, size).tolist() == [
        len(reference.compress_lines(raw[at:at + LINE], size)) for at in range(0, len(raw), LINE)]
    for known in (None, len(raw)):
        assert zvc.decompress(packed, size, raw_bytes=known).tobytes() == raw


@pytest.mark.parametrize("size", ELEMENT_BYTES)
@given(data=st.data())
def test_bytes_are_those_of_the_reference(size: int, data: st.DataObject) -> None:
    check(data.draw(raws(size)), size)


@pytest.mark.parametrize("size", ELEMENT_BYTES)
def test_corners(size: int) -> None:
    """Also -0.0, NaN with payloads, denormals and infinity, which are no zeros and come back bit for bit."""
    for raw in corners(size):
        check(raw, size)
    for byte in range(size):
        check(bytes(LINE - size + byte) + b"\7" + bytes(size - 1 - byte), size)


@pytest.mark.parametrize("size", ELEMENT_BYTES)
def test_every_length_of_a_partial_line(size: int) -> None:
    for density in (0.0, 0.5, 1.0):
        for elements in range(1, 2 * LINE // size + 2):
            check(raw_bytes(elements, size, density, elements), size)


@pytest.mark.parametrize("size", ELEMENT_BYTES)
@pytest.mark.parametrize("density", [0.0, 0.4, 1.0])
def test_more_lines_than_are_worked_on_at_once(size: int, density: float) -> None:
    raw = raw_bytes((3 << 20) // size + 5, size, density, 1)
    packed = zvc.compress(raw, size)
    middle = (1 << 20) // LINE * LINE
    whole = zvc.line_packed_bytes(raw, size)
    before = int(whole[:middle // LINE].sum())
    part = reference.compress_lines(raw[middle:middle + 4096], size)
    assert packed[before:before + len(part)].tobytes() == part
    assert packed.size == whole.sum()
    assert zvc.decompress(packed, size).tobytes() == raw


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "uint8", "int16", "int32", "int64", "bool",
                                   "complex64", ">f4", "V3", [("a", "f4"), ("b", "i2")]])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 0, 2), (4, 5), (2, 3, 4, 5)])
def test_any_type_and_shape(dtype: Any, shape: tuple[int, ...]) -> None:
    kind = np.dtype(dtype)
    count = int(np.prod(shape)) * kind.itemsize
    array = np.frombuffer(raw_bytes(count, 1, 0.6, count), kind, int(np.prod(shape))) if count else np.zeros(0, kind)
    array = array.reshape(shape)
    assert zvc.decompress(zvc.compress(array, 1), 1).tobytes() == array.tobytes()
    if kind.itemsize % 4 == 0:
        assert zvc.decompress(zvc.compress(array, 4), 4).tobytes() == array.tobytes()


def test_arrays_are_taken_in_c_order() -> None:
    array = np.arange(6 * 10 * 14, dtype=np.float32).reshape(6, 10, 14)
    for view in (array.T, array[::2, ::-1], array[:, 3:7, ::3], np.asfortranarray(array), array[1:, 1:, 1:]):
        assert zvc.compress(view, 4).tobytes() == zvc.compress(view.tobytes(), 4).tobytes()


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda raw: memoryview(raw).cast("f"),
                                  lambda raw: np.frombuffer(b"x" + raw, np.uint8)[1:],
                                  lambda raw: memoryview(bytes(byte for pair in zip(raw, raw, strict=True)
                                                               for byte in pair))[::2]])
def test_any_buffer(kind: Any) -> None:
    raw = raw_bytes(100, 4, 0.5, 3)
    packed = zvc.compress(kind(raw), 4)
    assert packed.tobytes() == reference.compress_lines(raw, 4)
    assert zvc.decompress(kind(packed.tobytes()), 4).tobytes() == raw


def test_input_is_not_changed() -> None:
    raw = np.frombuffer(raw_bytes(1000, 4, 0.5, 3), np.uint8).copy()
    packed = zvc.compress(raw, 4)
    digests = [hashlib.sha256(array.tobytes()).digest() for array in (raw, packed)]
    raw.flags.writeable = packed.flags.writeable = False
    zvc.decompress(packed, 4)
    zvc.compress(raw, 4)
    assert digests == [hashlib.sha256(array.tobytes()).digest() for array in (raw, packed)]


def test_empty_is_empty() -> None:
    for size in ELEMENT_BYTES:
        assert zvc.compress(b"", size).size == zvc.decompress(b"", size).size == zvc.packed_bytes(b"", size) == 0
        assert zvc.decompress(b"", size, raw_bytes=0).size == zvc.line_packed_bytes(b"", size).size == 0


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: zvc.compress(bytes(7), 4), ValueError, "the length of raw must be a multiple of the 4 bytes"),
    (lambda: zvc.packed_bytes(bytes(1), 2), ValueError, "the length of raw must be a multiple of the 2 bytes"),
    (lambda: zvc.line_packed_bytes(bytes(1), 2), ValueError, "the length of raw must be a multiple of the 2 bytes"),
    (lambda: zvc.compress(bytes(8), 3), ValueError, "element_bytes must be 1, 2 or 4, not 3"),
    (lambda: zvc.decompress(bytes(8), 32), ValueError, "element_bytes must be 1, 2 or 4, not 32"),
    (lambda: zvc.compress(bytes(8), WRONG_TYPE["text"]), TypeError, "element_bytes must be an integer, not '4'"),
    (lambda: zvc.compress(bytes(8), True), TypeError, "element_bytes must be an integer, not True"),
    (lambda: zvc.compress([0.0, 1.0], 4), TypeError, "raw must be an array or a buffer of bytes, not list"),
    (lambda: zvc.compress(np.array([None]), 4), TypeError, "raw must be an array of numbers, not of Python objects"),
    (lambda: zvc.decompress("text", 4), TypeError, "packed must be an array or a buffer of bytes, not str"),
    (lambda: zvc.decompress(b"", 4, raw_bytes=6), ValueError, "raw_bytes must be a multiple of the 4 bytes"),
    (lambda: zvc.decompress(b"", 4, raw_bytes=-4), ValueError, "raw_bytes must be 0 or more, not -4"),
    (lambda: zvc.decompress(b"", 4, raw_bytes=WRONG_TYPE["float"]), TypeError, "raw_bytes must be an integer, not 4.0"),
])
def test_mistakes_are_named(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
