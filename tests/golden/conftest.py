"""What codes block streams, each built once a session."""

from __future__ import annotations

import pytest

from tests.golden.implementations import Codec, Numpy, build


@pytest.fixture(scope="session")
def codec(tmp_path_factory: pytest.TempPathFactory) -> Codec:
    """The C library as users compile it."""
    return Codec(build(tmp_path_factory.mktemp("codec")))


@pytest.fixture(scope="session")
def portable_codec(tmp_path_factory: pytest.TempPathFactory) -> Codec:
    """With the loads and stores of processors that are not little-endian."""
    return Codec(build(tmp_path_factory.mktemp("portable"), "-O1", "-DCDMA_CODEC_LITTLE_ENDIAN=0"))


@pytest.fixture(scope="session", params=["numpy", "c"])
def coder(request: pytest.FixtureRequest) -> Numpy | Codec:
    """Tests that use it run once with the golden model in NumPy and once with the C library."""
    return Numpy() if request.param == "numpy" else request.getfixturevalue("codec")
