"""Every example of docs/formats.md against the golden model, and the model's reasons against its tables."""

import numpy as np
import pytest

from cdma.golden.c import library
from cdma.golden.codec import blocks, crc32c, files
from cdma.golden.codec import lines as zvc
from cdma.golden.codec.coding import SHORT, Coding, coding_name
from cdma.golden.codec.errors import Reason
from cdma.golden.reference import blocks as reference
from tests.docs.pages import ROOT, Block, table
from tests.docs.pages import blocks as fenced

PAGE = ROOT / "docs/formats.md"
LINES = [block for block in fenced(PAGE) if block.info.startswith("zvc-")]
BLOCKS = [block for block in fenced(PAGE) if block.info.startswith("blocks-")]


def unhex(text: str) -> bytes:
    """Bytes of hexadecimal words; ``00*64`` stands for 64 of them."""
    content = b""
    for word in text.split():
        digits, _, times = word.partition("*")
        content += bytes.fromhex(digits) * int(times or 1)
    return content


def values(block: Block) -> dict[str, str]:
    """The named rows of an example."""
    return {name: words for name, _, words in (line.partition(" ") for line in block.body.splitlines())}


def element_bytes(block: Block) -> int:
    return int(block.info.split()[0].partition("-")[2]) // 8


def coding_of(block: Block) -> Coding:
    return Coding[block.info.split()[0].partition("-")[2].upper()]


def test_there_are_examples() -> None:
    assert len(LINES) >= 5
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("block", LINES, ids=lambda block: block.title)
def test_line_stream_example(block: Block) -> None:
    rows = values(block)
    raw, packed = unhex(rows["raw"]), unhex(rows["packed"])
    assert zvc.compress(raw, element_bytes(block)).tobytes() == packed
    assert zvc.decompress(packed, element_bytes(block)).tobytes() == raw
    assert zvc.packed_bytes(raw, element_bytes(block)) == len(packed)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.title)
def test_block_stream_example(block: Block) -> None:
    rows = values(block)
    raw, packed = unhex(rows["raw"]), unhex(rows["packed"])
    size = int(block.info.partition("block_bytes=")[2])
    assert reference.compress_blocks(raw, coding_of(block), size, True) == packed
    crc = int(rows["crc"], 16)
    assert crc32c.crc32c(packed) == crc
    for codec in library.CODECS if library.built() else ("numpy",):
        with library.use(codec):
            assert blocks.compress(raw, coding_of(block), size).tobytes() == packed
            assert blocks.decompress(packed, size, raw_bytes=len(raw), crc=crc).tobytes() == raw


def test_file_example() -> None:
    (block,) = (each for each in fenced(PAGE) if each.info.startswith("file-"))
    rows = {name: unhex(words) for name, words in values(block).items()}
    head = files.head_of(rows["packed"], len(rows["raw"]), block.info.partition("-")[2], block_bytes=512)
    assert blocks.compress(rows["raw"], Coding.ZVC32, 512).tobytes() == rows["packed"]
    assert head.pack() == rows["head"]
    found, raw = files.expand(rows["head"] + rows["packed"])
    assert (found, raw.tobytes()) == (head, rows["raw"])


def test_every_coding_has_an_example_and_a_row() -> None:
    assert {coding_of(block) for block in BLOCKS} == set(Coding) - {Coding.RAW, Coding.ZVC8}
    rows = [(values, names) for values, names, _ in table(PAGE, "coding | name | payload")]
    named = {int(value, 16): name for values, names in rows[:-1]
             for value, name in zip(values.split(", "), names.split(", "), strict=True)}
    assert named == {int(coding): coding_name(coding) for coding in Coding}
    short = {int(value, 16) for value in rows[-1][0].split(", ")}
    assert short == {coding | SHORT for coding in Coding if coding.sized}


def test_sizes_of_lines_are_those_of_the_table() -> None:
    rows = table(PAGE, "element | elements of a line")
    assert len(rows) == 3
    for element, elements, tag, longest in rows:
        size = int(element.split()[0]) // 8
        assert int(elements) == 128 // size
        assert zvc.packed_bytes(np.zeros(128, np.uint8), size) == int(tag.split()[0])
        assert zvc.packed_bytes(np.ones(128, np.uint8), size) == int(longest.split()[0])


@pytest.mark.parametrize("page", ["formats.md", "errors.md"])
def test_pages_name_every_reason_and_no_other(page: str) -> None:
    text = (PAGE.parent / page).read_text(encoding="utf-8")
    rows = [line.strip("|").split("|")[0].strip() for line in text.splitlines() if line.startswith("|")]
    named = {word for row in rows for word in row.split(", ")}
    reasons = {reason.value for reason in Reason}
    assert reasons <= named
    kinds = {reason.split()[0] for reason in reasons}
    assert {word for word in named if word.split()[0] in kinds} == reasons


def test_known_crc() -> None:
    assert f"{crc32c.crc32c(b'123456789'):08x}" in PAGE.read_text(encoding="utf-8")
