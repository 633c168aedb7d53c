"""Plans: packed bytes against the golden model, cycles against hand counts and measured ones, choices by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from golden.codec import blocks
from golden.codec.narrowing import Narrowing, narrow
from hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from tests.docs.pages import ROOT
from workload.data import shipped
from workload.dumps import load
from workload.networks.builder import Builder
from workload.networks.tensors import tensors
from workload.plan.choice import Plan, dump_tensor, network_tensor, plan_dump
from workload.plan.cycles import Timing
from workload.plan.file import load_plan, plan_file
from workload.plan.network import plan_network
from workload.plan.options import Option, Tensor
from workload.plan.rounding import rounding
from workload.plan.summary import summary
from workload.plan.treatments import Treatment, expected, packed, treatments
from workload.timeline.compute import Compute

NARROWING = EngineConfig(narrowing=True)
ONE_LANE = EngineConfig(lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=2048, buffer_bytes=4096)
ALL = [Treatment(size, fallback, raw) for size in (1, 2, 4) for fallback, raw in ((True, False), (True, True),
                                                                                 (False, False))]
ALL += [Treatment(2, leave_raw=raw, narrow=form) for raw in (True, False) for form in (1, 2)]


def values(seed: int, count: int, density: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(count) < density, rng.standard_normal(count), 0).astype(np.float32)


# Packed bytes.

@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2 ** 32), st.integers(1, 5000), st.floats(0, 1), st.sampled_from(ALL),
       st.sampled_from([1024, 4096]))
def test_packed_bytes_are_those_of_the_stream(seed: int, count: int, density: float, how: Treatment,
                                              block_bytes: int) -> None:
    array = values(seed, count, density)
    coded = narrow(array, how.narrow) if how.narrow else array
    block = block_bytes // 2 if how.narrow else block_bytes
    stream = blocks.compress(coded, how.element_bytes, block, how.fallback, how.leave_raw)
    found = packed(array.view(np.uint8), how, block_bytes)
    there = list(blocks.headers(stream, block))
    assert found.packed_bytes == stream.size
    assert found.link_bytes.tolist() == [each.end - each.offset for each in there]
    assert found.raw_blocks == sum(each.coding == 0 for each in there)
    assert found.nonzero == np.count_nonzero(coded.view(f"<u{how.element_bytes}"))


@pytest.mark.parametrize("how", [Treatment(4), Treatment(4, leave_raw=True), Treatment(2, narrow=1)])
@pytest.mark.parametrize("density", [0.0, 0.3, 0.97, 1.0])
def test_a_density_gives_what_random_places_give(how: Treatment, density: float) -> None:
    exact = packed(values(3, 50_000, density).view(np.uint8), how, 4096)
    assert expected(200_000, density, how, 4096).packed_bytes == pytest.approx(exact.packed_bytes, rel=0.01)


# Cycles.

def test_one_block_by_hand() -> None:
    # 2,048 bytes without a zero: 128 beats read, 128 past the store; 2,052 bytes take 128.25 link beats to the writer,
    # which has them all before it begins, and as many from it.
    whole = packed(np.ones(512, np.float32).view(np.uint8), Treatment(4), 2048)
    timing = Timing(ONE_LANE)
    assert timing.offload(whole) == 56 + 128 + 128 + 128.25 + 128.25
    assert timing.prefetch(whole) == 46 + 128.25
    # All zeros: 68 bytes on the link, and the lane writes 128 beats.
    empty = packed(np.zeros(512, np.float32).view(np.uint8), Treatment(4), 2048)
    assert timing.offload(empty) == 56 + 128 + 128 + 2 * 68 / 16
    assert timing.prefetch(empty) == 46 + 128
    # Without a store the block is coded while it is read.
    assert Timing(ONE_LANE.replace(raw_fallback=False)).offload(empty) == 56 + 128 + 2 * 68 / 16
    # Memories that answer later: once to be read, once to answer the write.
    assert Timing(ONE_LANE, latency=100).prefetch(empty) == 46 + 128 + 200
    # Three lanes: the first one is found in as many cycles as the number of a block has bits.
    three = Timing(ONE_LANE.replace(lanes=3))
    assert three.prefetch(empty) == 46 + 128 + (40 - 11)


def test_long_transfers_are_bound_by_link_or_lanes() -> None:
    raw = values(1, 1 << 20, 0.4).view(np.uint8)
    blocks_ = packed(raw, Treatment(4), 4096)
    slow, fast = Timing(EngineConfig(), link=4.0), Timing(EngineConfig(lanes=1, link_beat_bytes=64))
    for way in ("offload", "prefetch"):
        assert getattr(slow, way)(blocks_) == pytest.approx(blocks_.packed_bytes / 4, rel=0.005)
        assert getattr(fast, way)(blocks_) == pytest.approx(raw.size / 32, rel=0.005)
    offload, prefetch = slow.rough(raw.size, blocks_.packed_bytes)
    assert (offload, prefetch) == pytest.approx((slow.offload(blocks_), slow.prefetch(blocks_)), rel=0.01)


def test_far_memories_limit_what_is_outstanding() -> None:
    # Of a lane, four bursts of a block of 128 beats in 1,000 + 128 cycles, whatever the density.
    empty = packed(np.zeros(100 * 512, np.float32).view(np.uint8), Treatment(4), 2048)
    timing = Timing(ONE_LANE, latency=1000)
    for way in ("offload", "prefetch"):
        assert getattr(timing, way)(empty) == pytest.approx(100 * (1000 + 128) / 4 + 2000, rel=0.02)


@pytest.mark.parametrize("preset", engine_preset_names())
def test_measured_cycles_of_the_shipped_dump(preset: str) -> None:
    config = load_engine(preset)
    figures = json.loads((ROOT / "docs/performance.json").read_text(encoding="utf-8"))["engine_shipped"]
    rows = next(entry["arrays"] for entry in figures if entry["engine"] == config.name)
    timing, arrays = Timing(config), load(shipped())
    for row in rows:
        found = packed(arrays[row["name"]].reshape(-1).view(np.uint8), Treatment(4), config.block_bytes)
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


# Treatments and rounding.

def test_order_of_treatments() -> None:
    names = [how.name for how in treatments(NARROWING, "t", 4096, 4, float32=True, lossy=["bfloat16"])]
    assert names == ["raw", "zvc32", "zvc16", "zvc8", "bfloat16", "bfloat16+zvc16"]
    assert [how.name for how in treatments(NARROWING, "t", 4098, 2)] == ["raw", "zvc16", "zvc8"]
    bare = EngineConfig(raw_fallback=False)
    assert [how.name for how in treatments(bare, "t", 4096, 4)] == ["zvc32", "zvc16", "zvc8"]
    assert not any(how.fallback for how in treatments(bare, "t", 4096, 4))


def test_treatments_refuse() -> None:
    with pytest.raises(ValueError, match="t has 6 bytes, no whole number of the 32-bit elements"):
        treatments(load_engine("tiny"), "t", 6, 2)
    with pytest.raises(ValueError, match="has no stage that rounds"):
        treatments(EngineConfig(), "t", 4096, 4, float32=True, lossy=["float16"])


def test_rounding_by_hand() -> None:
    # 1 + 2^-9 is rounded to 1, half way down, and 1 + 3 x 2^-8 up to 1 + 2^-6, half way as well.
    found = rounding(np.array([0, 1, 1 + 2 ** -9, -(1 + 3 * 2 ** -8), np.nan, np.inf, -np.inf], np.float32),
                     Narrowing.BFLOAT16)
    assert (found.max_abs, found.nans, found.infinities) == (2 ** -8, 1, 2)
    assert found.max_relative == 2 ** -8 / (1 + 3 * 2 ** -8)
    assert found.mean_relative == pytest.approx((2 ** -9 / (1 + 2 ** -9) + 2 ** -8 / (1 + 3 * 2 ** -8)) / 3)
    assert (found.overflows, found.underflows) == (0, 0)
    half = rounding(np.array([70_000, 1e-9, 2], np.float32), Narrowing.FLOAT16)
    assert (half.overflows, half.underflows, half.max_relative) == (1, 1, np.inf)
    assert rounding(np.zeros(3, np.float32), Narrowing.FLOAT16).max_relative == 0
    with pytest.raises(TypeError, match="only float32"):
        rounding(np.zeros(3), Narrowing.FLOAT16)


# Choices.

def option(how: Treatment, cycles: float, error: float = 0.0) -> Option:
    return Option(how, 100, 0, 50, cycles, cycles, error)


RAW, ZVC, LOSSY = Treatment(4, leave_raw=True), Treatment(4), Treatment(2, narrow=1)
THREE = Tensor("t", 4096, 0.5, (option(RAW, 100), option(ZVC, 60), option(LOSSY, 30, 0.001)))


@pytest.mark.parametrize(("hidden", "chosen", "exposed"), [
    (0, LOSSY, 60), (29, LOSSY, 2), (30, LOSSY, 0), (59, LOSSY, 0), (60, ZVC, 0), (99, ZVC, 0), (100, RAW, 0)])
def test_what_is_hidden_is_changed_least(hidden: int, chosen: Treatment, exposed: int) -> None:
    # At 1 MHz a cycle takes a microsecond.
    plan = plan_dump([THREE], lambda name: hidden / 1e6, 1.0)
    assert plan.choices[0].chosen.how == chosen
    assert plan.choices[0].exposed * 1e6 == pytest.approx(exposed)
    assert plan.planned.exposed * 1e6 == pytest.approx(exposed)
    assert plan.always.exposed * 1e6 == pytest.approx(2 * max(0, 60 - hidden))
    assert plan.never is not None and plan.never.exposed * 1e6 == pytest.approx(2 * max(0, 100 - hidden))


def test_equal_times_change_least() -> None:
    equal = Tensor("t", 4096, 1.0, (option(RAW, 60), option(ZVC, 60), option(LOSSY, 60, 0.001)))
    assert plan_dump([equal], lambda name: 0.0, 1.0).choices[0].chosen.how == RAW


def test_steps_of_training_are_planned_as_one_layer(tmp_path: Path) -> None:
    """At one step coding is hidden and raw is not, at the other rounding alone is: one treatment is for both."""
    early = Tensor("p000/conv", 4096, 0.2, (option(RAW, 100), option(ZVC, 20), option(LOSSY, 19, 0.001)))
    late = Tensor("p050/conv", 4096, 0.9, (option(RAW, 100), option(ZVC, 90), option(LOSSY, 30, 0.002)))
    other = Tensor("p050/fc", 4096, 0.9, (option(RAW, 10), option(ZVC, 10)))
    met: list[str] = []

    def hidden(name: str) -> float:
        met.append(name)
        return 30e-6

    plan = plan_dump([early, late, other], hidden, 1.0)
    assert set(met) == {"conv", "fc"}
    conv, fc = plan.choices
    assert (conv.tensor.name, conv.chosen.how, fc.tensor.name, fc.chosen.how) == ("conv", LOSSY, "fc", RAW)
    assert conv.chosen.offload_cycles == (19 + 30) / 2
    assert (conv.chosen.error, conv.tensor.density) == (0.002, pytest.approx(0.55))
    # Totals are those of a step: what always coding exposes is that of the late step, by half.
    assert plan.always.exposed * 1e6 == pytest.approx(2 * (90 - 30) / 2)
    assert plan.always.packed_bytes == 200 and plan.always.transfer * 1e6 == pytest.approx(20 + 90 + 2 * 10)
    rows = summary(plan, 1.0).tensors
    assert [(row.name, row.arrays) for row in rows] == [("conv", ("p000/conv", "p050/conv")), ("fc", ("p050/fc",))]
    # The file has every array, with what is predicted of it alone.
    plan_file(plan, "run.npz", Timing(NARROWING, 12.8), 1.0).write(tmp_path / "plan.json")
    entries = load_plan(tmp_path / "plan.json").tensors
    assert {name: (entry.how, entry.predicted.offload_cycles) for name, entry in entries.items()} == {
        "p000/conv": (LOSSY, 19), "p050/conv": (LOSSY, 30), "p050/fc": (RAW, 10)}


def test_elements_of_other_sizes_are_lossless_too() -> None:
    # The lower halves of these float32 values are zero: 16-bit elements find more zeros.
    array = (np.arange(1, 20_001).astype("<u4") << 16).view(np.float32)
    tensor = dump_tensor("t", array, Timing(EngineConfig()))
    assert plan_dump([tensor], lambda name: 0.0, 1000.0).choices[0].chosen.how == Treatment(2)


def test_errors_are_kept() -> None:
    array = values(5, 5000, 1.0)
    timing = Timing(NARROWING)

    def names(given: np.ndarray, **more: Any) -> list[str]:
        return [each.how.name for each in dump_tensor("t", given, timing, ("bfloat16", "float16"), **more).options]

    # The smaller error first, raw before coded.
    assert names(array)[4:] == ["float16", "float16+zvc16", "bfloat16", "bfloat16+zvc16"]
    assert names(array, max_error=0.001)[4:] == ["float16", "float16+zvc16"]
    assert names(array, max_error=1e-6)[4:] == []
    # 10^5 is no float16.
    assert names(1e5 * array)[4:] == ["bfloat16", "bfloat16+zvc16"]
    # Other types are not rounded.
    assert names(array.astype(np.float64)) == ["raw", "zvc32", "zvc16", "zvc8"]
    with pytest.raises(ValueError, match="t is empty"):
        names(array[:0])


def test_without_the_fallback_nothing_is_raw() -> None:
    tensor = dump_tensor("t", values(1, 5000, 1.0), Timing(EngineConfig(raw_fallback=False)))
    plan = plan_dump([tensor], lambda name: 1.0, 1000.0)
    assert plan.never is None and plan.choices[0].chosen.how == Treatment(4, False)


# Networks.

def network(work: list[Compute], densities: float = 0.4, **more: Any) -> Plan:
    """Three 1x1 convolutions of 100,000 samples: data, a and b are swapped, 40, 80 and 120 MB."""
    net = Builder("three", "a test", 100_000, (1, 10, 10))
    net.conv("a", 2, 1)
    net.conv("b", 3, 1)
    net.conv("c", 1, 1, relu=False)
    plan = tensors(net.network())
    return plan_network(plan, work, frozenset(("data", "a")), {"data": 1.0, "a": densities},
                        Timing(NARROWING, 12.8), 1000.0, 1e30, **more)


def test_a_network_that_hides_all_is_left_raw() -> None:
    plan = network([Compute(1, 1, 0, 0)] * 3)
    assert [choice.chosen.how.name for choice in plan.choices] == ["raw", "raw"]
    assert plan.planned.exposed == plan.always.exposed == 0


def test_a_network_by_hand() -> None:
    # a, 80 MB at density 0.4: 34.5 MB or 2.7 ms at 12.8 GB/s coded, 6.3 ms raw. data is dense: 3.1 ms, whatever is
    # done. Forward of the steps takes 5 ms: raw data is hidden, raw a is not.
    plan = network([Compute(5e-3, 1, 0, 0)] * 3)
    assert [choice.chosen.how.name for choice in plan.choices] == ["raw", "zvc32"]
    assert plan.planned.exposed == 0
    assert plan.never is not None and plan.never.exposed == pytest.approx(80e6 * (1 + 4 / 4096) / 12.8e9 - 5e-3,
                                                                          rel=0.001)
    # 2 ms: both are exposed, and what is allowed to be lossy is rounded.
    plan = network([Compute(2e-3, 1, 0, 0)] * 3)
    data, a = plan.choices
    # The backward of the last step hides nothing of what it needs itself; here it needs nothing that was swapped.
    assert data.exposed == pytest.approx(40e6 * (1 + 4 / 4096) / 12.8e9 - 2e-3, rel=0.001)
    assert a.exposed == pytest.approx(80e6 * (0.4 + 1 / 32 + 4 / 4096) / 12.8e9 - 2e-3, rel=0.01)
    lossy = network([Compute(2e-3, 1, 0, 0)] * 3, lossy=["float16"])
    assert [choice.chosen.how.name for choice in lossy.choices] == ["float16", "float16+zvc16"]
    assert [choice.chosen.error for choice in lossy.choices] == [2 ** -11] * 2
    bounded = network([Compute(2e-3, 1, 0, 0)] * 3, lossy=["float16", "bfloat16"], max_error=1e-4)
    assert not any(choice.chosen.how.lossy for choice in bounded.choices)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.floats(1e-4, 1e-2), min_size=6, max_size=6), st.floats(0, 1))
def test_a_plan_is_never_worse_than_one_rule(times: list[float], density: float) -> None:
    plan = network([Compute(times[number], times[3 + number], 0, 0) for number in range(3)], density)
    assert plan.never is not None
    assert plan.planned.exposed <= min(plan.always.exposed, plan.never.exposed) + 1e-12
    assert sum(choice.exposed for choice in plan.choices) == pytest.approx(plan.planned.exposed, abs=1e-12)


# Files.

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
        ("first", "second"), Treatment(2, narrow=1))
    plan.check(NARROWING, {"second": 12_000})
    for arguments, says in (((NARROWING, {"third": 4}), "has no tensor third"),
                            ((NARROWING, {"first": 12_000}), "first has 12000 bytes, but 16000 in the plan"),
                            ((NARROWING.replace(lanes=2), {}), "with lanes 4, not for cdma_engine with lanes 2")):
        with pytest.raises(ValueError, match=says):
            plan.check(*arguments)


@pytest.mark.parametrize(("change", "says"), [
    ({"kind": "menu"}, "is no plan"), ({"version": 2}, "plan of version 2"), ({"version": None}, "version None"),
    ({"clock_mhz": 0}, "clock_mhz must be a number above 0"), ({"latency": 1.5}, "latency must be a whole number"),
    ({"link_gb_per_s": "fast"}, "link_gb_per_s must be a number above 0"), ({"tensors": []}, "tensors must be an obj"),
    ({"engine": {"lanes": 77}}, "lanes must be 1 to 16"), ({"engine": {"wings": 2}}, "wings"),
    ({"tensors": {"t": 3}}, "tensor t must be an object"),
])
def test_spoilt_plans(written: Path, change: dict[str, Any], says: str) -> None:
    written.write_text(json.dumps(json.loads(written.read_text()) | change))
    with pytest.raises(ValueError, match=says) as error:
        load_plan(written)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("change", "says"), [
    ({"element_bytes": 3}, "elements of 3 bytes"), ({"raw_bytes": 15_999}, "cannot be coded in elements"),
    ({"narrow": 3}, "narrow must be 0, 1 or 2"), ({"narrow": 1, "element_bytes": 4}, "what is rounded is float32"),
    ({"leave_raw": True, "fallback": False}, "leave_raw needs fallback"), ({"fallback": 1}, "true or false"),
    ({"predicted": None}, "predicted must be an object"), ({"raw_bytes": -4}, "raw_bytes must be a whole number"),
])
def test_spoilt_tensors(written: Path, change: dict[str, Any], says: str) -> None:
    content = json.loads(written.read_text())
    content["tensors"]["first"] |= change
    written.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=f"tensor first.*{says}"):
        load_plan(written)


def test_plans_for_less_than_they_need(written: Path) -> None:
    content = json.loads(written.read_text())
    written.write_text(json.dumps(content | {"engine": replace(NARROWING, narrowing=False).as_dict()}))
    with pytest.raises(ValueError, match="has no stage that rounds"):
        load_plan(written)
    content["tensors"]["first"]["narrow"] = content["tensors"]["second"]["narrow"] = 0
    written.write_text(json.dumps(content | {"engine": replace(NARROWING, raw_fallback=False).as_dict()}))
    with pytest.raises(ValueError, match="may go raw, but cdma_engine has no raw fallback"):
        load_plan(written)


@pytest.mark.parametrize("content", [None, "{", "[]"])
def test_no_plan_at_all(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "plan.json").write_text(content)
    with pytest.raises(ValueError, match=r"plan\.json"):
        load_plan(tmp_path / "plan.json")
