"""Malformed block streams: which reason, at which byte, in which block and line; and that nothing else can happen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.golden.codec import blocks
from cdma.golden.codec.crc32c import crc32c
from cdma.golden.codec.errors import Reason, StreamError
from cdma.golden.reference import blocks as reference
from cdma.golden.reference.lines import MalformedError
from tests.golden.implementations import Codec, Fault, Numpy, block_of, expected
from tests.golden.samples import (
    CODED,
    ELEMENT_BYTES,
    EXPONENTS,
    damaged,
    floats,
    free_payload,
    outcome,
    raw_bytes,
    raws,
)

by_coding = pytest.mark.parametrize("coding", CODED.values(), ids=CODED)
SIZE = 512
RAW = b"y" * SIZE
ZEROS = (4, bytes(16))
"""A block of zeros: four tags."""


def stream_of(*parts: tuple[int, bytes], first: int = 0) -> bytes:
    """Blocks of given coding and payload, padded and numbered."""
    return b"".join(len(payload).to_bytes(2, "little") + bytes([coding, number % 256]) + payload
                    + bytes(-len(payload) % 4) for number, (coding, payload) in enumerate(parts, first))


def changed(stream: bytes, place: int, value: int) -> bytes:
    return stream[:place] + bytes([value]) + stream[place + 1:]


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


FIELDS = (0x00, 0x01, 0x02, 0x04, 0x11, 0x12, 0x14, 0x22, 0x24, 0x91, 0x92, 0x94, 0xA2, 0xA4)
LINE = b"\xff" * 4 + b"x" * 128
GOOD = stream_of(ZEROS, (0, RAW), (0, b"abc"))

# Stream, options, and reason, byte, line and block of the fault.
CASES: list[tuple[str, bytes, dict[str, Any], tuple[Reason, int, int | None, int | None]]] = [
    ("header cut", GOOD + b"\4\0", {"raw_bytes": 3 * SIZE}, (Reason.BAD_LENGTH, 536, None, 2)),
    ("header cut after a full block", stream_of(ZEROS) + b"\4\0", {}, (Reason.TRUNCATED_HEADER, 20, None, 1)),
    ("last block missing", stream_of(ZEROS), {"raw_bytes": 600}, (Reason.TRUNCATED_HEADER, 20, None, 1)),
    ("coding 3", stream_of(ZEROS, (3, RAW)), {}, (Reason.BAD_CODING, 22, None, 1)),
    ("coding 2 where 4 is asked for", stream_of(ZEROS, (2, bytes(32))), {"coding": 4},
     (Reason.BAD_CODING, 22, None, 1)),
    ("coding 4 of five bytes", stream_of((4, b"\xff" * 4 + b"xxxx")), {"raw_bytes": 5},
     (Reason.BAD_CODING, 2, None, 0)),
    ("sequence", stream_of(ZEROS, ZEROS, first=1), {}, (Reason.WRONG_SEQUENCE, 3, None, 0)),
    ("block lost", stream_of(ZEROS) + stream_of(ZEROS, first=2), {}, (Reason.WRONG_SEQUENCE, 23, None, 1)),
    ("empty payload", stream_of(ZEROS, (0, b"")), {}, (Reason.BAD_LENGTH, 20, None, 1)),
    ("raw block too long", stream_of((0, RAW + b"yyyy")), {}, (Reason.BAD_LENGTH, 0, None, 0)),
    ("raw block too short", stream_of((0, b"abc"), ZEROS), {}, (Reason.BAD_LENGTH, 0, None, 0)),
    ("raw block longer than is left", stream_of(ZEROS, (0, b"abcd")), {"raw_bytes": SIZE + 3},
     (Reason.BAD_LENGTH, 20, None, 1)),
    ("coded block too long", stream_of((4, bytes(529))), {}, (Reason.BAD_LENGTH, 0, None, 0)),
    ("tags missing", stream_of((4, bytes(12)), ZEROS), {}, (Reason.BAD_LENGTH, 0, None, 0)),
    ("fraction of an element", stream_of((0, b"abc")), {"coding": 2}, (Reason.BAD_LENGTH, 0, None, 0)),
    ("payload cut", stream_of(ZEROS, (0, RAW))[:-1], {}, (Reason.TRUNCATED_DATA, 24, None, 1)),
    ("padding cut", GOOD[:-1], {}, (Reason.TRUNCATED_DATA, 540, None, 2)),
    ("padding", changed(GOOD, len(GOOD) - 1, 9), {}, (Reason.BAD_PADDING, 543, None, 2)),
    ("padding inside", changed(stream_of((4, b"\1\0\0\0" + bytes(14)), ZEROS), 23, 1), {},
     (Reason.BAD_PADDING, 23, None, 0)),
    ("tag cut", stream_of((4, bytes(18)), (4, bytes(12) + b"\1\0\0\0" + b"xxxx")), {},
     (Reason.TRAILING_BYTES, 20, 3, 0)),
    ("tag cut inside", stream_of((4, LINE * 3 + b"\xff" * 3), ZEROS), {}, (Reason.TRUNCATED_TAG, 400, 3, 0)),
    ("line missing", stream_of((4, LINE * 3), ZEROS), {}, (Reason.TRUNCATED_TAG, 400, 3, 0)),
    ("line missing in the last full block", stream_of((4, b"\1" + bytes(15)), (4, b"\xfe\xff\xff\xff")), {},
     (Reason.TRUNCATED_TAG, 20, 3, 0)),
    ("elements missing", stream_of(ZEROS, (4, bytes(12) + b"\3\0\0\0xxxx"), ZEROS), {},
     (Reason.TRUNCATED_DATA, 36, 3, 1)),
    ("elements missing in the last block", stream_of(ZEROS, (4, bytes(4) + b"\3\0\0\0xxxx")), {},
     (Reason.TRUNCATED_DATA, 28, 1, 1)),
    ("line too many", stream_of((4, bytes(20)), ZEROS), {}, (Reason.TRAILING_BYTES, 20, 3, 0)),
    ("line too many in the last block", stream_of(ZEROS, (4, bytes(20))), {}, (Reason.TRAILING_BYTES, 40, 3, 1)),
    *((f"{left} bytes behind the last line of {8 * size} bits",
       stream_of((size, bytes(64 // size)), (size, bytes(64 // size + left))), {},
       (Reason.TRAILING_BYTES, 8 + 2 * 64 // size, 3, 1)) for size in ELEMENT_BYTES for left in (1, 2, 3)),
    ("bytes behind a line", stream_of((4, bytes(4) + b"\xfe\xff\xff\xff" + b"x")), {},
     (Reason.TRAILING_BYTES, 12, 1, 0)),
    ("tag of a known last line", stream_of((4, b"\1\0\0\0xxxx")), {"raw_bytes": 8}, (Reason.BAD_TAG, 4, 0, 0)),
    ("block too many", stream_of(ZEROS, ZEROS), {"raw_bytes": SIZE}, (Reason.TRAILING_BYTES, 20, None, 0)),
    ("byte too many", stream_of(ZEROS) + b"\0", {"raw_bytes": SIZE}, (Reason.TRAILING_BYTES, 20, None, 0)),
    ("no block wanted", stream_of(ZEROS), {"raw_bytes": 0}, (Reason.TRAILING_BYTES, 0, None, 0)),
    ("CRC", GOOD, {"crc": crc32c(GOOD) ^ 1}, (Reason.CRC_MISMATCH, len(GOOD), None, None)),
    ("short where it is whole", stream_of((0x94, b"\x04\2\0\0" + bytes(16)), ZEROS), {},
     (Reason.BAD_CODING, 2, None, 0)),
    ("whole where it is short", stream_of((0x14, bytes(16))), {"raw_bytes": 4}, (Reason.BAD_CODING, 2, None, 0)),
    ("short of no bytes", stream_of((0x94, bytes(8))), {}, (Reason.BAD_LENGTH, 4, None, 0)),
    ("short of a block", stream_of((0x94, b"\0\2\0\0" + bytes(16))), {}, (Reason.BAD_LENGTH, 4, None, 0)),
    ("short of part of an element", stream_of((0x94, b"\5\0\0\0" + bytes(4))), {}, (Reason.BAD_LENGTH, 4, None, 0)),
    ("short of other bytes than known", stream_of((0x94, b"\x08\0\0\0" + bytes(4))), {"raw_bytes": 4},
     (Reason.BAD_LENGTH, 4, None, 0)),
    ("tags first, tags cut", stream_of((0x94, b"\xfc\1\0\0" + bytes(12))), {}, (Reason.TRUNCATED_TAG, 20, None, 0)),
    ("tags first, data cut", stream_of((0x14, bytes(8) + b"\3" + bytes(7) + b"xxxx")), {},
     (Reason.TRUNCATED_DATA, 20, 2, 0)),
    ("tags first, data left", stream_of((0x14, bytes(16) + b"xxxx")), {}, (Reason.TRAILING_BYTES, 20, 3, 0)),
    ("tags first, missing element", stream_of((0x94, b"\4\0\0\0" + b"\2\0\0\0xxxx")), {}, (Reason.BAD_TAG, 8, 0, 0)),
    ("bases cut", stream_of((0x22, b"\x80\xff\xff\xff"), ZEROS), {}, (Reason.TRUNCATED_FACTS, 8, None, 0)),
    ("line header", stream_of((0x22, b"\xff\xff\x27\xff" + bytes(8)), ZEROS), {}, (Reason.BAD_FACTS, 6, 2, 0)),
    ("widths below zero", stream_of((0x22, b"\x50\xff\xff\xff\1\0\0\0" + bytes(64)), ZEROS), {},
     (Reason.BAD_FACTS, 8, 0, 0)),
    ("tag of a line cut", stream_of((0x22, b"\0\xff\xff\xff" + bytes(7)), ZEROS), {},
     (Reason.TRUNCATED_TAG, 15, None, 0)),
    ("group cut", stream_of((0x22, b"\x10\xff\xff\xff" + bytes(63)), ZEROS), {}, (Reason.TRUNCATED_DATA, 8, 0, 0)),
    ("group left", stream_of((0x22, b"\x10\xff\xff\xff" + bytes(65)), ZEROS), {}, (Reason.TRAILING_BYTES, 72, 3, 0)),
    ("dense where elements are missing", stream_of((0xA2, b"\2\0\0\0\x10\0\0\0\1")), {}, (Reason.BAD_TAG, 8, 0, 0)),
    ("width 7 with a base", block_of(0x22, bytes([0x87]) * 4 + bytes(4)), {}, (Reason.BAD_FACTS, 4, 0, 0)),
    ("widths below zero in the third line", block_of(0x22, bytes([0xFF, 0xFF, 0x41, 0xFF, 2, 0, 0, 0]) + bytes(8)), {},
     (Reason.BAD_FACTS, 8, 2, 0)),
    ("facts cut", block_of(0x22, bytes([0x82] * 4)), {}, (Reason.TRUNCATED_FACTS, 8, None, 0)),
    ("fewer line headers than lines", block_of(0xA2, (4000).to_bytes(4, "little") + bytes(20)), {"block": 4096},
     (Reason.TRUNCATED_FACTS, 28, None, 0)),
    ("tag of a line of float32 cut", block_of(0x24, bytes([2] * 4) + bytes(15)), {},
     (Reason.TRUNCATED_TAG, 23, None, 0)),
    ("data of a wide line cut", block_of(0x22, b"\x12\xff\xff\xff" + bytes(70)), {},
     (Reason.TRUNCATED_DATA, 8, 0, 0)),
    ("tag of a missing element", block_of(0xA4, b"\x04\0\0\0\0\0\0\0\2\0\0\0" + bytes(3)), {},
     (Reason.BAD_TAG, 12, 0, 0)),
    ("short, fraction", block_of(0x92, b"\3\0\0\0" + bytes(8)), {}, (Reason.BAD_LENGTH, 4, None, 0)),
    ("short, then another", block_of(0x94, b"\4\0\0\0" + bytes(4)) + bytes(4), {}, (Reason.BAD_CODING, 2, None, 0)),
    ("short, bytes left", block_of(0x94, b"\4\0\0\0\1\0\0\0" + bytes(5)), {}, (Reason.TRAILING_BYTES, 16, 0, 0)),
    ("lines that say they are short", block_of(0x81, bytes(16)), {}, (Reason.BAD_CODING, 2, None, 0)),
    ("exponents of bytes", block_of(0x21, bytes(16)), {}, (Reason.BAD_CODING, 2, None, 0)),
    ("first fault first", stream_of((4, bytes(20)), (9, RAW)), {"crc": 0}, (Reason.TRAILING_BYTES, 20, 3, 0)),
    ("header before its padding", changed(stream_of((9, b"abc")), 7, 1), {}, (Reason.BAD_CODING, 2, None, 0)),
]


@pytest.mark.parametrize(("stream", "options", "fault"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_reason_byte_line_and_block(coder: Numpy | Codec, stream: bytes, options: dict[str, Any],
                                    fault: tuple[Reason, int, int | None, int | None]) -> None:
    wanted, options = (fault[0].name, *fault[1:]), {"block": SIZE} | options
    if (crc := options.pop("crc", None)) is None:
        assert coder.decompress(stream, **options) == wanted == expected(stream, **options)
        return
    with pytest.raises(StreamError) as caught:
        blocks.decompress(stream, options["block"], crc=crc)
    error = caught.value
    assert (error.reason, error.offset, error.line, error.block) == fault


def test_every_reason_has_a_case() -> None:
    assert {case[3][0] for case in CASES} == set(Reason)


@pytest.mark.parametrize(("stream", "options", "message"), [
    (stream_of(ZEROS, (3, RAW)), {}, "bad coding at block 1, byte 22: expected a coding of "
     + ", ".join(f"{value:#04x}" for value in FIELDS) + ", found 0x03"),
    (stream_of(ZEROS) + stream_of(ZEROS, first=2), {},
     "wrong sequence at block 1, byte 23: expected sequence 1, found 2"),
    (stream_of((0, b"abc"), ZEROS), {}, "bad length at block 0, byte 0: expected a payload of 512 bytes, found 3"),
    (stream_of((4, bytes(20)), ZEROS), {},
     "trailing bytes at block 0, line 3, byte 20: expected the end after 512 raw bytes, found 4 more bytes"),
    (GOOD, {"crc": 1}, f"CRC mismatch at byte {len(GOOD)}: expected CRC-32C 00000001, found {crc32c(GOOD):08x}"),
    (GOOD[:-1], {}, "truncated data at block 2, byte 540: expected 4 bytes of payload and padding, found 3"),
])
def test_message_says_where_and_what_was_expected(stream: bytes, options: dict[str, Any], message: str) -> None:
    with pytest.raises(StreamError) as caught:
        blocks.decompress(stream, SIZE, **options)
    assert str(caught.value) == message


def test_headers_come_until_the_fault() -> None:
    hop = blocks.headers(changed(GOOD, 22, 7), SIZE)
    assert next(hop).number == 0
    with pytest.raises(StreamError, match="bad coding at block 1"):
        next(hop)


def test_headers_check_lengths_where_the_block_is_known() -> None:
    stream = stream_of((0, b"abc"), ZEROS)
    assert [one.payload_bytes for one in blocks.headers(stream)] == [3, 16]
    with pytest.raises(StreamError, match="bad length at block 0"):
        list(blocks.headers(stream, SIZE))


@by_coding
@settings(max_examples=100)
@given(data=st.data(), block=st.sampled_from([512, 640]), fallback=st.booleans())
def test_damaged_stream_as_the_reference_has_it(coder: Numpy | Codec, coding: int, data: st.DataObject, block: int,
                                                fallback: bool) -> None:
    size = coding & 15
    raw = data.draw(raws(size))
    stream = data.draw(damaged(reference.compress_blocks(raw, coding, block, fallback)))
    for known, asked in ((None, None), (len(raw), coding), (len(raw) + size, None), (max(len(raw) - size, 0), None)):
        assert coder.decompress(stream, block, known, asked) == expected(stream, block, known, asked)
    other = data.draw(st.sampled_from([512, 1024, 32768]))
    assert coder.decompress(stream, other) == expected(stream, other)
    assert list(coder.blocks(stream, block)) == skimmed(stream, block)
    if isinstance(coder, Codec):
        for number, part in enumerate(parts_of(stream, block)):
            assert coder.read_block(stream, block, number) == part


@pytest.mark.parametrize("size", EXPONENTS)
@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 30), data=st.data())
def test_damaged_facts(coder: Numpy | Codec, size: int, seed: int, data: st.DataObject) -> None:
    """The payload is damaged, the header is not; a short block gets its facts from a full one."""
    payload = data.draw(damaged(free_payload(size, SIZE // 128, seed)))
    short = data.draw(st.sampled_from([0, 4, 100, 384, SIZE - size, SIZE]))
    coding = EXPONENTS[size] | (0x80 if short else 0)
    stream = block_of(coding, (short.to_bytes(4, "little") if short else b"") + payload)
    assert coder.decompress(stream, SIZE) == expected(stream, SIZE)


@pytest.mark.parametrize("field", [0x11, 0x12, 0x14, 0x22, 0x24, 0x91, 0x92, 0x94, 0xA2, 0xA4])
@given(payload=st.binary(max_size=560), raw=st.integers(1, 520), headers=st.lists(st.integers(0, 255), max_size=4))
def test_random_payloads_as_the_reference_has_them(coder: Numpy | Codec, field: int, payload: bytes, raw: int,
                                                   headers: list[int]) -> None:
    word = raw.to_bytes(4, "little") if field & 0x80 else b""
    stream = block_of(field, word + bytes(headers) + payload)
    raw -= raw % (field & 7)
    for known in (None, raw):
        assert coder.decompress(stream, SIZE, known) == expected(stream, SIZE, known)


@given(stream=st.binary(max_size=300), raw=st.integers(0, 1200))
def test_random_bytes_as_the_reference_has_them(coder: Numpy | Codec, stream: bytes, raw: int) -> None:
    for known in (None, raw):
        assert coder.decompress(stream, SIZE, known) == expected(stream, SIZE, known)
    outcome(list, blocks.headers(stream))


@by_coding
def test_cut_and_changed_at_every_byte(coder: Numpy | Codec, coding: int) -> None:
    size = coding & 15
    raw = floats(1100 // size, size, 2)
    stream = reference.compress_blocks(raw, coding, SIZE, True)
    for place in range(len(stream)):
        bits = (1 << place % 8, 1, 0x80, 0xFF) if isinstance(coder, Codec) else (1 << place % 8,)
        for bad in (stream[:place], *(changed(stream, place, stream[place] ^ flip) for flip in bits)):
            for known in (None, len(raw)):
                assert coder.decompress(bad, SIZE, known) == expected(bad, SIZE, known)


@pytest.mark.parametrize("size", ELEMENT_BYTES)
def test_crc_tells_every_flip(size: int) -> None:
    stream = blocks.compress(raw_bytes(600 // size, size, 0.6, 9), size, SIZE)
    crc = crc32c(stream)
    for place in range(stream.size):
        flipped = changed(stream.tobytes(), place, int(stream[place]) ^ 1 << place % 8)
        with pytest.raises(StreamError):
            blocks.decompress(flipped, SIZE, crc=crc)


@pytest.mark.parametrize("fill", [0, 1, 0xFF])
def test_large_nonsense_is_refused_at_its_first_block(fill: int) -> None:
    """Work and memory follow from the blocks that are good, not from what a header or an argument claims."""
    nonsense = np.full(32 << 20, fill, np.uint8)
    for known in (None, 1 << 50):
        with pytest.raises(StreamError) as caught:
            blocks.decompress(nonsense, raw_bytes=known)
        assert caught.value.block == 0


@pytest.mark.parametrize("faulty", [0, 100, 5000, 8191])
def test_fault_among_many_blocks(faulty: int) -> None:
    """Faults of header and of lines, in the middle of what is worked on at once: the first one counts."""
    parts = [ZEROS] * 8192
    parts[faulty] = (4, bytes(12) + b"\1\0\0\0")
    fault = ("TRUNCATED_DATA", 20 * faulty + 16, 3, faulty)
    stream = stream_of(*parts, ZEROS)
    assert outcome(blocks.decompress, stream, SIZE) == fault
    if faulty + 50 < 8192:
        stream = changed(stream, 20 * (faulty + 50) + 2, 9)
        assert outcome(blocks.decompress, stream, SIZE) == fault
    stream = changed(stream, 20 * faulty + 3, (faulty + 1) % 256)
    assert outcome(blocks.decompress, stream, SIZE) == ("WRONG_SEQUENCE", 20 * faulty + 3, None, faulty)
