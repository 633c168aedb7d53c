"""Malformed line streams: which reason, at which byte, in which line; and that nothing else can happen."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.golden.codec import lines as zvc
from cdma.golden.codec.errors import Reason, StreamError
from cdma.golden.reference import lines as reference
from tests.golden.samples import ELEMENT_BYTES, damaged, outcome, raw_bytes, raws

ONES, NONE = b"\xff" * 4, bytes(4)
DENSE = ONES + b"x" * 128

CASES = [
    # without raw length: stream, reason, byte, line
    (b"\1", None, Reason.TRUNCATED_TAG, 0, 0),
    (DENSE + b"\1\2\3", None, Reason.TRUNCATED_TAG, 132, 1),
    (NONE * 3 + b"\0", None, Reason.TRUNCATED_TAG, 12, 3),
    (ONES, None, Reason.TRUNCATED_DATA, 0, 0),
    (b"\1\0\0\0", None, Reason.TRUNCATED_DATA, 0, 0),
    (NONE + b"\3\0\0\x80" + b"xxxx", None, Reason.TRUNCATED_DATA, 4, 1),
    (ONES + b"xx", None, Reason.TRUNCATED_DATA, 0, 0),
    (DENSE + ONES + b"xxxxyy", None, Reason.TRAILING_BYTES, 140, 1),
    (NONE + b"\xfe\xff\xff\xff" + b"z", None, Reason.TRAILING_BYTES, 8, 1),
    # with raw length
    (b"", 4, Reason.TRUNCATED_TAG, 0, 0),
    (NONE, 256, Reason.TRUNCATED_TAG, 4, 1),
    (NONE + b"\0\0", 256, Reason.TRUNCATED_TAG, 4, 1),
    (NONE + b"\0\0", 384, Reason.TRUNCATED_TAG, 4, 1),
    (DENSE + ONES + b"xxxx", 256, Reason.TRUNCATED_DATA, 132, 1),
    (DENSE[:-1], 128, Reason.TRUNCATED_DATA, 0, 0),
    (DENSE[:-1], 256, Reason.TRUNCATED_DATA, 0, 0),
    (ONES + b"xxxx", 8, Reason.TRUNCATED_DATA, 0, 0),
    (ONES + b"xxxxy", 8, Reason.TRUNCATED_DATA, 0, 0),
    (ONES + b"xxxxy", 4, Reason.TRAILING_BYTES, 8, 0),
    (DENSE + NONE, 128, Reason.TRAILING_BYTES, 132, 0),
    (DENSE + b"y", 128, Reason.TRAILING_BYTES, 132, 0),
    (b"y", 0, Reason.TRAILING_BYTES, 0, 0),
    (DENSE + b"\1\0\0\0xxxx", 132, Reason.BAD_TAG, 132, 1),
    (b"\xff\xff\xff\x7fxxxx", 4, Reason.BAD_TAG, 0, 0),
]


@pytest.mark.parametrize(("stream", "raw", "reason", "offset", "line"), CASES)
def test_reason_byte_and_line(stream: bytes, raw: int | None, reason: Reason, offset: int, line: int) -> None:
    with pytest.raises(StreamError) as caught:
        zvc.decompress(stream, 4, raw_bytes=raw)
    error = caught.value
    assert (error.reason, error.offset, error.line, error.block) == (reason, offset, line, None)
    assert str(error) == f"{reason.value} at line {line}, byte {offset}: expected {error.expected}"
    assert isinstance(error, ValueError)


def test_every_reason_of_lines_has_a_case() -> None:
    assert {case[2] for case in CASES} == {Reason.TRUNCATED_TAG, Reason.TRUNCATED_DATA, Reason.TRAILING_BYTES,
                                           Reason.BAD_TAG}


@pytest.mark.parametrize(("stream", "raw", "expected"), [
    (b"\1", None, "a tag of 4 bytes, found 1"),
    (ONES + b"xx", None, "128 bytes of elements after the tag, found 2"),
    (ONES + b"xxxxyy", None, "elements of 4 bytes, found 2 left over"),
    (DENSE + b"y", 128, "the end after 128 raw bytes, found 1 more bytes"),
    (b"\xff\xff\xff\x7fxxxx", 4, "ones in the tag from bit 1 on, found 0x7fffffff"),
    (b"abc", 0, "no bytes, found 3"),
])
def test_message_says_what_was_expected(stream: bytes, raw: int | None, expected: str) -> None:
    with pytest.raises(StreamError) as caught:
        zvc.decompress(stream, 4, raw_bytes=raw)
    assert caught.value.expected == expected


def test_error_survives_a_process() -> None:
    error = StreamError(Reason.BAD_TAG, 7, "this", 1, 2)
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) == "bad tag at block 2, line 1, byte 7: expected this"
    assert (copy.reason, copy.offset, copy.expected, copy.line, copy.block) == (Reason.BAD_TAG, 7, "this", 1, 2)


@pytest.mark.parametrize("size", ELEMENT_BYTES)
@given(data=st.data())
def test_damaged_stream_as_the_reference_has_it(size: int, data: st.DataObject) -> None:
    raw = data.draw(raws(size, 1500))
    stream = data.draw(damaged(reference.compress_lines(raw, size)))
    for known in (None, len(raw)):
        assert outcome(zvc.decompress, stream, size, raw_bytes=known) \
            == outcome(reference.decompress_lines, stream, size, known)


@pytest.mark.parametrize("size", ELEMENT_BYTES)
@given(stream=st.binary(max_size=700), lines=st.integers(0, 9))
def test_random_bytes_as_the_reference_has_them(size: int, stream: bytes, lines: int) -> None:
    for known in (None, lines * 128, lines * 100):
        assert outcome(zvc.decompress, stream, size, raw_bytes=known) \
            == outcome(reference.decompress_lines, stream, size, known)


@pytest.mark.parametrize("size", ELEMENT_BYTES)
def test_cut_and_flipped_at_every_byte(size: int) -> None:
    raw = raw_bytes(300 // size, size, 0.5, 9)
    stream = reference.compress_lines(raw, size)
    for place in range(len(stream)):
        flipped = bytearray(stream)
        flipped[place] ^= 1 << place % 8
        for bad in (stream[:place], bytes(flipped), stream + stream[:place + 1]):
            for known in (None, len(raw)):
                assert outcome(zvc.decompress, bad, size, raw_bytes=known) \
                    == outcome(reference.decompress_lines, bad, size, known)


@pytest.mark.parametrize("size", ELEMENT_BYTES)
@given(data=st.data())
def test_what_decodes_without_length_is_unambiguous(size: int, data: st.DataObject) -> None:
    """What comes out packs to the same bytes again, unless a zero was sent as an element."""
    stream = data.draw(damaged(reference.compress_lines(data.draw(raws(size, 800)), size)))
    raw = outcome(zvc.decompress, stream, size)
    if isinstance(raw, bytes):
        assert zvc.decompress(stream, size, raw_bytes=len(raw)).tobytes() == raw
        assert zvc.packed_bytes(raw, size) <= len(stream)
        assert zvc.decompress(zvc.compress(raw, size), size).tobytes() == raw


@pytest.mark.parametrize("size", ELEMENT_BYTES)
def test_nothing_beyond_the_stream_is_read(size: int) -> None:
    """The same bytes in the middle of others give the same result."""
    rng = np.random.default_rng(4)
    stream = reference.compress_lines(raw_bytes(2000 // size, size, 0.5, 1), size)
    for end in range(0, len(stream), 7):
        around = rng.integers(0, 256, len(stream) + 64, dtype=np.uint8)
        around[32:32 + end] = np.frombuffer(stream[:end], np.uint8)
        assert outcome(zvc.decompress, around[32:32 + end], size) == outcome(zvc.decompress, stream[:end], size)
