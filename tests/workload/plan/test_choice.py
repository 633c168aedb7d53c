"""Choices of plans, for dumps and for networks, against choices made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.hdl.config.engine import EngineConfig
from cdma.workload.networks.builder import Builder
from cdma.workload.networks.tensors import tensors
from cdma.workload.plan.choice import Plan, dump_tensor, plan_dump
from cdma.workload.plan.cycles import Timing
from cdma.workload.plan.file import load_plan, plan_file
from cdma.workload.plan.network import plan_network
from cdma.workload.plan.options import Option, Tensor
from cdma.workload.plan.treatments import Treatment
from cdma.workload.timeline.compute import Compute
from tests.workload.plan.samples import NARROWING, values


def option(how: Treatment, cycles: float, error: float = 0.0) -> Option:
    return Option(how, 100, 0, 50, cycles, cycles, error)


RAW, ZVC, LOSSY = Treatment("zvc32", leave_raw=True), Treatment("zvc32"), Treatment("zvc16", narrow=1)
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
    assert plan.never.exposed * 1e6 == pytest.approx(2 * max(0, 100 - hidden))


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
    rows = plan.summary(1.0)["tensors"]
    assert [(row["name"], row["arrays"]) for row in rows] == [
        ("conv", ["p000/conv", "p050/conv"]), ("fc", ["p050/fc"])]
    # The file has every array, with what is predicted of it alone.
    plan_file(plan, "run.npz", Timing(NARROWING, 12.8), 1.0).write(tmp_path / "plan.json")
    entries = load_plan(tmp_path / "plan.json").tensors
    assert {name: (entry.how, entry.predicted.offload_cycles) for name, entry in entries.items()} == {
        "p000/conv": (LOSSY, 19), "p050/conv": (LOSSY, 30), "p050/fc": (RAW, 10)}


def test_elements_of_other_sizes_are_lossless_too() -> None:
    # The lower halves of these float32 values are zero: 16-bit elements find more zeros.
    array = (np.arange(1, 20_001).astype("<u4") << 16).view(np.float32)
    tensor = dump_tensor("t", array, Timing(EngineConfig()), codings=["zvc"])
    assert plan_dump([tensor], lambda name: 0.0, 1000.0).choices[0].chosen.how == Treatment("zvc16")


def test_errors_are_kept() -> None:
    array = values(5, 5000, 1.0)
    timing = Timing(NARROWING)

    def names(given: np.ndarray, **more: Any) -> list[str]:
        return [each.how.name for each in dump_tensor("t", given, timing, ("bfloat16", "float16"), codings=["zvc"],
                                                      **more).options]

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


def test_exponents_are_chosen_where_they_are_built() -> None:
    array = values(1, 5000, 1.0)

    def chosen(config: EngineConfig, array: np.ndarray = array, **more: Any) -> Treatment:
        tensor = dump_tensor("t", array, Timing(config), **more)
        return plan_dump([tensor], lambda name: 0.0, 1000.0).choices[0].chosen.how

    assert chosen(EngineConfig()) == Treatment("float32")
    # float32 that holds bfloat16 values.
    assert chosen(EngineConfig(), (array.view("<u4") & 0xFFFF0000).view(np.float32)) == Treatment("bfloat16")
    # Dense values do not get shorter with zero-value coding: raw is as fast, and changes nothing.
    assert chosen(EngineConfig(), codings=["zvc"]) == Treatment("zvc32", leave_raw=True)
    assert chosen(EngineConfig(codings=("zvc32",))) == Treatment("zvc32", leave_raw=True)


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
    assert plan.never.exposed == pytest.approx(80e6 * (1 + 4 / 4096) / 12.8e9 - 5e-3,
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
    assert plan.planned.exposed <= min(plan.always.exposed, plan.never.exposed) + 1e-12
    assert sum(choice.exposed for choice in plan.choices) == pytest.approx(plan.planned.exposed, abs=1e-12)
