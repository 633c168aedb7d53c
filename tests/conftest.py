"""What all tests share: hypothesis without deadlines, since simulations share the cores; the order of tests; the folder
where what takes long to build is kept; and the seed."""

import gc
import os
import secrets
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("project", deadline=None, print_blob=True)
settings.load_profile("project")

# A design is a hundred thousand objects that stay; to look for garbage after every 700 takes a third of the time.
gc.set_threshold(200_000, 20, 50)

_LONGEST_FIRST = ("verif/engine", "verif/selftest", "verif", "synth", "hdl/engine", "cdma")
_TESTS = Path(__file__).parent


@pytest.fixture(scope="session")
def build_dir() -> Path:
    """Where generated engines and compiled designs are kept from run to run."""
    return _TESTS.parent / "build" / "sim"


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed of every random choice: CDMA_SEED, a number or ``random``; 1 when not given."""
    text = os.environ.get("CDMA_SEED", "1")
    if text == "random":
        return secrets.randbelow(1 << 31)
    if not text.isdecimal():
        raise pytest.UsageError(f"CDMA_SEED must be a number or random, not {text!r}")
    return int(text)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first: workers that steal work from each other then end together, on short ones."""
    def rank(item: pytest.Item) -> int:
        place = item.path.relative_to(_TESTS).as_posix() if item.path.is_relative_to(_TESTS) else ""
        return next((number for number, room in enumerate(_LONGEST_FIRST) if place.startswith(f"{room}/")),
                    len(_LONGEST_FIRST))

    items.sort(key=rank)
