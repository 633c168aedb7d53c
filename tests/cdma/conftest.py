"""How the tests call the command line: in this process, with what it printed caught."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cdma.__main__ import main

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Outcome:
    """Exit code and output of a call."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


@pytest.fixture
def cdma(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Call ``cdma`` with arguments in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        caught = capsys.readouterr()
        return Outcome(code, caught.out, caught.err)

    return call


@pytest.fixture
def fails(cdma: Callable[..., Outcome]) -> Callable[..., str]:
    """Call ``cdma`` with a mistake: it must say one line and nothing else, and return 2 (or ``code``)."""
    def call(*arguments: object, code: int = 2) -> str:
        outcome = cdma(*arguments)
        assert outcome.code == code, outcome
        assert outcome.out == ""
        assert outcome.err.startswith("cdma: error: "), outcome.err
        assert outcome.err.count("\n") == 1, outcome.err
        return outcome.err

    return call


@pytest.fixture(scope="session")
def build_dir() -> Path:
    """Folder of simulator builds, shared by all tests and by ``make``."""
    return ROOT / "build/sim"
