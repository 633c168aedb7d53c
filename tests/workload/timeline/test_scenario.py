"""Scenarios: what they put together, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cdma.workload.timeline.engine_share import measured, presets
from cdma.workload.timeline.profiles import load_profile
from cdma.workload.timeline.scenario import Scenario, build_engine


def test_engine_of_a_preset() -> None:
    engine = build_engine("tiny", 100)
    assert (engine.lanes, engine.beat_bytes, engine.link_beat_bytes, engine.clock_mhz) == (1, 16, 16, 100)
    assert engine.lane_bandwidth == engine.link_port_bandwidth == 1.6e9
    assert engine.reach("offload", 1.0) == measured("tiny")("offload", 1.0)


def test_engine_with_other_dimensions_and_shares() -> None:
    engine = build_engine(lanes=3, beat_bytes=64, share=0.5)
    assert (engine.lanes, engine.beat_bytes, engine.link_beat_bytes) == (3, 64, 32)
    assert engine.reach("prefetch", 2.0).share == 0.5
    with pytest.raises(ValueError, match=f"no measured cycles of an engine 'huge': give {', '.join(presets())}, or"):
        build_engine("huge")
    with pytest.raises(ValueError, match=r"cannot read gone\.json"):
        build_engine(share="gone.json")


def test_study_by_hand(tmp_path: Path) -> None:
    # 40,000 bytes of input at 10^7 bytes a second take 4 ms beside 3 ms; the second layer's input stays. The engine
    # starts at once and reaches all: the input, full of values, goes raw, 4,100 bytes for each 4,096.
    (tmp_path / "net.json").write_text(json.dumps({"batch": 100, "input": [1, 10, 10], "layers": [
        {"kind": "conv", "name": "a", "channels": 2, "kernel": 1},
        {"kind": "conv", "name": "b", "channels": 1, "kernel": 1, "relu": False}]}))
    (tmp_path / "times.json").write_text(json.dumps({"a": {"forward_ms": 3, "backward_ms": 5},
                                                     "b": {"forward_ms": 1, "backward_ms": 2.5}}))
    scenario = Scenario(str(tmp_path / "net.json"), link=0.01, engine=build_engine(share=1.0),
                        profile=load_profile(tmp_path / "times.json"))
    rows = scenario.study().rows
    assert [rows[name].seconds for name in ("oracle", "vdnn")] == pytest.approx([0.0115, 0.014])
    assert rows["zvc"].seconds == pytest.approx(0.014 + 2 * 0.004 * 4 / 4096, rel=1e-4)


def test_what_is_refused() -> None:
    for scenario, says in ((Scenario("nin", "k80"), "there is no GPU 'k80'"),
                           (Scenario("nin", policy="some"), "there is no policy 'some'"),
                           (Scenario("nin", policy="budget"), "the policy budget needs a budget"),
                           (Scenario("nin", shards=0), "shared by 1 GPU or more, not 0"),
                           (Scenario("nin", efficiency=0.0), "efficiency must be above 0")):
        with pytest.raises(ValueError, match=says):
            scenario.study()
