"""The runner and the benches themselves: builds are shared, faults are found and named, what is missing is said."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from cdma.verif.common import runner, tools
from tests.verif.conftest import REPO, Bench

_PASS = "module pass(input aclk, output reg q); always @(posedge aclk) q <= !q; endmodule\n"
_FAULTS = Path(__file__).with_name("faults.v").read_text(encoding="utf-8")


def _first_on_path(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), os.environ["PATH"]]))


@pytest.fixture
def faults(build_dir: Path, monkeypatch: pytest.MonkeyPatch) -> runner.Build:
    # bench_faults.py lies here; simulators inherit the path.
    monkeypatch.syspath_prepend(Path(__file__).parent)
    return runner.build(_FAULTS, "faults", simulator="verilator", build_dir=build_dir)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> runner.Build:
    """The first build in a folder, which compiles Verilator's runtime: that takes a quarter of a minute."""
    return runner.build(_PASS, "pass", simulator="verilator", build_dir=tmp_path_factory.mktemp("builds"))


def test_a_build_that_exists_is_used_again(first: runner.Build) -> None:
    stamp = (first.folder / "done").stat().st_mtime_ns
    assert runner.build(_PASS, "pass", simulator="verilator", build_dir=first.folder.parent) == first
    assert (first.folder / "done").stat().st_mtime_ns == stamp


def test_the_runtime_is_compiled_once_and_the_main_program_for_each_design(first: runner.Build) -> None:
    # The main program includes the design's header: with that of another design it would allocate too little.
    second = runner.build(_PASS.replace("input aclk", "input aclk, input other"), "pass", simulator="verilator",
                          build_dir=first.folder.parent)
    logs = [(each.folder / "build.log").read_text() for each in (first, second)]
    assert ["-o verilated.o" in log for log in logs] == [True, False]
    assert ["-o verilator.o" in log for log in logs] == [True, True]


def test_a_build_needs_no_program_named_python(first: runner.Build, tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    # A small design takes another way through make than a large one.
    _first_on_path(tmp_path / "bin", "python", "exit 1", monkeypatch)
    runner.build(_PASS.replace("!q", "~q"), "pass", simulator="verilator", build_dir=first.folder.parent)


@pytest.mark.parametrize("simulator", [*filter(tools.available, tools.SIMULATORS)])
def test_what_does_not_compile_is_said(tmp_path: Path, simulator: str) -> None:
    # Verilator warns of widths as well, and before.
    broken = _PASS.replace("q <= !q", "q <= 3'd0 + nowhere(q)")
    said = {"verilator": r"%Error: .*pass\.v:1:.*nowhere", "icarus": r".*pass\.v:1: error: .*nowhere"}[simulator]
    with pytest.raises(runner.BuildError, match=rf"{simulator} does not compile pass \(.*build\.log\):\n{said}"):
        runner.build(broken, "pass", simulator=simulator, build_dir=tmp_path)
    # Nothing is left that a second call could take for a build.
    with pytest.raises(runner.BuildError):
        runner.build(broken, "pass", simulator=simulator, build_dir=tmp_path)


def test_what_the_compiler_says_is_said_without_warnings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _first_on_path(tmp_path / "bin", "c++", "echo c++: fatal error: out of memory >&2; exit 1", monkeypatch)
    wide = _PASS.replace("q <= !q", "q <= 3'd0")
    with pytest.raises(runner.BuildError, match=r"build\.log\):\nc\+\+: fatal error: out of memory"):
        runner.build(wide, "pass", simulator="verilator", build_dir=tmp_path)


@pytest.mark.parametrize("program", ["g++", "make", "perl"])
def test_a_missing_program_is_named(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in {"g++", "make", "perl"} - {program}:
        (tmp_path / other).symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(tools.MissingToolError) as caught:
        runner.build(_PASS, "pass", simulator="verilator", build_dir=tmp_path)
    assert str(caught.value).startswith(f"simulation with verilator needs {program}, which is not on PATH: install ")
    assert "\n" not in str(caught.value)
    assert not tools.available("icarus")


def test_an_unknown_simulator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="simulator must be one of verilator, icarus, not 'modelsim'"):
        runner.build(_PASS, "pass", simulator="modelsim", build_dir=tmp_path)


def test_faults_are_found_and_named(faults: runner.Build, tmp_path: Path, seed: int) -> None:
    runner.run(faults, "bench_faults", job={}, folder=tmp_path, seed=seed, tests="faults_are_named|made_up|watched")


def test_a_failing_bench_is_an_error(faults: runner.Build, tmp_path: Path) -> None:
    with pytest.raises(runner.BenchError, match=r"1 of 1 tests failed .*bench\.log(?s:.*)this fault is on purpose"):
        runner.run(faults, "bench_faults", job={}, folder=tmp_path, tests="fails_when_asked")


def test_what_ends_a_simulation_early_is_said(faults: runner.Build, tmp_path: Path) -> None:
    with pytest.raises(runner.BenchError, match=r"1 of 1 tests failed (?s:.*)faults: the end was asked for"):
        runner.run(faults, "bench_faults", job={}, folder=tmp_path, tests="ends_when_asked")


def test_a_failure_tells_how_to_replay_it(
        faults: runner.Build, run_bench: Bench, seed: int, request: pytest.FixtureRequest) -> None:
    with pytest.raises(pytest.fail.Exception, match="this fault is on purpose") as caught:
        run_bench(faults, "bench_faults", tests="fails_when_asked")
    said, command = str(caught.value).splitlines()[-1].split(f"CDMA_SEED={seed} ")
    assert said.startswith("replay: ")
    program, *arguments = shlex.split(command)
    assert (REPO / program).samefile(sys.executable)
    assert arguments == ["-m", "pytest", request.node.nodeid]


def test_a_bench_that_is_not_there_is_an_error(faults: runner.Build, tmp_path: Path) -> None:
    with pytest.raises(runner.BenchError):
        runner.run(faults, "bench_faults", job={}, folder=tmp_path, tests="no_such_test")
    with pytest.raises(runner.BenchError):
        runner.run(faults, "no_such_module", job={}, folder=tmp_path)


def test_the_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERILATOR_ROOT", "/elsewhere")
    monkeypatch.setenv("MAKEFLAGS", "-k")
    before = dict(os.environ)
    with tools.environment(), tools.environment():
        assert "VERILATOR_ROOT" not in os.environ
        assert "CFG_CXXFLAGS_PCH_I=-include" in os.environ["MAKEFLAGS"]
    assert dict(os.environ) == before
