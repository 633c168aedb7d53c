"""``cdma mutate``: which mutants it chooses, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cdma.__main__ import main
from cdma.verif.evidence.store import Evidence

SKID = "hdl/common/skid.py"


@pytest.mark.parametrize(("call", "says"), [
    (["--before", "none.json"], "--before: there is no file none.json; git show COMMIT:docs/verification.json writes"),
    (["--before", __file__], "is no store of results; git show COMMIT:docs/verification.json writes"),
    (["--only", "hdl/none.py"], "there is no mutant 'hdl/none.py': see 'cdma mutate --list'"),
    (["--only", SKID, "--changed"], "give one of them"),
    (["--since", "HEAD"], "give --changed as well"),
    (["--changed", "--since", "no-such-commit"], "git does not know what changed since no-such-commit"),
    (["--again", "lost"], "--again must be one of own, other, survived"),
    (["--only", SKID, "--times", "none.xml"], "none.xml does not exist: give a file that pytest --junitxml wrote"),
    (["--only", SKID, "--times", __file__], "is no JUnit file of pytest"),
    (["--only", SKID, "--count", "4"], "--only takes no sample: leave --count out"),
    (["--list", "--record"], "--list tries nothing: leave --record out"),
    (["--shard", "3/2"], "must be a part and the number of parts"),
])
def test_wrong_calls(capsys: pytest.CaptureFixture[str], tmp_path: Path, call: list[str], says: str) -> None:
    try:
        code = main(["mutate", *call, "--folder", str(tmp_path)])
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert says in capsys.readouterr().err


def test_what_is_not_recorded_cannot_be_tried_again(capsys: pytest.CaptureFixture[str],
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Evidence, "load", Evidence)
    assert main(["mutate", "--again", "survived"]) == 2
    assert "has no mutants yet: run cdma mutate --record first" in capsys.readouterr().err


def test_lists_of_shards_are_the_sample(capsys: pytest.CaptureFixture[str]) -> None:
    def listed(*more: str) -> list[str]:
        assert main(["mutate", "--list", "--count", "20", *more]) == 0
        return capsys.readouterr().out.split("\n")[:-1]

    every = listed()
    assert len(every) == 20
    assert sorted([*listed("--shard", "1/2"), *listed("--shard", "2/2")]) == sorted(every)
    assert listed("--seed", "2") != every


def test_one_mutant_is_tried(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["mutate", "--list", "--only", SKID, "--json"]) == 0
    names = [each["name"] for each in json.loads(capsys.readouterr().out)]
    name = next(each for each in names if each.endswith("drop full.eq(0)"))
    times = tmp_path / "test.xml"
    times.write_text('<testsuites><testcase classname="tests.hdl.common.test_skid" time="3"/></testsuites>',
                     encoding="utf-8")
    assert main(["mutate", "--only", name, "--times", str(times), "--folder", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "1 of 1 killed (100.0%), 1 of them by the unit's own tests" in out
    assert json.loads((tmp_path / "log.jsonl").read_text(encoding="utf-8"))["verdict"] == "own"
