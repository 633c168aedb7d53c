"""Numbers in what commands print."""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from cdma.console.numbers import byte_size


@pytest.mark.parametrize(("text", "size"), [
    ("0", 0), ("4096", 4096), ("64K", 65536), ("64k", 65536), ("4M", 4 << 20), ("4MiB", 4 << 20), ("1.5G", 3 << 29),
    ("2 KB", 2048), ("1T", 1 << 40)])
def test_sizes(text: str, size: int) -> None:
    assert byte_size(text) == size


@pytest.mark.parametrize("text", ["", "M", "-1", "four", "1X", "nan", "inf"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=r"must be bytes, for instance 65536, 64K, 4M or 1\.5G, not"):
        byte_size(text)
