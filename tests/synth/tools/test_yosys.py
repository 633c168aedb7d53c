"""Yosys: which one is taken, which are refused, and what its errors look like."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.synth.tools import yosys
from cdma.synth.tools.yosys import YosysError


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Name a program in ``$YOSYS`` that says ``version`` and otherwise runs a shell script."""
    def name(version: str, script: str = "exit 0") -> str:
        program = tmp_path / "yosys"
        program.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{version}"; exit 0; fi\n{script}\n')
        program.chmod(0o755)
        monkeypatch.setenv("YOSYS", str(program))
        return str(program)

    return name


def test_the_one_that_is_named_is_taken(named) -> None:
    program = named("Yosys 0.48 (git sha1 1234, made up)")
    stages: list[str] = []
    found = yosys.find(lambda stage, done, total: stages.append(stage))
    assert found == yosys.Yosys((program,), "Yosys 0.48 (git sha1 1234, made up)")
    assert stages == ["starting Yosys (its first start takes a minute or two)"]


def test_one_is_there_without_naming_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("YOSYS", raising=False)
    assert yosys.find().version.startswith("Yosys 0.")


@pytest.mark.parametrize(("version", "why"), [
    ("Yosys 0.47 (git sha1 1234)", "is Yosys 0.47, older than 0.48"), ("something else", "is not a working Yosys")])
def test_refused(named, version: str, why: str) -> None:
    program = named(version)
    with pytest.raises(YosysError) as caught:
        yosys.find()
    assert str(caught.value).startswith(f"synthesis needs Yosys 0.48 or newer, but {program} {why}: pip install")


def test_a_name_that_is_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YOSYS", str(tmp_path / "nothing"))
    with pytest.raises(YosysError, match="nothing cannot be started"):
        yosys.find()


def test_files_go_in_and_out_of_a_folder_that_goes_away(named, tmp_path: Path) -> None:
    program = named("Yosys 0.50", f'cat run.ys in.txt > out.txt; pwd > "{tmp_path}/where"')
    result = yosys.Yosys((program,), "Yosys 0.50").run("script\n", {"in.txt": b"input"}, ["out.txt"], "test")
    assert result == {"out.txt": "script\ninput"}
    assert not Path((tmp_path / "where").read_text().strip()).exists()


@pytest.mark.parametrize(("script", "said"), [
    ("printf 'fine\\nERROR: first\\nERROR: last\\nafter\\n' > log; exit 1", "ERROR: last"),
    ("echo 'ERROR: lost log' >&2; exit 1", "ERROR: lost log"),
    ("printf 'one\\ntwo\\n\\n' >&2; exit 1", "two"),
    ("exit 3", "exit code 3"),
    ("exit 0", "exit code 0"),          # done, but a file it should have written is not there
])
def test_failures_take_one_line(named, script: str, said: str) -> None:
    program = named("Yosys 0.50", script)
    with pytest.raises(YosysError) as caught:
        yosys.Yosys((program,), "Yosys 0.50").run("", {}, ["out.txt"], "test")
    assert str(caught.value) == f"Yosys could not do the test: {said}"


def test_an_error_of_yosys_itself() -> None:
    with pytest.raises(YosysError, match=r"^Yosys could not do the test: .*ERROR: .*syntax error[^\n]*$"):
        yosys.find().run("read_verilog a.v\n", {"a.v": "module top( endmodule"}, [], "test")
