"""The C library of the block stream, compiled once a session."""

from __future__ import annotations

import pytest

from tests.golden.c.codec import Codec, build


@pytest.fixture(scope="session")
def codec(tmp_path_factory: pytest.TempPathFactory) -> Codec:
    """As users compile it."""
    return Codec(build(tmp_path_factory.mktemp("codec")))


@pytest.fixture(scope="session")
def portable_codec(tmp_path_factory: pytest.TempPathFactory) -> Codec:
    """With the loads and stores of processors that are not little-endian."""
    return Codec(build(tmp_path_factory.mktemp("portable"), "-O1", "-DCDMA_CODEC_LITTLE_ENDIAN=0"))
