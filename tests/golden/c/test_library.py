"""The library as Python calls it: built once a machine, the same bytes as NumPy, and NumPy where it is not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cdma.golden.c import compiled, library
from cdma.golden.codec import blocks
from cdma.golden.reference.blocks import compress_blocks
from tests.golden.samples import CODED, raw_bytes


@pytest.fixture
def anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The library is not built yet; the folder where it is kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CDMA_CODEC", raising=False)
    library._library.cache_clear()
    yield tmp_path / "cdma"
    library._library.cache_clear()


def both(raw: bytes, coding: int) -> set[bytes]:
    """The streams of all codecs that are there, each read by all."""
    found = set()
    for name in library.CODECS if library.built() else ("numpy",):
        with library.use(name):
            found.add(blocks.compress(raw, coding).tobytes())
    for stream in list(found):
        found |= {compress_blocks(blocks.decompress(stream).tobytes(), coding, blocks.BLOCK_BYTES, True)}
    return found


@pytest.mark.parametrize("coding", CODED.values(), ids=CODED)
def test_bytes_of_c_are_those_of_numpy_and_of_the_reference(coding: int) -> None:
    assert len(both(raw_bytes(10_000, coding & 15, 0.4, 1), coding)) == 1


def test_it_is_built_once(anew: Path) -> None:
    assert library.available()
    (kept,) = anew.iterdir()
    assert kept.name.startswith("codec-") and kept.suffix == ".so"
    built = kept.stat().st_mtime_ns
    library._library.cache_clear()
    assert library.available() and [kept] == list(anew.iterdir()) and kept.stat().st_mtime_ns == built


def test_a_folder_that_cannot_be_written(anew: Path) -> None:
    anew.write_bytes(b"")
    assert len(both(raw_bytes(5000, 4, 0.4, 1), 0x14)) == 1
    assert library.available()


def test_a_file_that_is_no_library_is_not_taken(anew: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert library.available()
    (kept,) = anew.iterdir()
    # In another folder: a name that is loaded is not loaded again.
    other = tmp_path / "other/cdma"
    other.mkdir(parents=True)
    (other / kept.name).write_bytes(b"not a library")
    monkeypatch.setenv("XDG_CACHE_HOME", str(other.parent))
    library._library.cache_clear()
    # The one without versions for processors is built instead.
    assert library.available() and len(list(other.iterdir())) == 2


@pytest.mark.parametrize("compiler", ["none", "false"])
def test_without_a_compiler_numpy_codes(compiler: str, anew: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "COMPILERS", ("no-such-compiler",) if compiler == "none" else ("false",))
    assert not library.available()
    assert library.about() == "no C compiler"
    assert len(both(raw_bytes(5000, 2, 0.4, 1), 0x22)) == 1
    with pytest.raises(ValueError, match="the codec c needs a C compiler"), library.use("c"):
        pass


def test_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDMA_CODEC", "numpy")
    assert not library.available()
    monkeypatch.setenv("CDMA_CODEC", "numba")
    with pytest.raises(ValueError, match="CDMA_CODEC must be numpy or c, not 'numba'"):
        blocks.compress(np.zeros(4, np.uint8), 0x14)


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match="the codec must be numpy or c, not 'numba'"), library.use("numba"):
        pass
