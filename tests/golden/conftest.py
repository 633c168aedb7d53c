"""The inner loops that a test runs with."""

from collections.abc import Iterator

import pytest

from golden.kernels.choice import KERNELS, numba_installed, use

AVAILABLE = KERNELS if numba_installed() else ("numpy",)


@pytest.fixture(params=AVAILABLE, scope="module")
def inner_loops(request: pytest.FixtureRequest) -> Iterator[str]:
    """Tests that use it run once with each."""
    with use(request.param):
        yield request.param
