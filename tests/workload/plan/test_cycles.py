"""Predicted cycles of transfers, against cycles counted by hand and measured ones."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from cdma.hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from cdma.workload.data import shipped
from cdma.workload.dumps import load
from cdma.workload.plan.choice import network_tensor
from cdma.workload.plan.cycles import Timing
from cdma.workload.plan.treatments import Treatment, expected, packed
from tests.docs.pages import ROOT
from tests.workload.plan.samples import ONE_LANE, values


def test_one_block_by_hand() -> None:
    # 2,048 bytes without a zero: 128 beats read, 128 past the store; 2,052 bytes take 128.25 link beats to the writer,
    # which has them all before it begins, and as many from it.
    whole = packed(np.ones(512, np.float32).view(np.uint8), Treatment("zvc32"), 2048)
    timing = Timing(ONE_LANE)
    assert timing.offload(whole) == 57 + 128 + 128 + 128.25 + 128.25
    assert timing.prefetch(whole) == 48 + 128.25
    # All zeros: 68 bytes on the link, and the lane writes 128 beats.
    empty = packed(np.zeros(512, np.float32).view(np.uint8), Treatment("zvc32"), 2048)
    assert timing.offload(empty) == 57 + 128 + 128 + 2 * 68 / 16
    assert timing.prefetch(empty) == 48 + 128
    # With identifiers of their own, what is read comes three cycles later.
    assert Timing(ONE_LANE.replace(link_read_ids=2)).prefetch(whole) == 48 + 3 + 128.25
    # Memories that answer later: once to be read, once to answer the write.
    assert Timing(ONE_LANE, latency=100).prefetch(empty) == 48 + 128 + 200
    # Three lanes: the first one is found in as many cycles as the number of a block has bits.
    three = Timing(ONE_LANE.replace(lanes=3))
    assert three.prefetch(empty) == 48 + 128 + (40 - 11)


def test_long_transfers_are_bound_by_link_or_lanes() -> None:
    raw = values(1, 1 << 20, 0.4).view(np.uint8)
    blocks_ = packed(raw, Treatment("zvc32"), 4096)
    slow, fast = Timing(EngineConfig(), link=4.0), Timing(EngineConfig(lanes=1, link_beat_bytes=64))
    for way in ("offload", "prefetch"):
        assert getattr(slow, way)(blocks_) == pytest.approx(blocks_.packed_bytes / 4, rel=0.005)
        assert getattr(fast, way)(blocks_) == pytest.approx(raw.size / 32, rel=0.005)
    offload, prefetch = slow.rough(raw.size, blocks_.packed_bytes)
    assert (offload, prefetch) == pytest.approx((slow.offload(blocks_), slow.prefetch(blocks_)), rel=0.01)


def test_far_memories_limit_what_is_outstanding() -> None:
    # Of a lane, four bursts of a block of 128 beats in 1,000 + 128 cycles, whatever the density.
    empty = packed(np.zeros(100 * 512, np.float32).view(np.uint8), Treatment("zvc32"), 2048)
    timing = Timing(ONE_LANE, latency=1000)
    for way in ("offload", "prefetch"):
        assert getattr(timing, way)(empty) == pytest.approx(100 * (1000 + 128) / 4 + 2000, rel=0.02)
    # Of the link, two bursts of 256 beats, if its reads have two identifiers.
    dense = packed(np.ones(200 * 512, np.float32).view(np.uint8), Treatment("zvc32"), 2048)
    two = Timing(ONE_LANE.replace(link_read_ids=2), latency=1000)
    assert two.prefetch(dense) == pytest.approx(dense.packed_bytes / 8192 * (1003 + 256) + 2000, rel=0.02)
    assert two.offload(dense) == timing.offload(dense)


@pytest.mark.parametrize("preset", engine_preset_names())
def test_measured_cycles_of_the_shipped_dump(preset: str) -> None:
    config = load_engine(preset)
    figures = json.loads((ROOT / "bench/performance.json").read_text(encoding="utf-8"))["engine_shipped"]
    rows = next(entry["arrays"] for entry in figures if entry["engine"] == config.name)
    timing, arrays = Timing(config), load(shipped())
    for row in rows:
        found = packed(arrays[row["name"]].reshape(-1).view(np.uint8), Treatment(row["coding"]), config.block_bytes)
        assert (found.packed_bytes, found.raw_blocks) == (row["packed_bytes"], row["raw_blocks"])
        assert timing.offload(found) == pytest.approx(row["offload_cycles"], rel=0.02), row["name"]
        assert timing.prefetch(found) == pytest.approx(row["prefetch_cycles"], rel=0.02), row["name"]


def test_alike_blocks_are_extended() -> None:
    # More blocks than are worked out one by one.
    timing = Timing(EngineConfig(), link=12.8)
    tensor = network_tensor("t", 4096 * 3000 + 40, 4, 0.4, timing)
    for option in tensor.options:
        whole = expected(tensor.raw_bytes, 0.4, option.how, 4096)
        assert option.offload_cycles == pytest.approx(timing.offload(whole), rel=1e-3)
        assert option.prefetch_cycles == pytest.approx(timing.prefetch(whole), rel=1e-3)


@pytest.mark.parametrize(("arguments", "says"), [
    ({"link": 0.0}, "must carry more than 0 bytes"), ({"latency": -1}, "must be 0 cycles or more")])
def test_timing_refuses(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Timing(ONE_LANE, **arguments)
