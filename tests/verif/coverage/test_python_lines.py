"""Lines of Python that tests run, in all processes that they start."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.verif.coverage.python_lines import python_results, run_tests

_PROGRAM = """\
import sys

def half(number):
    if number % 2:
        raise ValueError("odd")
    return number // 2

print(half(int(sys.argv[1])))
"""
_TEST = """\
import subprocess, sys

def test_half():
    done = subprocess.run([sys.executable, {program!r}, "{number}"], capture_output=True, text=True)
    assert done.stdout == "2\\n"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of one program, with a test that passes and one that fails, in a file each."""
    (tmp_path / "golden").mkdir()
    (tmp_path / "tests").mkdir()
    program = tmp_path / "golden" / "half.py"
    program.write_text(_PROGRAM, encoding="utf-8")
    for name, number in (("even", 4), ("odd", 5)):
        (tmp_path / "tests" / f"test_{name}.py").write_text(_TEST.format(program=str(program), number=number),
                                                            encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("part", "code", "hit", "holes"), [
    ((1, 1), 1, 6, ()), ((1, 2), 0, 5, (("golden/half.py", 1),)), ((2, 2), 1, 5, (("golden/half.py", 1),))])
def test_lines_of_processes_count(part: tuple[int, int], code: int, hit: int, holes: tuple[tuple[str, int], ...],
                                  project: Path) -> None:
    folder = project / "coverage"
    assert run_tests([project / "tests"], folder, part, project) == code
    result, = python_results([folder], root=project)
    assert (result.package, result.lines, result.hit, result.holes) == ("golden", 6, hit, holes)
