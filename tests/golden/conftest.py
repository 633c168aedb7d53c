"""The codec that a test runs with."""

from collections.abc import Iterator

import pytest

from cdma.golden.c.library import CODECS, built, use


@pytest.fixture(params=CODECS if built() else ("numpy",), scope="module")
def codec_in_use(request: pytest.FixtureRequest) -> Iterator[str]:
    """Tests that use it run once with each."""
    with use(request.param):
        yield request.param
