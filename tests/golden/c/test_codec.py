"""The C library beside its streams, which are compared in tests/golden/codec: bounds, CRC, heads of files."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from cdma.golden.codec import files
from cdma.golden.reference import blocks as reference
from tests.docs.pages import ROOT
from tests.golden.implementations import Codec, Head
from tests.golden.samples import CODED

SIZE = 512


def test_crc(codec: Codec) -> None:
    assert codec.crc(b"123456789") == 0xE3069283
    content = random.Random(1).randbytes(50)
    for cut in range(len(content)):
        assert codec.crc(content[:cut]) == reference.crc(content[:cut])
        assert codec.crc(content[cut:], codec.crc(content[:cut])) == reference.crc(content)


def test_bound_suffices_for_the_longest_streams(codec: Codec) -> None:
    for coding in CODED.values():
        for length in (0, 4, 124, 128, 508, 512, 516, 1028):
            raw = bytes(range(1, 255))[:251] * 9
            for fallback in (True, False):
                longest = len(codec.compress(raw[:length], coding, SIZE, fallback))
                assert longest <= codec.bound(length, SIZE, fallback)
    assert codec.bound(1027, SIZE) == 1028 + 3 * 4
    assert codec.bound(100, 500) == codec.bound(2 ** 64 - 8, SIZE) == 0


def test_every_status_has_a_sentence(codec: Codec) -> None:
    """Statuses of malformed streams are the reasons of the page, and their sentences begin with them."""
    page = (ROOT / "docs/formats.md").read_text(encoding="utf-8").split("## Block stream")[1]
    table = page.split("### What is malformed")[1].split("###")[0]
    reasons = set(re.findall(r"^\| ([\w ]+) \|", table, re.MULTILINE)) - {"reason"}
    names = codec.names
    assert {codec.text(value).partition(":")[0] for value in names if value >= 16} == reasons
    assert {names[value].replace("_", " ").lower() for value in names if value >= 16} == set(map(str.lower, reasons))
    assert all(codec.text(value) != codec.text(99) for value in names)


@pytest.mark.parametrize("variant", ["codec", "portable_codec"])
@pytest.mark.parametrize("fields", [
    {"dtype": "float32", "block_bytes": 512}, {"dtype": "", "block_bytes": 32768},
    {"dtype": "x" * 32, "element_bytes": 2},
], ids=["blocks", "largest", "lines"])
def test_heads_of_files(variant: str, fields: dict[str, Any], request: pytest.FixtureRequest) -> None:
    codec: Codec = request.getfixturevalue(variant)
    stream = random.Random(1).randbytes(99)
    head = files.head_of(stream, (1 << 40) + 6, **fields).pack()
    found = codec.read_head(head + stream)
    assert isinstance(found, Head)
    assert (found.stream.bytes, found.stream.packed_bytes, found.stream.raw_bytes) == (None, 99, (1 << 40) + 6)
    assert (found.stream.block_bytes, found.element_bytes) == (fields.get("block_bytes", 0),
                                                               fields.get("element_bytes", 0))
    assert (found.stream.coding, found.type, found.crc32c) == (-1, fields["dtype"].encode(), codec.crc(stream))
    assert codec.write_head(found) == head


def test_wrong_heads_of_files(codec: Codec) -> None:
    head = files.head_of(b"", 0, "int8", block_bytes=4096).pack()
    for length in range(len(head)):
        assert codec.read_head(head[:length]) == ("TRUNCATED_HEADER" if length >= 5 else "NO_HEAD")
    for place in range(len(head)):
        wrong = head[:place] + bytes([head[place] ^ 1]) + head[place + 1:]
        assert codec.read_head(wrong) == ("CRC_MISMATCH" if place >= 5 else "NO_HEAD")
    for element, block in ((0, 0), (0, 384), (0, 576), (0, 32896), (3, 0), (8, 0), (4, 4096)):
        fields = head[:5] + bytes([element]) + block.to_bytes(2, "little") + head[8:60]
        assert codec.read_head(fields + codec.crc(fields).to_bytes(4, "little")) == "BAD_BLOCK_BYTES"
    found = codec.read_head(head)
    assert isinstance(found, Head)
    found.stream.raw_bytes = -1
    assert codec.write_head(found) == "BAD_RAW_BYTES"
    found.stream.block_bytes = 100
    assert codec.write_head(found) == "BAD_BLOCK_BYTES"
