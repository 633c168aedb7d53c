"""How the tests of the self-test listen to it: compiled, run, and its text by run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cdma.verif.common import runner

Runs = list[tuple[list[str], dict[str, int]]]


@pytest.fixture
def listen(build_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Runs]:
    """Compiles Verilog, listens to its UART for some runs, and returns the lines of each with the lights behind it."""
    monkeypatch.syspath_prepend(Path(__file__).parent)

    def run(verilog: str, top: str, heading: str, **job: object) -> Runs:
        built = runner.build(verilog, top, simulator="verilator", build_dir=build_dir)
        report = runner.run(built, "uart_bench", folder=tmp_path, job=job)
        before, *texts = report["text"].split(f"\r\ncdma self-test, {heading}\r\n")
        assert before == "" and len(texts) == job["runs"]
        return [(text.removesuffix("\r\n").split("\r\n"), lights)
                for text, lights in zip(texts, report["lights"], strict=True)]

    return run
