"""What is measured of engines: the share of what their ports let through, and how it grows with the lanes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdma.golden.codec.coding import Coding
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.verif.engine.throughput import (
    LATENCIES,
    QUICK,
    SLOW,
    WAYS,
    fragments,
    measure,
    paged,
    scaling,
    written_back,
)
from tests.extended import extended


def _share(row: dict[str, Any]) -> float:
    """How busy the busier side was, of what stalls leave of it."""
    return max(row["link_busy"], row["lanes_busy"]) / (1 - row["stalls"])


@pytest.mark.parametrize(("how", "least"), [(QUICK, 0.98), (SLOW, 0.96)], ids=["quick", "slow"])
@pytest.mark.parametrize("preset", ["tiny", "engine"])
def test_ports_are_busy(preset: str, how, least: float, build_dir: Path) -> None:
    rows = measure(load_engine(preset), [0.0, 0.4, 1.0], how, raw_bytes=1 << 19, build_dir=build_dir)
    assert {row["direction"] for row in rows} == {"offload", "prefetch"}
    for row in rows:
        assert row["bytes_per_cycle"] <= row["limit"] * 1.02, "more went through than ports of these widths carry"
        assert _share(row) >= least, row


def test_sparse_and_dense_tensors(build_dir: Path) -> None:
    """What the table of lanes consists of: codings that are not built are left out."""
    config = load_engine("tiny")
    rows = scaling(config, [config.lanes], raw_bytes=1 << 18, build_dir=build_dir)
    assert [(row["coding"], row["density"], row["direction"]) for row in rows] == [
        (coding, density, direction) for coding, density in (("zvc32", 0.1), ("bfloat16", 1.0))
        for direction in ("offload", "prefetch")]
    assert [row["raw_bytes"] / row["packed_bytes"] > 1.3 for row in rows] == [True] * 4
    assert all(_share(row) >= 0.98 for row in rows)
    assert scaling(config.replace(codings=("zvc16",)), [1], build_dir=build_dir) == []


@extended
def test_streams_in_pages_completions_in_rings_and_fragments(build_dir: Path) -> None:
    """With the smallest pages, the link as the limit, and one engine that has both options."""
    config = EngineConfig(name="cdma_paged", lanes=2, beat_bytes=16, link_beat_bytes=16, block_bytes=512,
                          buffer_bytes=1024, codings=("zvc8",), page_lists=True, write_back=True)
    rows = paged(config, [(Coding.ZVC8, 1.0, 4)], raw_bytes=1 << 18, build_dir=build_dir)
    assert [(row["latency"], row["direction"]) for row in rows] == [
        (latency, direction) for latency in LATENCIES for direction in ("offload", "prefetch")]
    for row in rows:
        assert row["bytes_per_cycle"] >= 0.99 * row["contiguous_bytes_per_cycle"], row
        # This small engine does not hide the latency of all its memories.
        assert row["contiguous_bytes_per_cycle"] > (0.6 if row["latency"] else 0.95) * config.link_beat_bytes, row
    records = written_back(config, [1 << 12], [0, 40], raw_bytes=1 << 16, build_dir=build_dir)
    assert [(row["latency"], row["direction"]) for row in records] == [
        (latency, direction) for latency in (0, 40) for direction in ("offload", "prefetch")]
    for row in records:
        assert row["bytes_per_cycle"] >= 0.9 * row["window_bytes_per_cycle"], row
        # A record waits for the responses to the data.
        assert row["latency"] < row["record_cycles"] < row["latency"] + 100, row
    moved = fragments(config, [512, 1 << 12], [40], raw_bytes=1 << 16, build_dir=build_dir)
    assert [(row["tensor_bytes"], row["way"], row["direction"]) for row in moved] == [
        (size, way, direction) for way in WAYS for size in (512, 1 << 12) for direction in ("offload", "prefetch")]
    assert all(0 < row["share"] < 1.05 for row in moved)
