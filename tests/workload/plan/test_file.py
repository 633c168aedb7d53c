"""Plans as files: written and read again, and files that are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cdma.workload.plan.choice import dump_tensor, plan_dump
from cdma.workload.plan.cycles import Timing
from cdma.workload.plan.file import load_plan, plan_file
from cdma.workload.plan.treatments import Treatment
from tests.workload.plan.samples import NARROWING, values


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A plan of two tensors."""
    timing = Timing(NARROWING, 12.8)
    several = [dump_tensor(name, values(1, count, 0.5), timing, ("bfloat16",))
               for name, count in (("first", 4000), ("second", 3000))]
    plan_file(plan_dump(several, lambda name: 0.0, 1000.0), "dump.npz", timing, 1000.0).write(tmp_path / "plan.json")
    return tmp_path / "plan.json"


def test_a_plan_comes_back(written: Path) -> None:
    plan = load_plan(written)
    assert (plan.engine, plan.clock_mhz, plan.latency) == (NARROWING, 1000.0, 0)
    assert plan.link_gb_per_s == pytest.approx(12.8) and plan.link_share == pytest.approx(0.4)
    assert {name: entry.how for name, entry in plan.tensors.items()} == dict.fromkeys(
        ("first", "second"), Treatment("bfloat16", narrow=1))
    plan.check(NARROWING, {"second": 12_000})
    for arguments, says in (((NARROWING, {"third": 4}), "has no tensor third"),
                            ((NARROWING, {"first": 12_000}), "first has 12000 bytes, but 16000 in the plan"),
                            ((NARROWING.replace(lanes=2), {}), "with lanes 4, not for cdma_engine with lanes 2")):
        with pytest.raises(ValueError, match=says):
            plan.check(*arguments)


@pytest.mark.parametrize(("change", "says"), [
    ({"kind": "menu"}, "is not a plan"), ({"version": 1}, "plan of version 1, .* make it again"),
    ({"version": None}, "version None"), ({"latency": -1}, "latency must be a whole number of 0 or more"),
    ({"clock_mhz": 0}, "clock_mhz must be a number above 0"),
    ({"latency": 1.5}, "latency must be int, not float"),
    ({"link_gb_per_s": "fast"}, "link_gb_per_s must be float, not str"),
    ({"tensors": []}, "tensors must be dict, not list"),
    ({"engine": {"lanes": 77}}, "lanes must be 1 to 16"), ({"engine": {"wings": 2}}, "wings"),
    ({"tensors": {"t": 3}}, r"tensors\['t'\] must be dict, not int"),
])
def test_damaged_plans(written: Path, change: dict[str, Any], says: str) -> None:
    written.write_text(json.dumps(json.loads(written.read_text()) | change))
    with pytest.raises(ValueError, match=says) as error:
        load_plan(written)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("change", "says"), [
    ({"raw_bytes": 15_999}, "no whole number of the elements of bfloat16"),
    ({"narrow": 3}, "narrow must be 0, 1 or 2"), ({"coding": "zvc32"}, "what is rounded is float32.* not as zvc32"),
    ({"narrow": 2}, "what is rounded is float32.* not as bfloat16"),
    ({"leave_raw": True, "fallback": False}, "leave_raw needs fallback"),
    ({"fallback": 1}, "fallback must be bool, not int"),
    ({"coding": 2}, "coding must be str, not int"), ({"latency": -1}, "has 'latency'"),
    ({"coding": "lines16"}, "coding must be one of zvc8, .*, not 'lines16'"),
    ({"predicted": None}, "predicted must be dict, not NoneType"),
    ({"raw_bytes": -4}, "raw_bytes must be a number of 0 or more"),
])
def test_damaged_tensors(written: Path, change: dict[str, Any], says: str) -> None:
    content = json.loads(written.read_text())
    content["tensors"]["first"] |= change
    written.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=f"(tensor first|'first').*{says}"):
        load_plan(written)


def test_plans_for_less_than_they_need(written: Path) -> None:
    content = json.loads(written.read_text())
    written.write_text(json.dumps(content | {"engine": replace(NARROWING, narrowing=False).as_dict()}))
    with pytest.raises(ValueError, match="has no stage that rounds"):
        load_plan(written)
    for entry in content["tensors"].values():
        entry["narrow"] = 0
    plain = replace(NARROWING, narrowing=False, codings=("zvc16", "zvc32"))
    written.write_text(json.dumps(content | {"engine": plain.as_dict()}))
    with pytest.raises(ValueError, match=r"the plan moves first as exp16 in blocks of bfloat16, which cdma_engine "
                                         r"does not build \(it builds zvc16, zvc32\): make a plan for this"):
        load_plan(written)


@pytest.mark.parametrize("content", [None, "{", "[]"])
def test_no_plan_at_all(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "plan.json").write_text(content)
    with pytest.raises(ValueError, match=r"plan\.json"):
        load_plan(tmp_path / "plan.json")
