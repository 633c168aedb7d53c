"""What the engine reaches: transfers worked out on paper, and the shipped table against the measurements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.golden.results import to_json
from cdma.hdl.config.engine import load_engine
from cdma.workload.timeline.engine_share import DIRECTIONS, constant, from_file, measured, presets, summary

ROOT = Path(__file__).resolve().parents[3]


def row(direction: str, packed: int, cycles: int, share: float, **other: Any) -> dict[str, Any]:
    """A transfer of 8,000 bytes through 2 lanes of 10 bytes and a link of 5."""
    limit = min(20, 5 * 8000 / packed)
    return {"name": "mine", "lanes": 2, "beat_bytes": 10, "link_beat_bytes": 5, "direction": direction,
            "raw_bytes": 8000, "packed_bytes": packed, "cycles": cycles, "limit": limit, "share": share} | other


ROWS = [
    # 1,000 bytes over the link take 200 cycles, 8,000 over the lanes 400: the balance is 0.5. Busy for 0.8 of 500
    # cycles; the transfer took 520.
    row("offload", 1000, 520, 0.8),
    # 4,000 over the link take 800: balance 2. Busy for 0.5 of 1,600 cycles, of 1,610; and in another run, where its
    # memories pause in half of the cycles, for 0.4 of 4,000, of 4,050.
    row("offload", 4000, 1610, 0.5), row("offload", 4000, 4050, 0.4, limit=5),
    # Luck: more than all of it, which counts as all. 800 / 1.25 are 640 cycles.
    row("prefetch", 4000, 650, 1.25)]


def test_points_by_hand() -> None:
    assert to_json(summary(ROWS)) == {"mine": {
        "lanes": 2, "beat_bytes": 10, "link_beat_bytes": 5,
        "offload": [[0.5, 0.8, 20.0], [2.0, 0.4, 50.0]], "prefetch": [[2.0, 1.0, 10.0]]}}


def test_between_points_and_beyond(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    path.write_text(json.dumps({"engine": ROWS}))
    engine = from_file(path)
    assert (engine.lanes, engine.beat_bytes, engine.link_beat_bytes) == (2, 10, 5)
    for balance, share, start in ((0.1, 0.8, 20), (0.5, 0.8, 20), (1.25, 0.6, 35), (2, 0.4, 50), (9, 0.4, 50)):
        found = engine("offload", balance)
        assert (found.share, found.start_cycles) == pytest.approx((share, start))


@given(balance=st.floats(0.01, 100), direction=st.sampled_from(DIRECTIONS), preset=st.sampled_from(presets()))
def test_all_that_is_reached_was_measured(balance: float, direction: str, preset: str) -> None:
    engine = measured(preset)
    found = engine(direction, balance)
    shares = [share for _, share, _ in engine.points[direction]]
    assert min(shares) <= found.share <= max(shares) <= 1
    assert found.start_cycles >= 0


@pytest.mark.parametrize("preset", presets())
def test_measured_cycles_come_back(preset: str) -> None:
    # Start and streaming together are never less than what was measured, and little more than the slower of both runs.
    figures = json.loads((ROOT / "bench/performance.json").read_text(encoding="utf-8"))["engine"]
    config, engine = load_engine(preset), measured(preset)
    assert (engine.lanes, engine.beat_bytes, engine.link_beat_bytes) == (
        config.lanes, config.beat_bytes, config.link_beat_bytes)
    own = [entry for entry in figures if entry["name"] == config.name and entry["stalls"] == 0]
    assert own
    for entry in own:
        balance = config.lanes * config.beat_bytes / (
            entry["raw_bytes"] / entry["packed_bytes"] * config.link_beat_bytes)
        found = engine(entry["direction"], balance)
        cycles = found.start_cycles + entry["raw_bytes"] / (found.share * entry["limit"])
        assert entry["cycles"] - 1 <= cycles <= 1.06 * entry["cycles"], entry


@pytest.mark.parametrize("preset", presets())
def test_cycles_of_a_network_are_foretold(preset: str) -> None:
    # The points come from even densities; these are the arrays of a network, through the same simulated engine, with
    # all that a descriptor takes. Where an array is dense here and sparse there, lanes and link limit by turns: most of
    # all where both are as fast over the whole array, as the lanes of lean are at the ratio 2.
    figures = json.loads((ROOT / "bench/performance.json").read_text(encoding="utf-8"))["engine_shipped"]
    engine = measured(preset)
    arrays = next(entry for entry in figures if entry["engine"] == load_engine(preset).name)["arrays"]
    lanes = engine.lanes * engine.beat_bytes
    for direction in DIRECTIONS:
        foretold, took = [], []
        for entry in arrays:
            through = entry["raw_bytes"] / entry["packed_bytes"] * engine.link_beat_bytes
            reached = engine(direction, lanes / through)
            foretold.append(reached.start_cycles + entry["raw_bytes"] / (reached.share * min(lanes, through)))
            took.append(entry[f"{direction}_cycles"])
        assert len(took) == 11
        assert foretold == pytest.approx(took, rel=0.12 if preset == "lean" else 0.09), direction
        assert sum(foretold) == pytest.approx(sum(took), rel=0.025 if preset == "lean" else 0.02), direction


def test_engine_of_as_many_lanes(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    other = [entry | {"name": "other", "lanes": 4} for entry in ROWS]
    path.write_text(json.dumps({"engine": ROWS + other}))
    assert [from_file(path, lanes).lanes for lanes in (None, 2, 4, 8)] == [2, 2, 4, 2]


@pytest.mark.parametrize(("content", "says"), [
    ("{", "is not JSON"), ("{}", "must have a list 'engine'"), ('{"engine": [3]}', "must have a list 'engine'"),
    (json.dumps({"engine": ROWS[:1]}), "no engine with both a measured offload and a measured prefetch"),
    (json.dumps({"engine": [ROWS[0] | {"name": way, "direction": way} for way in ("offload", "prefetch")]}),
     "no engine with both"),
    (json.dumps({"engine": [ROWS[0] | {"share": 0}]}), "must have a list 'engine'")])
def test_files_without_figures(content: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=says):
        from_file(path)
    with pytest.raises(ValueError, match="cannot read"):
        from_file(tmp_path / "gone.json")


def test_constant() -> None:
    found = constant(0.75)("offload", 3.0)
    assert (found.share, found.start_cycles) == (0.75, 0.0)
    for share in (0.0, 1.5):
        with pytest.raises(ValueError, match="must be above 0 and at most 1"):
            constant(share)
