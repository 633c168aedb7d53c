"""A run of the test suite is read from its JUnit file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from verif.regression.record import Room, Skipped, Suite, read_suite

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


def test_a_run_with_failures_is_not_recorded(tmp_path: Path) -> None:
    file = tmp_path / "test.xml"
    file.write_text(_FILE)
    done = subprocess.run([sys.executable, "tools/record_regression.py", "test", str(file)], capture_output=True,
                          text=True, check=False, cwd=Path(__file__).resolve().parents[3])
    assert done.returncode == 1
    assert done.stderr == "1 of 4 tests failed, so nothing is recorded\n"
