"""What the C library says of malformed streams and of wrong arguments: reason, byte, line and block."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.golden.reference import blocks as reference
from cdma.golden.reference.lines import MalformedError
from tests.golden.c.codec import CODINGS, Codec, Fault, block_of, expected
from tests.golden.c.tensors import EXPONENTS, floats, free_payload, raws
from tests.golden.samples import damaged

SIZE = 512
CODED = {name: coding for name, coding in CODINGS.items() if coding}
by_coding = pytest.mark.parametrize("coding", CODED.values(), ids=CODED)


class _Skimmer(reference.Reader):
    """The reference without payloads."""

    def expand(self, payload: bytes, coding: int, least: int, most: int) -> bytes:
        return b""


def skimmed(stream: bytes, block: int) -> list[Any]:
    """What a walk from header to header finds."""
    reader, found, at = _Skimmer(stream, block), [], 0
    while at < len(stream):
        try:
            _, after = reader.read_one(at, len(found), 0)
        except MalformedError as error:
            return [*found, error.fault]
        found.append((len(found), at, int.from_bytes(stream[at:at + 2], "little"), stream[at + 2], after))
        at = after
    return found


def parts_of(stream: bytes, block: int) -> list[bytes | Fault]:
    """What the blocks of a stream, each alone, hold; up to the first wrong header."""
    reader, found = reference.Reader(stream, block), []
    for number, at, *_ in (one for one in skimmed(stream, block) if isinstance(one[0], int)):
        try:
            found.append(reader.read_one(at, number, 0)[0])
        except MalformedError as error:
            found.append(error.fault)
    return found


@cache
def sample(coding: int, elements: int = 300) -> bytes:
    size = coding & 15
    raw = floats(elements, size, 2) if size > 1 else floats(elements // 2, 2, 2)
    return reference.compress_blocks(raw, coding, SIZE, True)


@by_coding
def test_every_cut(coding: int, codec: Codec) -> None:
    stream = sample(coding)
    for length in range(len(stream)):
        assert codec.decompress(stream[:length], SIZE) == expected(stream[:length], SIZE)


@by_coding
def test_every_byte_changed(coding: int, codec: Codec) -> None:
    stream = sample(coding, 200)
    for place in range(len(stream)):
        for bits in (1, 0x80, 0xFF):
            wrong = stream[:place] + bytes([stream[place] ^ bits]) + stream[place + 1:]
            assert codec.decompress(wrong, SIZE) == expected(wrong, SIZE)


@by_coding
@settings(max_examples=60)
@given(data=st.data())
def test_damaged_streams(coding: int, codec: Codec, data: st.DataObject) -> None:
    size = coding & 15
    raw = data.draw(raws(size, most=1500))
    block = data.draw(st.sampled_from([512, 640]))
    stream = data.draw(damaged(reference.compress_blocks(raw, coding, block, data.draw(st.booleans()))))
    known = data.draw(st.sampled_from([None, len(raw), len(raw) + size, max(len(raw) - size, 0), len(raw) + block]))
    asked = data.draw(st.sampled_from([None, coding]))
    assert codec.decompress(stream, block, known, asked) == expected(stream, block, known, asked)
    other = data.draw(st.sampled_from([512, 1024, 32768]))
    assert codec.decompress(stream, other) == expected(stream, other)
    assert list(codec.blocks(stream, block)) == skimmed(stream, block)
    for number, part in enumerate(parts_of(stream, block)):
        assert codec.read_block(stream, block, number) == part


@pytest.mark.parametrize("size", EXPONENTS)
@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 30), data=st.data())
def test_damaged_facts(size: int, codec: Codec, seed: int, data: st.DataObject) -> None:
    """The payload is damaged, the header is not; a short block gets its facts from a full one."""
    payload = data.draw(damaged(free_payload(size, SIZE // 128, seed)))
    short = data.draw(st.sampled_from([0, 4, 100, 384, SIZE - size, SIZE]))
    coding = EXPONENTS[size] | (0x80 if short else 0)
    stream = block_of(coding, (short.to_bytes(4, "little") if short else b"") + payload)
    assert codec.decompress(stream, SIZE) == expected(stream, SIZE)


@settings(max_examples=100)
@given(stream=st.binary(max_size=80), coding=st.sampled_from([0, 1, 4, 0x14, 0x91, 0x94, 0x22, 0xA2, 0xA4]))
def test_random_bytes(codec: Codec, stream: bytes, coding: int) -> None:
    assert codec.decompress(stream, SIZE) == expected(stream, SIZE)
    stream = block_of(coding, stream)
    assert codec.decompress(stream, 4096) == expected(stream, 4096)
    for known in (None, 4, 100, SIZE):
        assert codec.decompress(stream, SIZE, known) == expected(stream, SIZE, known)


def test_fewer_line_headers_than_lines(codec: Codec) -> None:
    stream = block_of(0xA2, (4000).to_bytes(4, "little") + bytes(20))
    assert codec.decompress(stream, 4096) == ("TRUNCATED_FACTS", 28, None, 0) == expected(stream, 4096)


CASES = {
    "bad facts: width 7 with a base": (block_of(0x22, bytes([0x87]) * 4 + bytes(4)), ("BAD_FACTS", 4, 0, 0)),
    "bad facts: widths": (block_of(0x22, bytes([0xFF, 0xFF, 0x41, 0xFF, 2, 0, 0, 0]) + bytes(8)),
                          ("BAD_FACTS", 8, 2, 0)),
    "truncated facts": (block_of(0x22, bytes([0x82] * 4)), ("TRUNCATED_FACTS", 8, None, 0)),
    "truncated tag, exponents": (block_of(0x24, bytes([2] * 4) + bytes(15)), ("TRUNCATED_TAG", 23, None, 0)),
    "truncated tag, tags first": (block_of(0x94, b"\x84\0\0\0" + bytes(7)), ("TRUNCATED_TAG", 15, None, 0)),
    "truncated data, exponents": (block_of(0x22, b"\x12\xff\xff\xff" + bytes(70)), ("TRUNCATED_DATA", 8, 0, 0)),
    "bad tag: dense": (block_of(0xA2, b"\x04\0\0\0\x10\0\0\0" + bytes(64)), ("BAD_TAG", 8, 0, 0)),
    "bad tag": (block_of(0xA4, b"\x04\0\0\0\0\0\0\0\2\0\0\0" + bytes(3)), ("BAD_TAG", 12, 0, 0)),
    "bad tag, tags first": (block_of(0x94, b"\x04\0\0\0\2\0\0\0" + bytes(4)), ("BAD_TAG", 8, 0, 0)),
    "short length 0": (block_of(0x94, bytes(8)), ("BAD_LENGTH", 4, None, 0)),
    "short length of a block": (block_of(0x94, b"\0\2\0\0" + bytes(16)), ("BAD_LENGTH", 4, None, 0)),
    "short length, fraction": (block_of(0x92, b"\3\0\0\0" + bytes(8)), ("BAD_LENGTH", 4, None, 0)),
    "short, then another": (block_of(0x94, b"\4\0\0\0" + bytes(4)) + bytes(4), ("BAD_CODING", 2, None, 0)),
    "trailing bytes": (block_of(0x94, b"\4\0\0\0\1\0\0\0" + bytes(5)), ("TRAILING_BYTES", 16, 0, 0)),
    **{f"{left} bytes behind the last line of {8 * size} bits":
       (block_of(size, bytes(64 // size + left)), ("TRAILING_BYTES", 4 + 64 // size, 3, 0))
       for size in (1, 2, 4) for left in (1, 2, 3)},
    "coding 0x81": (block_of(0x81, bytes(16)), ("BAD_CODING", 2, None, 0)),
    "coding 0x21": (block_of(0x21, bytes(16)), ("BAD_CODING", 2, None, 0)),
}


@pytest.mark.parametrize(("stream", "fault"), CASES.values(), ids=CASES)
def test_reason_and_place(stream: bytes, fault: Fault, codec: Codec) -> None:
    assert codec.decompress(stream, SIZE) == fault == expected(stream, SIZE)


def test_blocks_before_the_fault_are_valid(codec: Codec) -> None:
    raw = floats(300, 4, 3)
    stream = reference.compress_blocks(raw, 0x14, SIZE, True)
    assert codec.salvaged(stream[:-1], SIZE) == raw[:1024]


def test_one_block_alone(codec: Codec) -> None:
    raw = floats(300, 4, 3)
    stream = reference.compress_blocks(raw, 0x24, SIZE, True)
    stream = stream[:4] + b"\x87" + stream[5:]  # a line header that is not allowed
    assert codec.read_block(stream, SIZE, 0) == ("BAD_FACTS", 4, 0, 0)
    assert [codec.read_block(stream, SIZE, number) for number in (1, 2)] == [raw[512:1024], raw[1024:]]
    assert codec.read_block(stream, SIZE, 3) == ("NO_BLOCK", -1, None, None)
    assert codec.read_block(stream, SIZE, 2, capacity=175)[0] == "OUTPUT_TOO_SMALL"
    assert codec.read_at(stream, SIZE, 0, len(stream)) == ("NO_BLOCK", -1, None, None)
    assert codec.read_at(stream, SIZE, 1, 0) == ("WRONG_SEQUENCE", 3, None, 1)


def test_blocks_of_known_length(codec: Codec) -> None:
    stream = reference.compress_blocks(bytes(1000), 4, SIZE, True)
    assert [one[:2] for one in codec.blocks(stream, SIZE, 1000)] == [(0, 0), (1, 20)]
    assert list(codec.blocks(stream, SIZE, SIZE))[1:] == [("TRAILING_BYTES", 20, None, 0)]
    assert list(codec.blocks(stream, SIZE, 2000))[2:] == [("TRUNCATED_HEADER", 40, None, 2)]
    assert list(codec.blocks(b"", SIZE)) == []
    assert list(codec.blocks(b"", SIZE, 4)) == [("TRUNCATED_HEADER", 0, None, 0)]


@pytest.mark.parametrize("coding", CODINGS.values(), ids=CODINGS)
def test_outputs_too_small(coding: int, codec: Codec) -> None:
    raw = floats(300, 4, 3)
    stream = codec.compress(raw, coding, SIZE)
    assert isinstance(stream, bytes)
    for capacity in {0, 3, len(stream) // 2, len(stream) - 1}:
        assert codec.compress(raw, coding, SIZE, capacity=capacity) == "OUTPUT_TOO_SMALL"
    headers = [one[1] for one in codec.blocks(stream, SIZE)]
    for known in (None, len(raw)):
        for capacity, block in ((0, 0), (511, 0), (512, 1), (1199, 2)):
            fault = "OUTPUT_TOO_SMALL", headers[block], None, block
            assert codec.decompress(stream, SIZE, known, capacity=capacity) == fault


@pytest.mark.parametrize("block", [0, 384, 576, 32896, 2 ** 63])
def test_block_sizes_that_are_not_allowed(block: int, codec: Codec) -> None:
    assert codec.compress(b"", 1, block, capacity=0) == "BAD_BLOCK_BYTES"
    assert codec.decompress(b"", block, capacity=0)[0] == "BAD_BLOCK_BYTES"
    assert list(codec.blocks(b"", block)) == [("BAD_BLOCK_BYTES", -1, None, None)]


def test_arguments_that_are_not_allowed(codec: Codec) -> None:
    for coding in (-1, 3, 0x10, 0x21, 0x91, 0xA4, 256):
        assert codec.compress(b"", coding, SIZE) == "BAD_CODING_ARGUMENT"
    for coding in (-2, 3, 0x94):
        assert codec.decompress(b"", SIZE, coding=coding)[0] == "BAD_CODING_ARGUMENT"
    assert codec.compress(b"abc", 2, SIZE) == "BAD_RAW_BYTES"
    assert codec.decompress(b"", SIZE, 3, coding=0x12)[0] == "BAD_RAW_BYTES"
    assert codec.compress(b"", 1, SIZE, flags=2) == "BAD_FLAGS"
    assert set(codec.with_null_pointers()) == {"BAD_POINTER"}


def test_crc_of_a_stream(codec: Codec) -> None:
    assert codec.check_crc(b"123456789", 0xE3069283) == ("OK", -1, None, None)
    assert codec.check_crc(b"123456789", 0) == ("CRC_MISMATCH", 9, None, None)
