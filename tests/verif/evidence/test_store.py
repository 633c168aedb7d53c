"""The store of results: what is recorded is read again, shards join, and results of other RTL are known as stale."""

from pathlib import Path
from typing import Any

import pytest

from cdma.__main__ import main
from cdma.verif.evidence import store
from cdma.verif.evidence.digest import rtl_digest
from cdma.verif.evidence.store import RECORDED, Evidence, recording, stamp_now


def _sum(old: dict[str, Any] | None, part: dict[str, Any]) -> dict[str, Any]:
    return {"minutes": part["minutes"] + (old["minutes"] if old else 0)}


def test_what_is_recorded_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "verification.json"
    with recording(path) as evidence:
        evidence.record("soak", command="make soak", results={"minutes": 3})
    evidence = Evidence.load(path)
    stamp = evidence.stamp("soak")
    assert stamp is not None
    assert (stamp.command, stamp.digest) == ("make soak", rtl_digest())
    assert evidence.results("soak") == {"minutes": 3}
    assert not evidence.stale("soak")
    assert evidence.stale("soak", digest="0" * 16)


def test_a_missing_store_is_empty_and_all_of_it_stale(tmp_path: Path) -> None:
    evidence = Evidence.load(tmp_path / "verification.json")
    assert evidence.section("formal") is None and evidence.results("formal") is None
    assert evidence.stale("formal")


def test_parts_join_and_begin_anew_with_other_rtl() -> None:
    evidence = Evidence()
    for _ in range(2):
        evidence.merge("soak", command="make soak", part={"minutes": 4}, join=_sum)
    assert evidence.results("soak") == {"minutes": 8}
    evidence.sections["soak"]["stamp"]["digest"] = "0" * 16
    evidence.merge("soak", command="make soak", part={"minutes": 5}, join=_sum)
    assert evidence.results("soak") == {"minutes": 5}


def test_a_failure_while_recording_leaves_the_old_store(tmp_path: Path) -> None:
    path = tmp_path / "verification.json"
    with recording(path) as evidence:
        evidence.record("formal", command="make formal", results={})
    with pytest.raises(RuntimeError), recording(path) as evidence:
        evidence.record("formal", command="other", results={})
        raise RuntimeError
    stamp = Evidence.load(path).stamp("formal")
    assert stamp is not None and stamp.command == "make formal"


@pytest.mark.parametrize("text", ["{", "[]", '{"proofs": {}}', '{"formal": {"stamp": {}}}',
                                  '{"formal": {"stamp": {"command": ""}, "results": {}}}'])
def test_a_file_that_is_no_store_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "verification.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"verification\.json is no"):
        Evidence.load(path)


@pytest.mark.parametrize("call", [("prove", "skid"), ("cover", "--only", "tiny/faults"), ("soak", "--streams", "1"),
                                  ("mutate", "--only", "hdl/common/skid.py")])
@pytest.mark.parametrize(("text", "says"), [("{", "is not JSON"), (None, "record in a clone of the repository")])
def test_commands_that_record_look_at_the_store_first(call: tuple[str, ...], text: str | None, says: str,
                                                      tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "docs" / "verification.json"
    if text is not None:
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(store, "RECORDED", path)
    assert main([*call, "--record"]) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert (said.err.count("\n"), said.out) == (1, "")


def test_a_part_has_the_stamp_of_its_own_run() -> None:
    evidence = Evidence()
    first = stamp_now("make test RECORD=1")
    evidence.record("regression", command="make icarus RECORD=1", results={"stamps": {"test": first}})
    assert evidence.stamp("regression", "test") == first
    other = evidence.stamp("regression", "icarus")
    assert other is not None and other.command == "make icarus RECORD=1"


def test_unknown_sections_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no section proofs: the sections are formal"):
        Evidence().record("proofs", command="", results={})
    with pytest.raises(ValueError, match="is not a folder"), recording(tmp_path / "none" / "verification.json"):
        pass


def test_the_committed_store_can_be_read() -> None:
    evidence = Evidence.load(RECORDED)
    assert all(evidence.stamp(name) is not None for name in evidence.sections)
