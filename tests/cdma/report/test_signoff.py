"""The sign-off: what is recorded is met, what is missing, failed or older than the RTL is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdma.report.evidence import checklist as items_of
from cdma.report.evidence.checklist import STAGES, Item, checklist, reached, stale_sections
from cdma.report.evidence.signoff_page import signoff_page
from cdma.verif.evidence.digest import rtl_digest
from cdma.verif.evidence.store import SECTIONS, Evidence
from cdma.verif.formal.table import PROOFS
from tools import sign_off

ROOT = Path(__file__).resolve().parents[3]
_SUITE = {"tests": 7, "failed": 0, "skipped": [{"reason": "no OpenSTA", "tests": 2}], "seconds": 1200.0, "rooms": []}
_PASSED = {"test": _SUITE}


def _evidence(**results: Any) -> Evidence:
    evidence = Evidence()
    for name, result in results.items():
        evidence.record(name, command="make", results=result)
    return evidence


def _item(evidence: Evidence, claim: str, digest: str | None = None) -> Item:
    return next(item for item in checklist(evidence, digest) if item.claim.startswith(claim))


def test_a_suite_that_passed_meets_its_item() -> None:
    item = _item(_evidence(regression=_PASSED), "The whole test suite")
    assert item.met
    assert item.figure == "5 tests passed, 0 failed, 2 skipped (no OpenSTA), 20 minutes"


@pytest.mark.parametrize(("results", "digest", "figure"), [
    ({}, None, "not recorded"),
    ({"regression": _PASSED}, "0" * 16, "older than the RTL"),
    ({"regression": {"test": _SUITE | {"failed": 1}}}, None, "1 failed")])
def test_what_is_missing_old_or_failed_is_not_met(results: dict[str, Any], digest: str | None, figure: str) -> None:
    evidence = _evidence(**results)
    item = _item(evidence, "The whole test suite", digest)
    assert not item.met
    assert figure in item.figure
    assert not _item(evidence, "Formats are written", digest).met
    assert reached(checklist(evidence, digest)) is None


def test_a_stage_is_reached_when_it_and_all_before_it_are_met() -> None:
    def item(stage: str, met: bool) -> Item:
        return Item(stage, "", "", "", met, "")

    assert reached([item("V1", True), item("V2", False), item("V3", True)]) == "V1"
    assert reached([item(stage, True) for stage in STAGES]) == "V3"
    assert reached([item("V1", True), item("V1", False)]) is None


@pytest.mark.parametrize(("unfinished", "met"), [(0, True), (1, False)])
def test_two_presets_in_icarus_are_asked_for(unfinished: int, met: bool) -> None:
    run = {"name": "cdma_tiny_engine", "steps": 9, "unfinished": 0, "cycles": 1200}
    runs = {"tiny": run, "other": run | {"name": "other", "unfinished": unfinished}}
    item = _item(_evidence(regression={"icarus": runs}), "The regression of presets in Icarus")
    assert item.figure == "`cdma_tiny_engine` 9 steps, 1,200 cycles; `other` 9 steps, 1,200 cycles"
    assert item.met is met
    assert not _item(_evidence(regression={"icarus": {"tiny": run}}), "The regression of presets in Icarus").met


def test_the_regression_is_met_by_all_of_its_shards() -> None:
    claim = "All stimuli on all configurations"
    item = _item(_evidence(regression={"regression": {"1/2": _SUITE}}), claim)
    assert item.figure == "5 tests passed, 0 failed, 2 skipped (no OpenSTA), 20 minutes; 1 of 2 shards"
    assert not item.met
    item = _item(_evidence(regression={"regression": {"1/2": _SUITE, "2/2": _SUITE}}), claim)
    assert item.figure == "10 tests passed, 0 failed, 4 skipped (no OpenSTA), 40 minutes"
    assert item.met
    assert not _item(_evidence(regression={"regression": {"1/1": _SUITE | {"failed": 1}}}), claim).met


def test_an_item_has_the_commit_of_its_own_run() -> None:
    stamp = {"command": "make test RECORD=1", "commit": "0123456789", "date": "2026-11-20", "digest": rtl_digest()}
    evidence = _evidence(regression=_PASSED | {"stamps": {"test": stamp}})
    for claim in ("The whole test suite", "Formats are written"):
        item = _item(evidence, claim)
        assert (item.commit, item.date) == ("0123456789", "2026-11-20")
    nothing = _item(evidence, "The regression of presets in Icarus")
    assert (nothing.figure, nothing.commit, nothing.date) == ("not recorded", "", "")


@pytest.mark.parametrize(("digest", "code", "says"), [
    (None, 0, ""), ("0" * 16, 1, "missing, or older than the RTL: soak: run make soak RECORD=1\n")])
def test_the_command_fails_when_a_result_is_older_than_the_rtl(
        digest: str | None, code: int, says: str, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    evidence = Evidence.load()
    for section in evidence.sections.values():
        section["stamp"]["digest"] = rtl_digest()
    for name in set(SECTIONS) - set(evidence.sections):
        evidence.record(name, command="make", results={"mutants": {}} if name == "mutation" else {})
    if digest is not None:
        evidence.sections["soak"]["stamp"]["digest"] = digest
    monkeypatch.setattr(Evidence, "load", lambda: evidence)
    assert sign_off.main() == code
    said = capsys.readouterr()
    assert said.err == says
    assert ("older than the RTL" in said.out) is (digest is not None)


def test_the_command_says_what_is_wrong_with_the_store(monkeypatch: pytest.MonkeyPatch,
                                                       capsys: pytest.CaptureFixture[str]) -> None:
    def load() -> Evidence:
        raise ValueError("verification.json is not JSON")

    monkeypatch.setattr(Evidence, "load", load)
    assert sign_off.main() == 2
    assert capsys.readouterr().err == "verification.json is not JSON\n"


def test_proofs_are_met_by_all_of_the_table() -> None:
    every = {proof.name: {"outcome": "passed", "how": proof.how} for proof in PROOFS}
    item = _item(_evidence(formal={"proofs": every}), "Proofs pass")
    assert item.met
    assert item.figure.startswith(f"{len(PROOFS)} of {len(PROOFS)} passed: ")
    some = dict(list(every.items())[2:])
    item = _item(_evidence(formal={"proofs": some}), "Proofs pass")
    assert not item.met
    assert item.figure.startswith(f"{len(some)} of {len(PROOFS)} passed") and item.figure.endswith("; 2 not recorded")
    failed = every | {PROOFS[0].name: {"outcome": "timeout", "how": ""}}
    assert not _item(_evidence(formal={"proofs": failed}), "Proofs pass").met


def test_stale_sections_are_named() -> None:
    assert stale_sections(Evidence()) == list(SECTIONS)
    assert "regression" not in stale_sections(_evidence(regression=_PASSED))
    assert "regression" in stale_sections(_evidence(regression=_PASSED), "0" * 16)


def test_tests_of_the_checklist_exist() -> None:
    assert all((ROOT / each.tests).exists() for each in items_of._TESTED)


def test_the_page_has_every_item_with_its_command_and_the_digest() -> None:
    evidence = _evidence(regression=_PASSED)
    text = signoff_page(evidence).markdown()
    for item in checklist(evidence):
        assert f"| {item.claim} | {item.target} |" in text
        assert f"`{item.command}`" in text
    assert rtl_digest() in text
    assert "What is not covered" in text
