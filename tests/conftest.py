"""What all tests share: hypothesis without deadlines, since simulations share the cores; which tests a usual run has,
and their order; the folder where what takes long to build is kept; the seed; and shards."""

import gc
import hashlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import settings

from synth.tools.yosys import Yosys
from verif.common.runner import lock

settings.register_profile("project", deadline=None, print_blob=True)
settings.load_profile("project")

# A design is a hundred thousand objects that stay; to look for garbage after every 700 takes a third of the time.
gc.set_threshold(200_000, 20, 50)

_HALVES = (("verif/engine", "verif/selftest", "verif", "docs"), ("synth", "hdl/generate", "cdma"))
"""Where the long tests are: each worker begins with one half of them. What needs simulations is behind what compiles
them, so that no worker waits for the other."""
_TESTS = Path(__file__).parent

_SAMPLED = ("hdl/common/", "hdl/codec/", "hdl/engine/", "hdl/selftest/", "golden/codec/")
_PART = 4
"""Where the tests of units and of formats are; a usual run has one in so many of the parameters of each."""

_WHOLE = ("window", "page", "write_back", "test_ring", "coalescer", "isolation", "watch", "crossing", "dual_clock",
          "link_clock", "crc32c", "checker", "parity", "protected", "test_buffers")
"""Parts of names of files among them that a usual run has whole: windows, page lists, write-back, isolation, the link's
clock, CRC, the check of descriptors, parity."""


def pytest_configure() -> None:
    """Refuse wrong variables before workers start, whose errors are traces of calls."""
    _shard(os.environ.get("CDMA_SHARD", "1/1"))
    _more_than_usual(os.environ.get("CDMA_REGRESSION", ""))


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


@pytest.fixture
def kept_synthesis(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the tests that ask for it, Yosys answers each question once a session, whichever worker asks: commands are
    tested with tables and with JSON, and cores alone and beside each other."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "synthesis"
    run = Yosys.run

    def kept(self: Yosys, script: str, inputs: Mapping[str, str | bytes], outputs: Sequence[str],
             about: str) -> dict[str, str]:
        files = {name: content if isinstance(content, str) else content.hex() for name, content in inputs.items()}
        key = hashlib.sha256(json.dumps([self.command, script, files, outputs]).encode()).hexdigest()
        file = folder / key
        with lock(file.with_suffix(".lock")):
            if not file.exists():
                file.write_text(json.dumps(run(self, script, inputs, outputs, about)))
        return json.loads(file.read_text())

    monkeypatch.setattr(Yosys, "run", kept)


def pytest_sessionfinish() -> None:
    """Write which lines of Python were run, where that is measured: xdist kills a worker that takes more than ten
    seconds to end, as one with gigabytes of designs does, and its measurement would be lost."""
    if "COVERAGE_PROCESS_START" in os.environ:
        from coverage import Coverage
        if (measured := Coverage.current()) is not None:
            measured.save()


def _shard(text: str) -> tuple[int, int]:
    """Which part of the tests, of how many; each has every n-th test, so that long ones are spread."""
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise pytest.UsageError(f"CDMA_SHARD must be I/N with I from 1 to N, not {text!r}")
    return int(part), int(parts)


def _more_than_usual(text: str) -> bool:
    """Whether the tests that are marked as extended are wanted."""
    if text not in ("", "extended", "full"):
        raise pytest.UsageError(f"CDMA_REGRESSION must be extended or full, not {text!r}: extended for the tests that "
                                "a usual run leaves out, full for all configurations and stimuli too")
    return bool(text)


def _sample(items: Sequence[pytest.Item]) -> None:
    """Mark three quarters of the parameters of each test of a unit as extended; one is left at least.

    A hash of the test's name chooses them: every fourth one would be the same value of a parameter that has four."""
    tests: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if (item.path.is_relative_to(_TESTS) and item.path.relative_to(_TESTS).as_posix().startswith(_SAMPLED)
                and not any(part in item.path.name for part in _WHOLE)):
            tests.setdefault((item.path, item.name.partition("[")[0]), []).append(item)
    for sets in tests.values():
        sets.sort(key=lambda item: hashlib.sha256(item.name.encode()).digest())
        for item in sets[-(-len(sets) // _PART):]:
            item.add_marker("extended")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of a usual run and of a shard, and give two workers an order.

    A usual run leaves out what is marked as extended, but for what the command line names. Two workers begin with one
    half of the tests each: long tests come first in both, and short ones last. What is left when one has ended is then
    short, and both end together."""
    _sample(items)
    named = any("::" in argument for argument in config.args)
    if not named and not _more_than_usual(os.environ.get("CDMA_REGRESSION", "")):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("extended")])
        items[:] = [item for item in items if not item.get_closest_marker("extended")]
    part, parts = _shard(os.environ.get("CDMA_SHARD", "1/1"))
    config.hook.pytest_deselected(items=[item for number, item in enumerate(items) if number % parts != part - 1])
    items[:] = items[part - 1::parts]
    rooms = [room for half in _HALVES for room in half]

    def rank(item: pytest.Item) -> int:
        place = item.path.relative_to(_TESTS).as_posix() if item.path.is_relative_to(_TESTS) else ""
        return next((number for number, room in enumerate(rooms) if place.startswith(f"{room}/")), len(rooms))

    items.sort(key=rank)
    if os.environ.get("PYTEST_XDIST_WORKER_COUNT") == "2":
        # As many short ones behind the first half as make it half of all.
        first = sum(rank(item) < len(_HALVES[0]) for item in items)
        short = sum(rank(item) == len(rooms) for item in items)
        behind = len(items) - min(max(len(items) // 2 - first, 0), short)
        items[first:] = [*items[behind:], *items[first:behind]]
