"""A soak that passes, and one that finds a seeded fault, makes it smaller and replays it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.__main__ import main
from cdma.golden.engine import PAGE_SIZES
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.verif.common import runner
from cdma.verif.engine import build
from cdma.verif.regression.outcomes import State, TestOutcome
from cdma.verif.regression.plan import image_bytes
from cdma.verif.soak import cases
from cdma.verif.soak import soak as soaking
from cdma.verif.soak.cases import Case, CaseResult, read_case, run_case, shrink, write_case
from tests.extended import extended

_CASE = Case(load_engine("tiny"), "malicious", 5, 0.2, {"streams": 12})


def test_a_case_passes_and_counts_its_streams(build_dir: Path) -> None:
    result = run_case(_CASE, build_dir)
    assert result.passed
    assert result.report["streams"] == 12
    assert result.report["refused"] > 3
    assert result.cycles > 1000


def test_lint_is_a_case_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "engine_text", lambda config, folder: (
        f"module {config.name}(input a, output b);\nassign b = a > 1'h1;\nendmodule\n"))
    result = run_case(replace(_CASE, bench="lint"), tmp_path)
    assert not result.passed and "CMPCONST" in result.said


def test_fragments_and_the_largest_pages_are_drawn() -> None:
    config, rng = EngineConfig(page_lists=True, write_back=True), np.random.default_rng(1)
    cases = [case for case, _ in zip(soaking._cases(config, soaking._usable(config, ()), rng), range(60), strict=False)]
    assert {len(case.job["loads"]) for case in cases if case.bench == "fragments"} == {3}
    assert {case.job["large_page"] for case in cases if case.tests} == {PAGE_SIZES[-1]}
    assert all(case.bench == "page_lists" for case in cases if case.tests)


def test_a_case_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "case.json"
    write_case(_CASE, "a byte differs", file)
    assert read_case(file) == _CASE
    for text, says in (("{", "is no case"), ("[]", "is no case"), ('{"bench": "faults"}', "is no case")):
        file.write_text(text)
        with pytest.raises(ValueError, match=says):
            read_case(file)
    with pytest.raises(ValueError, match="does not exist: give a file that cdma soak wrote"):
        read_case(tmp_path / "none.json")


def _failure(message: str) -> CaseResult:
    return CaseResult((TestOutcome("good", State.PASSED, 0.1, 10),
                       TestOutcome("bad", State.FAILED, 0.1, 10, message)), f"bad: {message}", {}, 0.1)


_PASSED = CaseResult((TestOutcome("bad", State.PASSED, 0.1, 10),), "", {}, 0.1)


def test_shrinking_keeps_what_fails() -> None:
    def runs(case: Case) -> CaseResult:
        # Fails with parity, and with so many stimuli; without page lists in another way.
        if not case.config.page_lists:
            return _failure("the page lists are missing")
        fails = case.config.buffer_parity and case.share >= 0.05 and case.tests in ("", "bad")
        return _failure(f"byte {case.share} of lane {case.config.lanes} is wrong") if fails else _PASSED

    config = EngineConfig(lanes=3, buffer_parity=True, page_lists=True, write_back=True, crc=False)
    case = Case(config, "transfers", 1, 0.4)
    smallest, said = shrink(case, runs(case), runs, tries=60)
    assert said.said == f"bad: byte {smallest.share} of lane 1 is wrong"
    assert smallest.tests == "bad"
    assert smallest.share == pytest.approx(0.05)
    assert smallest.config.replace(codings=config.codings) == EngineConfig(buffer_parity=True, page_lists=True, lanes=1)
    assert len(smallest.config.codings) == 1


def _breaks(rule: str, lane: int) -> CaseResult:
    said = (f"a port of cdma_soak1_bench breaks a rule of its protocol (/tmp/{lane}/bench.log):\n"
            f"rule {rule} is broken at cdma_soak1_bench.m_axi_lane{lane}_write, time {lane}3000")
    return CaseResult((TestOutcome("bad", State.FAILED, 0.0, 0, said),), said, {}, 0.1)


def test_shrinking_keeps_the_rule_that_was_broken() -> None:
    def runs(case: Case) -> CaseResult:
        return _breaks("AXI4_W_LAST" if case.config.page_lists else "AXI4_AW_LENGTH", case.config.lanes - 1)

    config = EngineConfig(lanes=3, page_lists=True)
    case = Case(config, "transfers", 1, 0.4)
    smallest, said = shrink(case, runs(case), runs, tries=60)
    assert "rule AXI4_W_LAST is broken at cdma_soak1_bench.m_axi_lane0_write" in said.said
    assert (smallest.config.lanes, smallest.config.page_lists, smallest.tests) == (1, True, "bad")


def test_the_test_that_a_broken_rule_ended_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run(*_: Any, folder: Path, **__: Any) -> None:
        (folder / "bench.log").write_text("".join(
            f"{at}.00ns INFO cocotb.regression   running cdma.verif.engine.benches.transfers.{name} ({at}/3)\n"
            for at, name in ((1, "rings"), (2, "queues_full"))))
        raise runner.BenchError("a port breaks a rule")

    monkeypatch.setattr(cases, "build_engine", lambda *_, **__: None)
    monkeypatch.setattr(runner, "run", run)
    ended, = run_case(_CASE, tmp_path).tests
    assert (ended.name, ended.state, ended.said) == ("queues_full", State.FAILED, "a port breaks a rule")


def test_memories_have_room_for_the_largest_tensors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    built = []

    def build_engine(config: EngineConfig, *, image_bytes: int, **_: Any) -> None:
        built.append(image_bytes)
        raise runner.BuildError("enough")

    monkeypatch.setattr(cases, "build_engine", build_engine)
    largest = EngineConfig(lanes=8, block_bytes=32768, buffer_bytes=40960, queue_depth=64)
    for config in (largest, load_engine("tiny")):
        with pytest.raises(runner.BuildError):
            run_case(Case(config, "transfers", 1, 0.1), tmp_path)
    assert built == [image_bytes(largest), cases.LARGEST_IMAGE]
    for config in (largest, EngineConfig(lanes=16, block_bytes=32768, buffer_bytes=40960, link_clock="separate")):
        assert all(step.job.get("image_bytes", 0) <= max(cases.LARGEST_IMAGE, image_bytes(config))
                   for step in soaking._usable(config, ()))


def test_shrinking_keeps_the_option_that_a_bench_is_of() -> None:
    config = EngineConfig(lanes=3, link_read_ids=4, page_lists=True)
    case = Case(config, "link_reads", 1, 0.4)
    smallest, _ = shrink(case, _failure("no"), lambda smaller: _failure("no"), tries=60)
    assert smallest.config.replace(codings=config.codings) == EngineConfig(lanes=1, link_read_ids=4)


def test_shrinking_keeps_the_rings_of_fragments() -> None:
    config = EngineConfig(lanes=3, page_lists=True, write_back=True)
    smallest, _ = shrink(Case(config, "fragments", 1, 1.0), _failure("no"), lambda smaller: _failure("no"), tries=60)
    assert smallest.config.replace(codings=config.codings) == EngineConfig(lanes=1, write_back=True)


def test_shrinking_ends_in_time() -> None:
    case, failed = Case(EngineConfig(lanes=3), "transfers", 1, 0.4), _failure("no")

    def runs(case: Case) -> CaseResult:
        raise AssertionError("there is no time")

    assert shrink(case, failed, runs, seconds=0) == (case, failed)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Engines whose last byte of a lane's write beat has its lowest bit inverted."""
    right = build.engine_text

    def faulty(config: EngineConfig, folder: Path, sram: str | None = None) -> str:
        text = right(config, folder, sram)
        port = "assign m_axi_lane0_wdata = "
        at = text.index(port) + len(port)
        end = text.index(";", at)
        return f"{text[:at]}({text[at:end]}) ^ (1 << {8 * config.beat_bytes - 8}){text[end:]}"

    monkeypatch.setattr(build, "engine_text", faulty)
    return iter(())


@extended
def test_a_seeded_fault_is_found_made_smaller_and_replayed(broken: None, tmp_path: Path, build_dir: Path,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "small.toml"
    config.write_text('name = "cdma_small"\nlanes = 1\nbeat_bytes = 16\nlink_beat_bytes = 16\nblock_bytes = 512\n'
                      'buffer_bytes = 640\ncodings = ["zvc32"]\n')
    places = ("--report", str(tmp_path / "soak"), "--build-dir", str(tmp_path / "sim"))
    assert main(["soak", "--minutes", "0.01", "--seed", "3", "--engine", str(config), *places, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    failure, = found["failures"]
    assert "replay: cdma soak --replay" in failure
    file = next((tmp_path / "soak").glob("failure-*.json"))
    case = read_case(file)
    assert case.tests
    assert main(["soak", "--replay", str(file), "--build-dir", str(tmp_path / "sim")]) == 1
    said = capsys.readouterr().out
    assert "byte 0x" in said or "status is" in said
    lines = [json.loads(line) for line in (tmp_path / "soak/log.jsonl").read_text().splitlines()]
    assert any(line.get("passed") is False and line["seed"] for line in lines)


def test_an_interrupt_keeps_what_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Case] = []

    def runs(case: Case, build_dir: Path) -> CaseResult:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(case)
        return CaseResult((), "", {}, 0.1)

    monkeypatch.setattr(soaking, "run_case", runs)
    found = soaking.soak(5, 3, build_dir=tmp_path, config=load_engine("tiny"))
    assert (found.configurations, found.cases, found.failures) == (1, 2, [])
    assert sum(found.benches.values()) == 2
    assert found.minutes < 5


def test_streams_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["soak", "--streams", "130", "--seed", "2"]) == 0
    said = capsys.readouterr().out
    assert "malformed streams: 130 on the model" in said
    assert "nothing failed" in said


@pytest.mark.parametrize(("words", "says"), [
    (("--waves", "w"), "give its file with --replay"),
    (("--step", "nothing"), "there is no bench nothing: the benches are buffer_parity, faults"),
    (("--streams", "2", "--step", "faults"), "--streams simulates nothing: leave --step out"),
    (("--replay", "x", "--report", "r", "--minutes", "2"), "leave --minutes and --report out"),
    (("--replay", "none.json"), "does not exist"),
    (("--engine", "compressor"), "compressor is a core, not an engine"),
    (("--engine", "tiny", "--step", "windows", "--minutes", "0.0001"), ("cdma_tiny_engine has no bench windows: its "
     "benches are transfers, faults"))])
def test_mistakes(words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["soak", *words]) == 2
    assert says in capsys.readouterr().err
