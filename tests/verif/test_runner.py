"""The runner and the benches themselves: builds are shared, faults are found and named, what is missing is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from verif import runner, tools

_PASS = "module pass(input aclk, output reg q); always @(posedge aclk) q <= !q; endmodule\n"
_FAULTS = Path(__file__).with_name("faults.v").read_text(encoding="utf-8")


@pytest.fixture
def faults(build_dir: Path, monkeypatch: pytest.MonkeyPatch) -> runner.Build:
    # bench_faults.py lies here; simulators inherit the path.
    monkeypatch.syspath_prepend(Path(__file__).parent)
    return runner.build(_FAULTS, "faults", simulator="verilator", build_dir=build_dir)


def test_a_build_that_exists_is_used_again(tmp_path: Path) -> None:
    first = runner.build(_PASS, "pass", simulator="verilator", build_dir=tmp_path)
    stamp = (first.folder / "done").stat().st_mtime_ns
    assert runner.build(_PASS, "pass", simulator="verilator", build_dir=tmp_path) == first
    assert (first.folder / "done").stat().st_mtime_ns == stamp


def test_what_does_not_compile_is_said(tmp_path: Path) -> None:
    broken = _PASS.replace("q <= !q", "q <= nowhere(q)")
    with pytest.raises(runner.BuildError, match=r"verilator does not compile pass .*build\.log"):
        runner.build(broken, "pass", simulator="verilator", build_dir=tmp_path)
    # Nothing is left that a second call could take for a build.
    with pytest.raises(runner.BuildError):
        runner.build(broken, "pass", simulator="verilator", build_dir=tmp_path)


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


def test_a_bench_that_is_not_there_is_an_error(faults: runner.Build, tmp_path: Path) -> None:
    with pytest.raises(runner.BenchError):
        runner.run(faults, "bench_faults", job={}, folder=tmp_path, tests="no_such_test")
    with pytest.raises(runner.BenchError):
        runner.run(faults, "no_such_module", job={}, folder=tmp_path)


def test_the_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setenv("VERILATOR_ROOT", "/elsewhere")
    monkeypatch.setenv("MAKEFLAGS", "-k")
    before = dict(os.environ)
    with tools.environment(), tools.environment():
        assert "VERILATOR_ROOT" not in os.environ
        assert "CFG_CXXFLAGS_PCH_I=-include" in os.environ["MAKEFLAGS"]
    assert dict(os.environ) == before
