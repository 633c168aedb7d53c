"""The scripts that maintainers run: mutants, what is kept of results, coverage of benches."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cdma.__main__ import main
from cdma.verif.common.digest import rtl_digest, source_digest
from cdma.verif.coverage.plan import ACCESS, PLAN

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The scripts, as modules."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    import cover  # type: ignore[import-not-found]
    import mutate  # type: ignore[import-not-found]
    import sign_off  # type: ignore[import-not-found]
    return SimpleNamespace(cover=cover, mutate=mutate, sign_off=sign_off)


def test_every_frozen_mutant_is_one_change_of_a_file_that_there_is() -> None:
    mutants = json.loads((ROOT / "tools/mutants.json").read_text())
    assert len({mutant["name"] for mutant in mutants}) == len(mutants) >= 60
    for mutant in mutants:
        text = (ROOT / mutant["file"]).read_text()
        assert text.count(mutant["find"]) == 1, mutant["name"]
        ast.parse(text.replace(mutant["find"], mutant["put"]))


@pytest.mark.parametrize(("text", "wanted"), [
    ("a < b", {"a <= b"}), ("a + b", {"a - b"}), ("~a", {"a"}), ("f(7)", {"f(8)", "f(6)"}), ("a[0]", {"a[1]"}),
    ("a.any()", {"a.all()"}), ("Mux(a, b, c)", {"Mux(a, c, b)"}), ("m.If(a)", {"m.If((a) == 0)"}),
    ("Signal(w)", {"Signal(w, reset_less=True)"}), ("m.d.comb += a.eq(b)", {"m.d.comb += []"}),
    ("m.d.sync += [a.eq(b), c]", {"m.d.sync += [*[], c]", "m.d.sync += [a.eq(b), *[]]"}), ('m.next = "X"', {"pass"}),
    ('raise ValueError(f"{a + b}")', set()), ("x: int = 1", set()), ('f(name="a")', set()), ('"""Adds 1."""', set())])
def test_what_a_mutant_changes(tools: SimpleNamespace, text: str, wanted: set[str]) -> None:
    whole = f"def elaborate(m):\n    {text}\n".encode()
    made = {(whole[:start] + new + whole[end:]).decode() for start, end, new, _ in tools.mutate.changes(whole)}
    assert made == {f"def elaborate(m):\n    {each}\n" for each in wanted}


def test_a_mutant_is_found_and_its_file_is_as_before(tools: SimpleNamespace, tmp_path: Path,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hdl").mkdir()
    (tmp_path / "hdl/unit.py").write_text("LESS = 1 < 2\n")
    check = "import sys; sys.path[0] = 'hdl'; import unit; sys.exit(not unit.LESS)"
    monkeypatch.setattr(tools.mutate, "checks", lambda file: iter([("own", ["-c", check])]))
    mutant = {"name": "x", "about": "", "file": "hdl/unit.py", "find": "1 < 2", "put": "1 > 2"}
    assert tools.mutate.judge(tmp_path, mutant, 60)[0] == "own"
    assert (tmp_path / "hdl/unit.py").read_text() == "LESS = 1 < 2\n"
    # What was compiled of the mutant would count as the file's, which has its size and may be of the same second.
    assert not [*tmp_path.glob("hdl/__pycache__/*")]
    assert tools.mutate.judge(tmp_path, mutant | {"find": "2 < 1"}, 60)[0] == "moved"
    # One whose time is over is not found.
    monkeypatch.setattr(tools.mutate, "called", lambda tree, arguments, seconds: (
        0 if "netlists" in arguments else None, "", seconds))
    assert tools.mutate.judge(tmp_path, mutant, 60)[0] == "same"


def test_a_sample_has_a_mutant_of_each_unit_first(tools: SimpleNamespace) -> None:
    sample = tools.mutate.sample(60, 1)
    assert len({mutant["file"] for mutant in sample}) == 60
    assert sample == tools.mutate.sample(90, 1)[:60] != tools.mutate.sample(60, 2)


def test_netlists_that_do_the_same_are_proved(tools: SimpleNamespace, tmp_path: Path) -> None:
    text = ("module \\top\n  wire width 2 input 1 \\a\n  wire output 2 \\y\n{extra}  cell ${kind} $1\n"
            "    parameter \\A_SIGNED 0\n    parameter \\A_WIDTH 2\n    parameter \\Y_WIDTH 1\n"
            "    connect \\A \\a\n    connect \\Y \\y\n  end\nend\n")
    for name, kind in (("plain", "reduce_or"), ("same", "reduce_bool"), ("other", "reduce_and")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.il").write_text(text.format(kind=kind, extra=""))
    assert [tools.mutate.equal(tmp_path / "plain", tmp_path / name, "x.il") for name in ("plain", "same", "other")] == [
        True, True, False]


def test_results_of_the_same_rtl_are_joined_and_others_dropped(tools: SimpleNamespace, tmp_path: Path,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools.sign_off, "RESULTS", tmp_path)
    soak: dict[str, Any] = dict.fromkeys((
        "minutes", "processor_minutes", "configurations", "cases", "cycles", "streams_golden", "streams_rtl"), 1)
    soak |= {"benches": {"faults": 4}, "pairs": ["a & b"], "seeds": ["1"], "failures": []}
    (tmp_path / "new.json").write_text(json.dumps(soak))
    for _ in range(2):
        assert tools.sign_off.main("soak", str(tmp_path / "new.json")) == 0
    kept = tools.sign_off.load("soak")
    assert [kept["results"][name] for name in ("cases", "benches", "seeds")] == [2, {"faults": 8}, ["1", "1"]]
    (tmp_path / "soak.json").write_text(json.dumps(kept | {"stamp": kept["stamp"] | {"digest": "another"}}))
    tools.sign_off.main("soak", str(tmp_path / "new.json"))
    assert tools.sign_off.load("soak")["results"]["cases"] == 1


@pytest.mark.parametrize(("bad", "code"), [("", 0), ("<failure/>", 1)])
def test_a_suite_that_failed_is_not_kept(tools: SimpleNamespace, bad: str, code: int, tmp_path: Path,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools.sign_off, "RESULTS", tmp_path)
    (tmp_path / "x.xml").write_text('<testsuites><testsuite time="3"><testcase classname="tests.hdl.common.test_x" '
                                    f'time="2">{bad}</testcase></testsuite></testsuites>')
    assert tools.sign_off.main("test", str(tmp_path / "x.xml")) == code
    kept = tools.sign_off.load("test")
    assert kept is None if code else (kept["results"]["tests"], kept["results"]["seconds"]) == (1, 3.0)


def test_an_item_is_met_by_results_of_this_rtl_alone(tools: SimpleNamespace, tmp_path: Path,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools.sign_off, "RESULTS", tmp_path)
    stamp = {"command": "make", "commit": "c", "date": "d", "digest": tools.sign_off.digest("test")}
    suite: dict[str, Any] = {"tests": 9, "failed": 0, "seconds": 60.0}
    for digest, skipped, met in ((stamp["digest"], 0, True), (stamp["digest"], 2, False), ("another", 0, False)):
        suite["skipped"] = [{"reason": "no Icarus", "tests": skipped}]
        kept = {"stamp": stamp | {"digest": digest}, "results": suite}
        (tmp_path / "test.json").write_text(json.dumps(kept))
        items = tools.sign_off.checklist()
        whole, = (item for item in items if item["claim"] == "The whole test suite passes")
        assert whole["met"] is met and whole["figure"].startswith(
            f"{9 - skipped} tests passed, 0 failed, {skipped} skipped, 1 minutes")
        assert tools.sign_off.summary(items).startswith("Stage V1 is reached" if met else "No stage is reached")
        assert ("test" in tools.sign_off.stale()) is (digest == "another")


def test_figures_that_changed_or_are_of_another_file_are_not_met(tools: SimpleNamespace, tmp_path: Path,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools.sign_off, "RESULTS", tmp_path)
    sections = tools.sign_off._MEASURED_AGAIN

    def found(*percents: float, vanished: Sequence[str] = ()) -> tuple[str, bool]:
        rows = [{"section": section, "percent": percent} for section in sections for percent in percents]
        (tmp_path / "compare.json").write_text(json.dumps({"figures": rows, "appeared": [], "vanished": vanished}))
        assert tools.sign_off.main("figures", str(tmp_path / "compare.json")) == 0
        return tools.sign_off._again(tools.sign_off.load("figures")["results"])

    assert found(0.0, vanished=[f"{sections[0]} / x / kge"])[1] is False
    for percent, changed in ((0.0, 0), (1.0, len(sections))):
        words = f"{2 * len(sections)} figures, {changed} changed; {len(sections)} of {len(sections)} sections"
        assert found(0.0, percent) == (words, not changed)
    other = tmp_path / "performance.json"
    other.write_text(json.dumps(dict.fromkeys(sections, 1)))
    monkeypatch.setattr(tools.sign_off, "FIGURES", other)
    assert tools.sign_off._again(tools.sign_off.load("figures")["results"])[1] is False


def test_all_frozen_mutants_are_to_be_tried(tools: SimpleNamespace) -> None:
    frozen = json.loads(tools.sign_off.FROZEN.read_text())
    mutants = {each["name"]: f"own|{tools.sign_off.text_of(each)}|" for each in frozen}
    words = f"{len(frozen)} of {len(frozen)}, of which {len(frozen)} make hardware which differs"
    assert tools.sign_off._tried({"mutants": mutants}) == (words, True)
    first, right = frozen[0]["name"], mutants[frozen[0]["name"]]
    # Its text is not in its file any more, or was another one; or it was not tried.
    for wrong in (right.replace("own", "moved"), "own|another|", ""):
        assert tools.sign_off._tried({"mutants": mutants | {first: wrong}})[1] is False
    assert tools.sign_off._killed({"mutants": mutants | {first: right.replace("own", "survived")}})[0].startswith("99.")


def test_bins_of_access_count_apart_and_each_design_by_itself(tools: SimpleNamespace) -> None:
    def item(claim: str, found: dict[str, Any]) -> tuple[str, bool]:
        figure, = (each[-1] for each in tools.sign_off.MEASURED if each[1].startswith(claim))
        return figure(found)

    features = [{"feature": each.name, "hit": len(each.bins), "bins": len(each.bins), "excluded": 0} for each in PLAN]
    ours, others = (sum(len(each.bins) for each in PLAN if (each.room in ACCESS) is access) for access in (True, False))
    assert item("Bins", {"features": features}) == (f"{others:,} of {others:,}, 0 excluded", True)
    assert item("Its other bins", {"features": features}) == (f"{ours:,} of {ours:,}, 0 excluded", True)
    # Results that are older than a feature miss it.
    assert item("Bins", {"features": features[1:]}) == (
        f"{others - len(PLAN[0].bins):,} of {others:,}, 0 excluded", False)
    designs = [{"design": name, "kind": "toggle", "hit": hit, "points": 1000} for name, hit in (("a", 999), ("b", 949))]
    assert item("Bits", {"designs": designs}) == ("94.90% of 1,000 in `b`, the least of 2 designs", False)
    assert item("Bits", {"designs": designs[:1]})[1]


def test_a_digest_covers_what_results_depend_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The RTL without comments, the generator with its resets, the back end's version, and the places of a kind."""
    for name, text in {"hdl/unit.py": "x = 1", "hdl/generate/axis.py": "reset = ~aresetn", "golden/model.py": "y = 1",
                       "hdl/generate/handover/readme.py": "z = 1", "golden/c/codec.c": "int a;",
                       "golden/dump.npz": "0"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def digests() -> tuple[str, str]:
        return rtl_digest(tmp_path), source_digest("golden", root=tmp_path)

    def changed(name: str, text: str) -> tuple[bool, bool]:
        rtl, model = digests()
        (tmp_path / name).write_text(text)
        now = digests()
        return now[0] != rtl, now[1] != model

    assert changed("hdl/unit.py", "x = 1    # a comment") == (False, False)
    assert changed("hdl/generate/handover/readme.py", "z = 2") == (False, False)
    assert changed("hdl/generate/axis.py", "reset = aresetn") == (True, True)
    for name, text in (("model.py", "y = 2"), ("c/codec.c", "int b;"), ("dump.npz", "1")):
        assert changed(f"golden/{name}", text) == (False, True)
    before = digests()
    monkeypatch.setattr("cdma.verif.common.digest.version", lambda package: "another")
    assert all(now != was for now, was in zip(digests(), before, strict=True))


def test_shards_of_coverage_have_every_run_once(tools: SimpleNamespace) -> None:
    parts = [tools.cover.runs(1, (part, 3)) for part in (1, 2, 3)]
    assert sorted(run for part in parts for run in part) == sorted(tools.cover.runs(1, (1, 1)))


def test_counts_of_other_benches_or_of_runs_that_failed_are_no_coverage(
        tools: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cover = tools.cover
    monkeypatch.setattr(cover.os, "environ", dict(cover.os.environ))
    monkeypatch.setattr(cover, "run_step", lambda task: SimpleNamespace(
        state=cover.State.PASSED if task.seed == 1 else cover.State.FAILED, said="it failed"))
    cover.measure([("tiny", "faults", 1)], tmp_path)
    cover.check_counts(tmp_path)
    with monkeypatch.context() as benches:
        benches.setattr(cover, "digest", lambda kind: "another")
        with pytest.raises(SystemExit, match="has no coverage of this RTL and these benches"):
            cover.measure([("tiny", "faults", 1)], tmp_path)
    cover.measure([("tiny", "faults", 2)], tmp_path)
    with pytest.raises(SystemExit, match=r"a run that failed \(python tools/cover.py --only tiny/faults --seed 2\)"):
        cover.check_counts(tmp_path)


def test_commands_that_are_scripts_now_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutate", "--list"]) == 2
    assert capsys.readouterr().err == (
        "cdma: error: there is no command mutate any more: in a clone of the repository, run make mutation "
        "(tools/mutate.py)\n")
