"""``cdma plan``, and plans in ``cdma simulate --plan``."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.commands.plan import CODINGS
from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.narrowing import narrow
from cdma.hdl.config.engine import load_engine
from cdma.workload.data import shipped
from cdma.workload.plan import codings
from tests.extended import extended

NARROWING = ("--set", "narrowing=true")


@pytest.fixture
def dump(tmp_path: Path) -> dict[str, np.ndarray]:
    """Arrays in dump.npz: sparse, dense, and of 16-bit values."""
    rng = np.random.default_rng(9)
    arrays: dict[str, Any] = {"sparse": np.maximum(rng.standard_normal((3, 7, 1100)), 0).astype(np.float32),
                              "dense": rng.standard_normal(20_000).astype(np.float32),
                              "half": np.maximum(rng.standard_normal(3000), 0).astype(np.float16)}
    np.savez(tmp_path / "dump.npz", **arrays)
    return arrays


def chosen(outcome: Any) -> dict[str, str]:
    return {row["name"]: row["treatment"] for row in outcome["tensors"]}


def test_a_dump(cdma: Callable[..., Any], dump: dict[str, np.ndarray]) -> None:
    found = cdma("plan", "dump.npz", "--hide", "dense=100", "--codings", "zvc", "--json").json
    assert chosen(found) == {"sparse": "zvc32", "dense": "raw", "half": "zvc16"}
    for row in found["tensors"]:
        array = dump[row["name"]]
        raw = row["treatment"] == "raw"
        assert row["packed_bytes"] == blocks.compress(array, 0x10 | array.itemsize, leave_raw=raw).size
        assert row["density"] == np.count_nonzero(array) / array.size
        assert row["exposed_us"] == pytest.approx(0 if raw else row["offload_us"] + row["prefetch_us"])
    totals = found["totals"]
    assert totals["plan"]["packed_bytes"] == sum(row["packed_bytes"] for row in found["tensors"])
    assert totals["plan"]["exposed_us"] <= min(totals["always"]["exposed_us"], totals["never"]["exposed_us"])
    assert (found["clock_mhz"], found["link_gb_per_s"], found["engine"]["name"]) == (1000.0, 12.8, "cdma_engine")
    text = cdma("plan", "dump.npz", "--array", "dense", "--engine", "wide", "--link", 100, "--latency", 10).out
    # No faster than its port.
    assert "a link of 64 GB/s, memories answer after 10 cycles" in text
    assert "always ZVC" in text and "always raw" in text and "sparse" not in text


def test_lossy(cdma: Callable[..., Any], dump: dict[str, np.ndarray]) -> None:
    zvc = ("--codings", "zvc")
    found = cdma("plan", "dump.npz", *NARROWING, *zvc, "--lossy", "bfloat16", "--lossy", "float16", "--json").json
    assert chosen(found) == {"sparse": "float16+zvc16", "dense": "float16", "half": "zvc16"}
    dense = found["tensors"][1]
    assert dense["rounding"]["max_relative"] == dense["error"] < 2 ** -11
    coarse = cdma("plan", "dump.npz", *NARROWING, *zvc, "--lossy", "bfloat16", "--max-error", 1e-4, "--json").json
    assert chosen(coarse) == {"sparse": "zvc32", "dense": "raw", "half": "zvc16"}
    assert "mean relative" in cdma("plan", "dump.npz", *NARROWING, "--lossy", "bfloat16").out


def test_codings(cdma: Callable[..., Any], fails: Callable[..., str], dump: dict[str, np.ndarray]) -> None:
    assert cdma("plan", "dump.npz", "--engine", "paper", "--array", "sparse", "--json").json["codings"] == ["zvc"]
    outcome = cdma("plan", "dump.npz", "-o", "plan.json", "--json").json
    assert chosen(outcome) == {"sparse": "exp32", "dense": "exp32", "half": "exp16"}
    assert outcome["codings"] == ["zvc", "exponents"]
    for row in outcome["tensors"]:
        assert row["coding"] == ("bfloat16" if row["name"] == "half" else "float32")
        assert row["packed_bytes"] == blocks.compress(dump[row["name"]], Coding[row["coding"].upper()]).size
    assert "none with exponents: leave exponents out of --codings, or build them" in fails(
        "plan", "dump.npz", "--engine", "paper", "--codings", "zvc,exponents")
    # The Verilog of the engine is not even generated for it.
    assert "the plan is for cdma_engine with codings" in fails(
        "simulate", "--engine", "engine", "--set", "codings=zvc16,zvc32", "--plan", "plan.json", "dump.npz")
    rounded = cdma("plan", "dump.npz", *NARROWING, "--lossy", "bfloat16", "--json").json
    assert chosen(rounded) == {"sparse": "bfloat16+exp16", "dense": "bfloat16+exp16", "half": "exp16"}
    network = cdma("plan", "vgg16", "--policy", "conv", "--json").json["tensors"]
    assert {option["coding"] for row in network for option in row["options"] if option["treatment"] == "zvc32"} == {
        "zvc32"}


def test_networks(cdma: Callable[..., Any], tmp_path: Path) -> None:
    found = cdma("plan", "vgg16", "--gpu", "v100", "--policy", "conv", "--json").json
    assert len(found["tensors"]) == 13
    assert found["totals"]["plan"]["exposed_us"] <= found["totals"]["always"]["exposed_us"] * (1 + 1e-9)
    assert found["totals"]["always"]["exposed_us"] < found["totals"]["never"]["exposed_us"]
    measured = cdma("plan", "squeezenet", "--densities", shipped(), "-o", "plan.json").out
    assert "exposed ms" in measured and "plan: plan.json" in measured
    assert json.loads((tmp_path / "plan.json").read_text())["source"] == "squeezenet"


def test_the_codings_of_the_parser_are_those_of_plans() -> None:
    assert CODINGS == codings.CODINGS


def test_a_training_run(cdma: Callable[..., Any], tmp_path: Path) -> None:
    found = cdma("plan", "--tune", "--hide", 2, "--iterations", 60, "--json").json
    rules = {row["rule"]: row for row in found["rows"]}
    assert list(rules) == ["never", "always", "tuned", "best for the run", "best of each iteration"]
    assert found["iterations"] == 60 and len(found["tensors"]) == 7
    assert rules["tuned"]["exposed_us"] <= rules["always"]["exposed_us"] + rules["tuned"]["trial_cost_us"] + 1e-6
    for tensor in found["tensors"]:
        runs = tensor["runs"]
        assert (runs[0]["first"], runs[-1]["last"]) == (0, 59)
        assert all(before["last"] + 1 == after["first"] for before, after in pairwise(runs))
    text = cdma("plan", "--tune", *NARROWING, "--lossy", "bfloat16", "--hide", "conv1=9", "--plot", "run.svg").out
    assert "always lossy" in text and "plot: run.svg" in text
    assert (tmp_path / "run.svg").read_text().startswith("<svg")


def test_a_dump_of_a_training_is_planned_by_layer(cdma: Callable[..., Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    arrays: dict[str, Any] = {f"p{percent:03}/conv": np.maximum(rng.standard_normal(5000) - percent / 50, 0).astype(
        np.float32) for percent in (0, 50, 100)}
    np.savez(tmp_path / "run.npz", **arrays)
    done = cdma("plan", "run.npz", "--hide", "conv=1.2", "--json")
    assert done.code == 0, done.err
    assert [(row["name"], row["arrays"]) for row in done.json["tensors"]] == [("conv", list(arrays))]
    assert done.json["totals"]["plan"]["packed_bytes"] == done.json["tensors"][0]["packed_bytes"]
    text = cdma("plan", "run.npz", "-o", "plan.json").out
    assert "per layer, the mean of 3 steps of training" in text and "p050" not in text
    assert list(json.loads((tmp_path / "plan.json").read_text())["tensors"]) == list(arrays)


def test_a_plan_on_the_simulated_engine(cdma: Callable[..., Any], dump: dict[str, np.ndarray],
                                        build_dir: Path) -> None:
    call = ["--array", "sparse", "--array", "dense"]
    cdma("plan", "dump.npz", *call, "--engine", "tiny", "--codings", "zvc", "--link", 8, "--latency", 30,
         "--hide", "dense=20", "-o", "plan.json")
    found = cdma("simulate", "--engine", "tiny", "--plan", "plan.json", "dump.npz", *call, "--build-dir", build_dir,
                 "--json").json
    assert [row["treatment"] for row in found["arrays"]] == ["zvc32", "raw"]
    assert (found["latency"], found["link_gb_per_s"], found["passed"]) == (30, 8.0, True)
    for row in found["arrays"]:
        assert row["packed_bytes"] == row["predicted"]["packed_bytes"]
        assert abs(row["error"]["offload"]) < 0.03 and abs(row["error"]["prefetch"]) < 0.03
        # The link carries a beat in half of the cycles.
        assert row["offload_cycles"] > row["packed_bytes"] / 8
    blocks_ = -(-dump["dense"].nbytes // load_engine("tiny").block_bytes)
    assert found["arrays"][1]["raw_blocks"] == blocks_
    # Without --engine on the plan's; another latency shows in the error.
    text = cdma("simulate", "--plan", "plan.json", "dump.npz", "--array", "sparse", "--latency", 0, "--build-dir",
                build_dir).out
    assert "memories answer after 0 cycles" in text and "1 passed, 0 failed" in text


@extended
def test_a_lossy_plan_on_the_simulated_engine(cdma: Callable[..., Any], dump: dict[str, np.ndarray],
                                              build_dir: Path) -> None:
    call = ["--array", "sparse", "--array", "dense"]
    engine = ["--engine", "tiny", *NARROWING, "--set", "codings=zvc16,zvc32"]
    cdma("plan", "dump.npz", *call, *engine, "--link", 8, "--lossy", "bfloat16", "-o", "plan.json")
    found = cdma("simulate", *engine, "--plan", "plan.json", "dump.npz", *call, "--build-dir", build_dir, "--json").json
    assert [row["treatment"] for row in found["arrays"]] == ["bfloat16+zvc16", "bfloat16"]
    size = load_engine("tiny").block_bytes // 2
    for row, raw in zip(found["arrays"], (False, True), strict=True):
        stream = blocks.compress(narrow(dump[row["name"]], 1), Coding.ZVC16, size, leave_raw=raw)
        assert row["passed"] and row["packed_bytes"] == row["predicted"]["packed_bytes"] == stream.size
        assert abs(row["error"]["offload"]) < 0.03 and abs(row["error"]["prefetch"]) < 0.03
