"""Heads of files: every cut, every changed byte, and what is not allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cdma.golden.codec import blocks, files, lines
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.errors import Reason, StreamError

RAW = np.maximum(np.random.default_rng(5).standard_normal(300), 0).astype(np.float32)
FILES = {
    "blocks": (blocks.compress(RAW, Coding.FLOAT32, 512), {"block_bytes": 512}),
    "lines": (lines.compress(RAW, 4), {"element_bytes": 4}),
}


def file_of(form: str) -> bytes:
    stream, fields = FILES[form]
    return files.head_of(stream, RAW.nbytes, "float32", **fields).pack() + stream.tobytes()


@pytest.mark.parametrize("form", FILES)
def test_there_and_back(form: str) -> None:
    stream, fields = FILES[form]
    head, raw = files.expand(file_of(form))
    assert head == files.Head(RAW.nbytes, stream.size, head.crc32c, "float32", **fields)
    assert raw.tobytes() == RAW.tobytes()
    assert files.read_head(file_of(form)[:files.HEAD_BYTES]) == head


@pytest.mark.parametrize("form", FILES)
def test_every_cut_and_every_changed_byte_is_seen(form: str) -> None:
    whole = file_of(form)
    for length in range(len(whole)):
        with pytest.raises(ValueError) as caught:
            files.expand(whole[:length])
        assert isinstance(caught.value, StreamError) == (length >= 4)
    for place in range(len(whole)):
        with pytest.raises(ValueError) as caught:
            files.expand(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1:])
        assert isinstance(caught.value, StreamError) == (place >= 5)
    with pytest.raises(StreamError) as surplus:
        files.expand(whole + b"\0")
    assert surplus.value.reason is Reason.TRAILING_BYTES


def test_a_cut_at_a_block_is_seen() -> None:
    whole = file_of("blocks")
    second = list(blocks.headers(FILES["blocks"][0]))[1].offset
    assert blocks.decompress(whole[files.HEAD_BYTES:files.HEAD_BYTES + second], 512).size == 512
    with pytest.raises(StreamError, match="truncated data"):
        files.expand(whole[:files.HEAD_BYTES + second])


def test_an_empty_file_is_none_and_an_empty_tensor_has_a_head() -> None:
    with pytest.raises(ValueError, match="does not begin with the head"):
        files.expand(b"")
    head, raw = files.expand(files.head_of(b"", 0, block_bytes=4096).pack())
    assert (head.dtype, raw.size) == ("", 0)


def test_another_version_is_named() -> None:
    with pytest.raises(ValueError, match="has version 2; this one reads version 1"):
        files.read_head(files.MAGIC + b"\2" + bytes(59))


@pytest.mark.parametrize(("fields", "words"), [
    ({"element_bytes": 3}, "must be 0, 1, 2 or 4, not 3"), ({"block_bytes": 100}, "block_bytes must be 512 to 32768"),
    ({"element_bytes": 4, "block_bytes": 512}, "of a line stream must be 0, not 512"),
    ({"block_bytes": 512, "dtype": "x" * 33}, "at most 32 ASCII characters"),
    ({"block_bytes": 512, "dtype": "\u00e4"}, "at most 32 ASCII characters"),
])
def test_what_a_head_cannot_say(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        files.Head(0, 0, 0, **fields)
