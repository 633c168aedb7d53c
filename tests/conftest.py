"""What all tests share: hypothesis without deadlines, since simulations share the cores; which tests a usual run has;
the folder where what takes long to build is kept; the seed; and shards."""

import gc
import hashlib
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import settings

from cdma.synth.tools.yosys import Yosys
from cdma.verif.common.runner import lock

settings.register_profile("project", deadline=None, print_blob=True)
settings.load_profile("project")

# A design is a hundred thousand objects that stay; to look for garbage after every 700 takes a third of the time.
gc.set_threshold(200_000, 20, 50)

# Benches and commands start Python hundreds of times, half of them for a second in which it would compile its modules.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

_TESTS = Path(__file__).parent


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


@pytest.fixture(scope="session")
def default_engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the default engine in ``rtl`` and what the command said in ``written.json``: it takes half a
    minute, and is generated once a session, whichever worker asks."""
    folder = _shared(tmp_path_factory) / "default_engine"
    with lock(folder.with_suffix(".lock")):
        if not folder.exists():
            new = folder.with_suffix(".new")
            new.mkdir()
            with (new / "written.json").open("w") as said:
                subprocess.run([sys.executable, "-m", "cdma", "generate", "-o", "rtl", "--json"], cwd=new, check=True,
                               stdout=said)
            new.rename(folder)
    return folder


def _shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the session, the same for all workers."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture
def kept_synthesis(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the tests that ask for it, Yosys answers each question once a session, whichever worker asks: commands are
    tested with tables and with JSON, and cores alone and beside each other."""
    folder = _shared(tmp_path_factory) / "synthesis"
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
    if "coverage" in sys.modules and (measured := sys.modules["coverage"].Coverage.current()) is not None:
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of a usual run and of a shard: a usual run leaves out what is marked as extended, but for what the
    command line names."""
    named = any("::" in argument for argument in config.args)
    usual = not named and not _more_than_usual(os.environ.get("CDMA_REGRESSION", ""))
    part, parts = _shard(os.environ.get("CDMA_SHARD", "1/1"))
    kept = [item for item in items if not (usual and item.get_closest_marker("extended"))][part - 1::parts]
    config.hook.pytest_deselected(items=sorted({*items} - {*kept}, key=lambda item: item.nodeid))
    items[:] = kept
