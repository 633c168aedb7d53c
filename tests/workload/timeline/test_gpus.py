"""Rooflines and profiles."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cdma.workload.networks.builder import Builder
from cdma.workload.networks.tensors import Tensors, tensors
from cdma.workload.timeline.compute import profiled, roofline
from cdma.workload.timeline.efficiency import Efficiency, efficiency
from cdma.workload.timeline.gpus import GPUS, Gpu, gpu
from cdma.workload.timeline.profiles import load_profile


def plan() -> Tensors:
    """A convolution with its ReLU, and a pool."""
    net = Builder("two", "a test", 2, (3, 4, 4))
    net.conv("conv", 8, 3, pad=1)
    net.pool("pool", 2, 2)
    return tensors(net.network())


def test_published_figures() -> None:
    assert {name: (entry.peak(), entry.peak("bfloat16"), entry.peak("float8"), entry.bandwidth, entry.memory,
                   entry.link_bandwidth) for name, entry in GPUS.items()} == {
        "titan-x": (6.1, 6.1, 6.1, 336, 12, 16), "titan-xp": (12.15, 12.15, 12.15, 548, 12, 16),
        "v100": (15.7, 15.7, 15.7, 900, 16, 16), "a100": (19.5, 312, 312, 1555, 40, 32),
        "h100": (67, 989.5, 1979, 3350, 80, 64), "h200": (67, 989.5, 1979, 4800, 141, 64),
        "b200": (80, 2250, 4500, 8000, 192, 64), "rtx-4090": (82.6, 165.2, 330.3, 1008, 24, 32)}
    assert (GPUS["v100"].peak("float16"), GPUS["v100"].peak("tf32"), GPUS["a100"].peak("tf32")) == (125, 15.7, 156)
    assert all(entry.source.startswith("NVIDIA, ") for entry in GPUS.values())
    assert (GPUS["titan-x"].link_reached, GPUS["h100"].link_reached) == (12.8, 51.2)
    with pytest.raises(ValueError, match="there is no GPU 'k80': give titan-x"):
        gpu("k80")


def test_roofline_by_hand() -> None:
    # 1 TFLOP/s and 1 GB/s: 1e6 operations at half the peak take 2 us, 1000 bytes 1 us.
    mine = Gpu("mine", "a test", {"float32": 1.0}, 1.0, 1.0)
    assert mine.seconds(1e6, 1000, 0.5) == pytest.approx(2e-6)
    assert mine.seconds(1e6, 5000, 0.5) == pytest.approx(5e-6)


def test_steps_by_hand() -> None:
    # Convolution: 2 x 27 x 8 x 16 operations a sample; reads 48 values and 224 parameters, writes 128. Its ReLU reads
    # and writes 128, the pool reads 128 and writes 32. Batch 2, 4 bytes a value. The input needs no gradient.
    work = 2 * 27 * 8 * 16 * 2
    conv, relu, pool = ((48 + 128) * 2 + 224) * 4, 256 * 2 * 4, (128 + 32) * 2 * 4
    slow = Gpu("slow", "a test", {"float32": 1e-6}, 1e3, 1.0)          # 10^6 operations a second: computing counts
    first, second = roofline(plan(), slow, 0.5)
    assert first.forward == pytest.approx(work / 0.5e6 + 128 * 2 / 1e6)
    assert first.backward == pytest.approx(work / 0.5e6 + 128 * 2 / 1e6)
    assert (first.forward_traffic, first.backward_traffic) == (conv + relu, 2 * (conv + relu))
    thin = Gpu("thin", "a test", {"float32": 1e6}, 1e-6, 1.0)          # 1000 bytes a second: traffic counts
    first, second = roofline(plan(), thin)
    assert first.forward == pytest.approx((conv + relu) / 1e3)
    assert second.backward == pytest.approx(2 * pool / 1e3)
    with pytest.raises(ValueError, match="efficiency must be above 0"):
        roofline(plan(), thin, 0.0)


def test_each_kind_of_layer_has_its_share_and_its_type() -> None:
    net = Builder("kinds", "a test", 1, (1, 1, 1))
    net.conv("conv", 1, 1, relu=False)
    net.fc("fc", 1, relu=False)
    net.pool("pool", 1, 1, after="conv")
    many = tensors(replace(net.network(), compute="bfloat16"))
    fast = Gpu("fast", "a test", {"float32": 1e-6, "bfloat16": 4e-6}, 1e6, 1.0)      # 10^6 and 4 x 10^6 a second
    found = roofline(many, fast, Efficiency(convolution=0.25, product=0.5))
    assert [step.forward for step in found] == pytest.approx([2 / 1e6, 2 / 2e6, 1 / 1e6])
    assert [step.forward for step in roofline(many, fast, 0.5)] == pytest.approx([2 / 2e6, 2 / 2e6, 1 / 1e6])
    thin = Gpu("thin", "a test", {"float32": 1e6}, 1e-6, 1.0)
    assert roofline(many, thin, Efficiency(memory=0.5))[2].forward == pytest.approx(2 * roofline(many, thin)[2].forward)


def test_efficiencies_that_are_given() -> None:
    assert efficiency([(None, 0.4), ("attention", 0.3)]) == Efficiency(0.4, 0.4, 0.3)
    assert efficiency([]).text() == "0.5 of the peak"
    assert efficiency([("memory", 0.9)]).text() == \
        "shares of the peak: convolution 0.5, product 0.5, attention 0.5, memory 0.9"
    with pytest.raises(ValueError, match="no efficiency of 'gelu': give convolution, product, attention, memory"):
        efficiency([("gelu", 0.5)])
    with pytest.raises(ValueError, match=r"above 0 and at most 1, not 0 \(memory\)"):
        efficiency([("memory", 0.0)])


def test_traffic_of_short_values() -> None:
    net = Builder("short", "a test", 2, (3, 4, 4), "bfloat16")
    with net.typed("float32"):
        net.conv("conv", 8, 3, pad=1)
    net.pool("pool", 2, 2)
    first, second = roofline(tensors(net.network()), Gpu("slow", "a test", {"float32": 1e-6}, 1e3, 1.0))
    # The ReLU works in place, in the type of what it overwrites; weights are read in the network's type.
    assert first.forward_traffic == (48 * 2 + 224) * 2 + 128 * 2 * 4 + 256 * 2 * 4
    assert second.forward_traffic == 128 * 2 * 4 + 32 * 2 * 2


def test_second_convolution_has_two_gradients() -> None:
    net = Builder("two", "a test", 1, (3, 4, 4))
    net.conv("a", 8, 3, pad=1, relu=False)
    net.conv("b", 8, 3, pad=1, relu=False)
    _, second = roofline(tensors(net.network()), Gpu("slow", "a test", {"float32": 1e-6}, 1e6, 1.0))
    assert second.backward == pytest.approx(2 * second.forward)


def test_profile(tmp_path: Path) -> None:
    path = tmp_path / "times.json"
    path.write_text(json.dumps({"conv": {"forward_ms": 2, "backward_ms": 5.5},
                                "conv/relu": {"forward_ms": 1, "backward_ms": 0},
                                "pool": {"forward_ms": 3, "backward_ms": 4}}))
    first, second = profiled(plan(), load_profile(path).layers)
    assert (first.forward, first.backward) == pytest.approx((3e-3, 5.5e-3))
    assert (second.forward, second.backward) == pytest.approx((3e-3, 4e-3))
    with pytest.raises(ValueError, match="no times of pool"):
        profiled(plan(), {"conv": (1.0, 1.0)})
    with pytest.raises(ValueError, match="has fc, which are not layers of two"):
        profiled(plan(), {"fc": (1.0, 1.0)})


@pytest.mark.parametrize(("content", "says"), [
    ("{", "is not JSON"), ("{}", "must have an object"), ('{"a": 3}', "a must have forward_ms"),
    ('{"a": {"forward_ms": 1}}', "a must have forward_ms"),
    ('{"a": {"forward_ms": 1, "backward_ms": -1}}', "numbers of 0 or more")])
def test_malformed_profiles(content: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "times.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=says):
        load_profile(path)
    with pytest.raises(ValueError, match="cannot read"):
        load_profile(tmp_path / "gone.json")
