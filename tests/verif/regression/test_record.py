"""A run of the test suite is read from its JUnit file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cdma.verif.regression.record import (
    Room,
    Skipped,
    Suite,
    Verified,
    read_suite,
    read_verification,
)
from tools.record_regression import joined

_FILE = """<?xml version="1.0"?><testsuites><testsuite name="pytest" time="12.5">
<testcase classname="tests.hdl.common.test_fifo" name="a" time="1.25"/>
<testcase classname="tests.hdl.common.test_fifo.TestFull" name="b" time="1.0"><failure message="no"/></testcase>
<testcase classname="tests.verif.engine.test_engines" name="c" time="3"/>
<testcase classname="tests.test_rooms" name="d" time="0.1"><skipped message="OpenSTA is not installed"/></testcase>
</testsuite></testsuites>"""


def test_a_run_is_read(tmp_path: Path) -> None:
    file = tmp_path / "test.xml"
    file.write_text(_FILE)
    assert read_suite(file) == Suite(4, 1, (Skipped("OpenSTA is not installed", 1),), 12.5, (
        Room("hdl/common", 2, 2.2), Room("tests", 1, 0.1), Room("verif/engine", 1, 3.0)))


@pytest.mark.parametrize(("text", "says"), [(None, "does not exist"), ("<a", "is no JUnit file"), ("<a/>", "no test")])
def test_other_files_are_refused(text: str | None, says: str, tmp_path: Path) -> None:
    file = tmp_path / "test.xml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ValueError, match=says):
        read_suite(file)


def _verification(**changes: Any) -> str:
    tests = [{"name": "rings", "state": "passed", "seconds": 2.0, "cycles": 900, "said": ""}]
    outcomes = [{"step": "lint", "state": "passed", "seconds": 3.0, "tests": []},
                {"step": "transfers", "state": "passed", "seconds": 8.5, "tests": tests}]
    return json.dumps({"name": "cdma_tiny_engine", "simulator": "icarus", "outcomes": outcomes} | changes)


def test_a_verification_is_read(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(_verification())
    assert read_verification(file) == Verified("cdma_tiny_engine", "icarus", 2, 0, 1, 900, 12)


@pytest.mark.parametrize(("text", "says"), [
    (None, r"does not exist: run cdma verify PRESET --report"), ("{", r"is no results\.json of cdma verify"),
    ("{}", "'outcomes'"), ("[]", r"is no results\.json")])
def test_other_results_are_refused(text: str | None, says: str, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ValueError, match=says):
        read_verification(file)


def test_presets_in_icarus_add_up() -> None:
    first = joined({"test": 1}, {"icarus": {"a": 1, "b": 1}})
    assert first == {"test": 1, "icarus": {"a": 1, "b": 1}}
    assert joined(first, {"icarus": {"b": 2}}) == {"test": 1, "icarus": {"a": 1, "b": 2}}
    assert joined(first, {"test": 2}) == {"test": 2, "icarus": {"a": 1, "b": 1}}
    assert joined(joined(None, {"stamps": {"test": 1}}), {"stamps": {"icarus": 2}}) == {
        "stamps": {"test": 1, "icarus": 2}}


def test_shards_of_the_regression_add_up() -> None:
    first = joined({"test": 1}, {"regression": {"1/2": 1}})
    assert joined(first, {"regression": {"2/2": 2}}) == {"test": 1, "regression": {"1/2": 1, "2/2": 2}}
    assert joined(first, {"regression": {"3/4": 3}}) == {"test": 1, "regression": {"3/4": 3}}
    assert joined(first, {"test": 4}) == {"test": 4, "regression": {"1/2": 1}}


@pytest.mark.parametrize("words", [[], ["test"], ["test", "a.xml", "1/2"], ["regression", "a.xml", "0/2"], ["icarus"]])
def test_other_words_are_answered_with_the_usage(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "tools/record_regression.py", *words], capture_output=True, text=True,
                          check=False, cwd=Path(__file__).resolve().parents[3])
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ")


@pytest.mark.parametrize(("changes", "code", "says"), [
    ({"simulator": "verilator"}, 2, "cdma_tiny_engine was verified in verilator: use cdma verify --simulator icarus\n"),
    ({"outcomes": [{"state": "not run", "seconds": 0, "tests": []}]}, 1,
     "1 of 1 steps failed, so nothing is recorded\n")])
def test_other_simulators_and_gaps_are_not_recorded(changes: dict[str, Any], code: int, says: str,
                                                    tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(_verification(**changes))
    done = subprocess.run([sys.executable, "tools/record_regression.py", "icarus", str(file)], capture_output=True,
                          text=True, check=False, cwd=Path(__file__).resolve().parents[3])
    assert (done.returncode, done.stderr) == (code, says)


def test_a_run_with_failures_is_not_recorded(tmp_path: Path) -> None:
    file = tmp_path / "test.xml"
    file.write_text(_FILE)
    done = subprocess.run([sys.executable, "tools/record_regression.py", "test", str(file)], capture_output=True,
                          text=True, check=False, cwd=Path(__file__).resolve().parents[3])
    assert done.returncode == 1
    assert done.stderr == "1 of 4 tests failed, so nothing is recorded\n"
