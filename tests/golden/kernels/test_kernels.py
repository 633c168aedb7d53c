"""Which inner loops run, and that those of NumPy and Numba do the same to the last byte, on bad streams too."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden.codec import lines as zvc
from golden.codec.headers import pack_headers
from golden.codec.layout import line_layout
from golden.kernels import choice as kernels
from golden.kernels import exponents_numpy, numpy_kernels
from tests.golden.samples import ELEMENT_BYTES, raw_bytes

COMPARED = [numpy_kernels]
if kernels.numba_installed():
    COMPARED.append(importlib.import_module("golden.kernels.numba_kernels"))


@pytest.mark.parametrize("size", ELEMENT_BYTES)
@pytest.mark.parametrize("density", [0.0, 0.4, 0.9, 1.0])
def test_pack(size: int, density: float) -> None:
    raw = np.frombuffer(raw_bytes(5 * 1024 // size, size, density, 2), np.uint8)
    coded = zvc.line_packed_bytes(raw, size).reshape(5, -1).sum(axis=1)
    coding = np.array([size, 0, size, size, 0])
    headers = pack_headers(np.where(coding == 0, 1024, coded), coding, 254)
    streams = set()
    for module in COMPARED:
        out = np.zeros(raw.size * 2 + 64, np.uint8)
        written = module.pack(raw, out, size, 1024, headers)
        assert out[:4].view("<u4")[0] == headers[0]
        assert not out[written:].any()
        lines = np.zeros(raw.size * 2 + 64, np.uint8)
        assert module.pack(raw, lines, size, 128) == coded.sum()
        streams.add((out[:written].tobytes(), lines.tobytes()))
    assert len(streams) == 1


@pytest.mark.parametrize("size", ELEMENT_BYTES)
@given(stream=st.binary(min_size=16, max_size=600), first=st.lists(st.integers(0, 150), min_size=1, max_size=5))
def test_any_bytes(size: int, stream: bytes, first: list[int]) -> None:
    """Places are the same for every stream; what is expanded, where all of it is there."""
    line = line_layout(size)
    content = np.frombuffer(stream, np.uint8)
    units = content[:content.size // size * size].view(line.dtype)
    starts = np.minimum(np.array(first), units.size - 1)
    found = []
    for module in COMPARED:
        places, end = module.walk(units, size)
        whole = places[:-1]
        raw = np.empty(whole.size * 128, np.uint8)
        module.expand(units, size, whole, whole + line.tag_units, raw)
        blocks = np.empty(starts.size * 512, np.uint8)
        ends = module.expand_blocks(units, size, starts, 4, blocks)
        inside = [number for number in range(starts.size) if ends[number] <= units.size]
        found.append((places.tolist(), end, raw.tolist(), [ends[number] for number in inside],
                      blocks.reshape(-1, 512)[inside].tolist()))
        assert all(ends[number] > units.size for number in range(starts.size) if number not in inside)
    assert all(one == found[0] for one in found)


def test_choice() -> None:
    assert kernels.kernels(1) is numpy_kernels
    with kernels.use("numpy"):
        assert kernels.kernels(kernels.NUMBA_BYTES) is numpy_kernels
    if kernels.numba_installed():
        assert kernels.kernels(kernels.NUMBA_BYTES).__name__ == "golden.kernels.numba_kernels"
        with kernels.use("numba"):
            assert kernels.kernels(1).__name__ == "golden.kernels.numba_kernels"
    assert kernels.kernels(1) is numpy_kernels


@pytest.fixture
def no_numba(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Numba cannot be imported."""
    monkeypatch.setitem(sys.modules, "numba", None)
    for name in ("compiled", "numba_kernels", "exponents_numba"):
        monkeypatch.delitem(sys.modules, f"golden.kernels.{name}", raising=False)
    kernels._compiled.cache_clear()
    yield
    kernels._compiled.cache_clear()


@pytest.mark.usefixtures("no_numba")
def test_without_numba() -> None:
    assert not kernels.numba_installed()
    assert kernels.kernels(kernels.NUMBA_BYTES) is numpy_kernels
    assert kernels.exponent_kernels(kernels.NUMBA_BYTES) is exponents_numpy
    with pytest.raises(ModuleNotFoundError, match=r"need Numba: install cdma-rtl\[fast\]"), kernels.use("numba"):
        pass


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match="kernels must be numpy or numba, not 'c'"), kernels.use("c"):
        pass


@pytest.mark.usefixtures("no_numba")
def test_numba_is_not_loaded_for_little() -> None:
    zvc.decompress(zvc.compress(bytes(1 << 16), 4), 4)
    assert kernels._compiled.cache_info().misses == 0
