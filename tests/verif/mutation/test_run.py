"""Mutants of a small unit with the real tests: one that is found, one that survives, one that does nothing, and one
that makes no hardware; and how results are kept."""

from __future__ import annotations

import importlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cdma.report.evidence.mutation import mutation_parts
from cdma.report.page import part_markdown
from cdma.verif.evidence.digest import ROOT
from cdma.verif.evidence.store import Evidence
from cdma.verif.mutation import reach
from cdma.verif.mutation.children import Children
from cdma.verif.mutation.mutant import Mutant
from cdma.verif.mutation.overlay import Overlay
from cdma.verif.mutation.reach import Baselines, own_tests
from cdma.verif.mutation.results import MutantResult, MutationReport, Verdict, record, recorded, scores
from cdma.verif.mutation.run import Trial
from tests.extended import extended, usually

SKID = "hdl/common/skid.py"
TEXT = (ROOT / SKID).read_bytes()


def _mutant(old: str, new: str, path: str = SKID) -> Mutant:
    """A change of the first place that has a text."""
    text = (ROOT / path).read_bytes()
    start = text.index(old.encode())
    line = text[:start].count(b"\n") + 1
    return Mutant(path, line, 0, f"{old} -> {new}", "arithmetic", start, start + len(old), new, line, line)


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    with Children() as found:
        yield found


@pytest.fixture(scope="module")
def times(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests of the skid buffer take seconds; all others too long to be tried."""
    file = tmp_path_factory.mktemp("times") / "test.xml"
    cases = "".join(f'<testcase classname="{name.removesuffix(".py").replace("/", ".")}" time="'
                    f'{2 if name in own_tests(SKID) else 1000}"/>' for name in reach.distances(SKID))
    file.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>", encoding="utf-8")
    return file


@pytest.fixture
def trial(children: Children, times: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    # Of the chosen designs, one that is made in a second.
    chosen = importlib.import_module("cdma.verif.coverage.runs").CHOSEN
    monkeypatch.setattr("cdma.verif.mutation.run.CHOSEN", {"decompressor": chosen["decompressor"]})
    monkeypatch.setattr("cdma.verif.mutation.run.PROOFS", ())
    return Trial(children, Baselines(tmp_path, children, times), 10.0, False)


def test_a_mutant_that_the_own_tests_find(trial: Trial) -> None:
    result = trial.judge(_mutant("self.i.valid | full", "self.i.valid & full"))
    assert (result.verdict, result.unit) == (Verdict.OWN, SKID)
    assert result.by.startswith("tests/hdl/common/test_skid.py::")
    assert (ROOT / SKID).read_bytes() == TEXT
    assert result.replay == f"cdma mutate --only '{result.name}'"


def test_a_mutant_of_another_design_is_not_the_same(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its line runs in no design whose netlist is compared."""
    monkeypatch.setattr("cdma.verif.mutation.run.own_tests", lambda path: [])
    monkeypatch.setattr("cdma.verif.mutation.run.distances", lambda path: {})
    spare = _mutant("self.o.valid & ~self.o.ready", "(self.o.valid) & ~self.o.ready")
    assert trial.judge(spare).verdict is Verdict.SURVIVED


@extended
def test_a_mutant_that_survives(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """No tests are asked; the decompressor has the skid buffer in it."""
    monkeypatch.setattr("cdma.verif.mutation.run.own_tests", lambda path: [])
    monkeypatch.setattr("cdma.verif.mutation.run.distances", lambda path: {})
    result = trial.judge(_mutant("self.i.valid | full", "self.i.valid & full"))
    assert (result.verdict, result.by) == (Verdict.SURVIVED, "")


def test_a_mutant_that_does_nothing(trial: Trial) -> None:
    result = trial.judge(_mutant("self.i.valid | full", "(self.i.valid) | full"))
    assert (result.verdict, result.by) == (Verdict.SAME, "netlists of decompressor")


def test_a_mutant_that_is_written_otherwise(trial: Trial) -> None:
    result = trial.judge(_mutant("self.i.valid | full", "full | self.i.valid"))
    assert (result.verdict, result.by) == (Verdict.PROVED, "proof about the netlists of decompressor")


def test_what_found_a_mutant_before_comes_first(children: Children, times: Path, tmp_path: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that finds it is believed; one that does not, or is gone, changes nothing."""
    monkeypatch.setattr("cdma.verif.mutation.run.PROOFS", ())
    broken = _mutant("self.i.valid | full", "self.i.valid & full")
    one = Trial(children, Baselines(tmp_path, children, times), 10.0, False).judge(broken)
    asked: list[list[str]] = []

    def judged(by: str, verdict: Verdict = Verdict.OWN) -> MutantResult:
        asked.clear()
        old = MutantResult(broken.name, broken.operator, verdict, by, "", 1.0)
        trial = Trial(children, Baselines(tmp_path, children, times), 10.0, False, before={broken.name: old})
        return trial.judge(broken)

    do = children.do
    monkeypatch.setattr(children, "do", lambda work, *rest, **given: (
        asked.append(given.get("files", [])), do(work, *rest, **given))[1])
    assert (judged(one.by).by, asked) == (one.by, [[one.by]])
    for other in ("tests/hdl/common/test_beat_width.py::test_none", "tests/hdl/common/test_none.py::test_none",
                  "proof skid"):
        assert (judged(other).by, asked[-1]) == (one.by, ["tests/hdl/common/test_skid.py"])
    assert judged("netlists of decompressor", Verdict.SAME).verdict is Verdict.OWN


_ALIKE = [("(self.i.valid) | full", Verdict.SAME, Verdict.SAME),
          ("full | self.i.valid", Verdict.PROVED, Verdict.PROVED),
          ("full | self.i.valid", Verdict.SURVIVED, Verdict.PROVED)]
"""How a mutant is written that does the same, what was known of it, and what is known then."""


@pytest.mark.parametrize(("new", "before", "now"), usually(_ALIKE[0], of=_ALIKE))
def test_netlists_before_tests_of_other_units(trial: Trial, children: Children, times: Path, tmp_path: Path,
                                              monkeypatch: pytest.MonkeyPatch, new: str, before: Verdict,
                                              now: Verdict) -> None:
    """For a mutant that no test found before: no test of another unit is run when it does the same now."""
    alike = _mutant("self.i.valid | full", new)
    old = MutantResult(alike.name, alike.operator, before, "", "", 1.0)
    quick = Trial(children, Baselines(tmp_path, children, times), 10.0, False, before={alike.name: old})
    monkeypatch.setattr(Trial, "_others", lambda *_: pytest.fail("tests of other units were asked"))
    assert quick.judge(alike).verdict is now


@extended
def test_tests_of_other_units_after_netlists_that_differ(trial: Trial, children: Children, times: Path, tmp_path: Path,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    """One that no test found before, and that no proof says is the same, is tried with them all the same."""
    broken = _mutant("self.i.valid | full", "self.i.valid & full")
    old = MutantResult(broken.name, broken.operator, Verdict.SURVIVED, "", "", 1.0)
    late = Trial(children, Baselines(tmp_path, children, times), 10.0, False, before={broken.name: old})
    found = {"outcome": "failed", "by": "another unit", "said": "", "processor_s": 1.0}
    monkeypatch.setattr("cdma.verif.mutation.run.own_tests", lambda path: [])
    monkeypatch.setattr(Trial, "_others", lambda *_: iter([(Verdict.OTHER, found)]))
    result = late.judge(broken)
    assert (result.verdict, result.by) == (Verdict.OTHER, "another unit")


def test_benches_of_a_mutant_share_what_is_compiled(trial: Trial, children: Children, monkeypatch: pytest.MonkeyPatch
                                                    ) -> None:
    """One folder for each mutant, which is gone afterwards; never that of the sources without a mutant."""
    chosen = importlib.import_module("cdma.verif.coverage.runs").CHOSEN
    monkeypatch.setattr("cdma.verif.mutation.run.CHOSEN", {"tiny": chosen["tiny"]})
    places: list[tuple[bool, Path]] = []

    def do(work: str, limit: float, mutant: Mutant | None = None, **given: Any) -> dict[str, Any]:
        if work == "bench":
            assert Path(given["builds"]).is_absolute()
            places.append((mutant is None, Path(given["builds"])))
            assert mutant is None or places[-1][1].is_dir()
        return {"outcome": "passed", "by": "", "said": "", "processor_s": 1.0}

    monkeypatch.setattr(children, "do", do)
    one = _mutant("self.i.valid | full", "self.i.valid & full")
    passed = [len([*trial._simulations(one, ["tiny"])]) for _ in range(2)]
    plain, mutants = ({place for without, place in places if without is which} for which in (True, False))
    assert passed[0] == passed[1] > 3
    assert (len(plain), len(mutants), plain & mutants) == (1, 2, set())
    assert not any(place.exists() for place in mutants)


def test_own_tests_alone(children: Children, times: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be found to be the same survives."""
    monkeypatch.setattr("cdma.verif.mutation.run.PROOFS", ())
    trial = Trial(children, Baselines(tmp_path, children, times), 10.0, True, own_only=True)
    assert trial.judge(_mutant("self.i.valid | full", "(self.i.valid) | full")).verdict == "survived"


def test_a_mutant_that_makes_no_hardware(trial: Trial) -> None:
    result = trial.judge(_mutant("self.i.ready.eq", "self.i.none.eq"))
    assert result.verdict is Verdict.INVALID
    assert result.said.startswith("AttributeError")


def test_a_mutant_that_ends_late_or_badly(children: Children) -> None:
    """The limit of a processor's time ends it; so does whatever else ends a process."""
    hangs = _mutant("        m = Module()", "        while True: pass")
    found = children.do("tests", 1, hangs, files=["tests/hdl/common/test_skid.py"])
    assert (found["outcome"], found["processor_s"] < 10) == ("timeout", True)
    dies = _mutant("        m = Module()", "        import os; os._exit(3)")
    found = children.do("tests", 20, dies, files=["tests/hdl/common/test_skid.py"])
    assert found["outcome"] == "died"
    assert children.do("tests", 20, files=["tests/hdl/common/test_beat_width.py"])["outcome"] == "passed"


def test_ctrl_c_is_left_to_the_process_that_gives_jobs() -> None:
    """The signal of a terminal goes to both; only one of them says it."""
    with subprocess.Popen([sys.executable, "-m", "cdma.verif.mutation.worker"], cwd=ROOT, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as worker:
        ignored, end = 0, time.monotonic() + 20
        while not ignored >> (signal.SIGINT - 1) & 1 and time.monotonic() < end:
            time.sleep(0.02)
            status = Path(f"/proc/{worker.pid}/status").read_text()
            ignored = int(status.partition("SigIgn:")[2].split()[0], 16)
        worker.send_signal(signal.SIGINT)
        assert worker.communicate("", timeout=60) == ("", "")
    assert worker.returncode == 0


def test_a_child_runs_all_tests_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also within a shard of the regression, from which it inherits the environment."""
    dies = _mutant("        m = Module()", "        import os; os._exit(3)")
    monkeypatch.setenv("CDMA_SHARD", "1000/1000")
    with Children() as fresh:
        assert fresh.do("tests", 20, dies, files=["tests/hdl/common/test_skid.py"])["outcome"] == "died"


def test_a_proof_finds_a_mutant(children: Children) -> None:
    broken = _mutant("self.i.valid | full", "self.i.valid & full")
    found = children.do("proof", 60, broken, proof="skid", limit=60)
    assert (found["outcome"], found["by"]) == ("failed", "proof skid")
    assert children.do("proof", 60, proof="skid", limit=60)["outcome"] == "passed"


def test_the_overlay_is_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "cdma.hdl.common.beat"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    path = ROOT / "hdl/common/beat.py"
    Overlay(name, path, b"VALUE = 7\n").install()
    module = importlib.import_module(name)
    assert (module.VALUE, module.__file__) == (7, str(path))
    with pytest.raises(RuntimeError, match="imported already"):
        Overlay(name, path, b"").install()
    monkeypatch.delitem(sys.modules, name)


def test_own_tests_are_named_so_or_near() -> None:
    assert own_tests(SKID)[0] == "tests/hdl/common/test_skid.py"
    assert "tests/hdl/codec/narrowing/test_float_narrowing.py" in own_tests("hdl/codec/narrowing/rounding.py")
    assert own_tests("hdl/engine/engine.py") == []


def test_what_fails_without_a_mutant_is_no_judge(children: Children, tmp_path: Path) -> None:
    failing = tmp_path / "test_fails.py"
    failing.write_text("def test_it() -> None:\n    assert not 1\n", encoding="utf-8")
    found = children.do("tests", 20, files=[str(failing)])
    assert (found["outcome"], found["said"].startswith("AssertionError")) == ("failed", True)
    assert children.do("tests", 20, files=[str(tmp_path / "none.py")])["outcome"] == "failed"
    with pytest.raises(ValueError, match=r"netlist none fails without a mutant"):
        Baselines(tmp_path, children).netlist("none")


def _result(line: int, verdict: Verdict, by: str = "test") -> MutantResult:
    return MutantResult(f"{SKID}:{line}:4 | -> &", "arithmetic", verdict, by, "", 1.0)


def test_results_are_recorded_by_name_and_add_up(tmp_path: Path) -> None:
    store = tmp_path / "verification.json"
    record([_result(10, Verdict.SURVIVED, ""), _result(9, Verdict.OWN)], 1, "make mutation", store)
    record([_result(10, Verdict.OTHER, "a|b"), _result(100, Verdict.INVALID)], 2, "make mutation", store)
    results = Evidence.load(store).results("mutation")
    assert results is not None and results["seeds"] == [1, 2]
    found = recorded(results)
    assert [(each.name.split(":")[1], each.verdict, each.by) for each in found] == [
        ("9", "own", "test"), ("10", "other", "a|b"), ("100", "invalid", "test")]
    stamped = json.loads(store.read_text(encoding="utf-8"))
    stamped["mutation"]["stamp"]["digest"] = "0" * 16
    store.write_text(json.dumps(stamped), encoding="utf-8")
    record([_result(1, Verdict.OWN)], 1, "make mutation", store)
    again = Evidence.load(store).results("mutation")
    assert again is not None and len(again["mutants"]) == 1


def test_the_page_has_the_score_and_the_survivors() -> None:
    verdicts = [Verdict.OWN] * 7 + [Verdict.OTHER, Verdict.SURVIVED, Verdict.SAME, Verdict.PROVED, Verdict.INVALID]
    report = MutationReport(tuple(_result(line, verdict) for line, verdict in enumerate(verdicts)))
    score = report.score
    assert (score.counted, score.killed, score.own, score.equivalent, score.invalid) == (9, 8, 7, 2, 1)
    assert [each.unit for each in scores(report.results)] == [SKID]
    lines = {each.name: f"{each.verdict}|{each.operator}|{each.by}" for each in report.results}
    text = "\n".join(part_markdown(part) for part in mutation_parts({"mutants": lines}))
    assert "Of the other 9, 8 were killed, 88.9%" in text
    assert "7 of these by the unit's own tests, 87.5%" in text
    assert f"- `cdma mutate --only '{SKID}:8:4 | -> &'`: nothing is known of it." in text
