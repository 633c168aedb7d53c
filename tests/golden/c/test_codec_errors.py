"""What the C library says of wrong arguments, and where outputs end; streams are compared in tests/golden/codec."""

from __future__ import annotations

import pytest

from cdma.golden.reference import blocks as reference
from tests.golden.implementations import Codec
from tests.golden.samples import CODINGS, floats

SIZE = 512


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
