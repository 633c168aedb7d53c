"""Rooflines and profiles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workload.networks.builder import Builder
from workload.networks.tensors import Tensors, tensors
from workload.timeline.compute import profiled, roofline
from workload.timeline.gpus import GPUS, Gpu, gpu
from workload.timeline.profiles import load_profile


def plan() -> Tensors:
    """A convolution with its ReLU, and a pool."""
    net = Builder("two", "a test", 2, (3, 4, 4))
    net.conv("conv", 8, 3, pad=1)
    net.pool("pool", 2, 2)
    return tensors(net.network())


def test_published_figures() -> None:
    assert {name: (entry.tflops, entry.bandwidth) for name, entry in GPUS.items()} == {
        "titan-x": (6.1, 336), "titan-xp": (12.15, 548), "v100": (15.7, 900), "a100": (19.5, 1555),
        "h100": (67, 3350)}
    with pytest.raises(ValueError, match="there is no GPU 'k80': give titan-x"):
        gpu("k80")


def test_roofline_by_hand() -> None:
    # 1 TFLOP/s and 1 GB/s: 1e6 operations at half the peak take 2 us, 1000 bytes 1 us.
    mine = Gpu("mine", "a test", 1.0, 1.0, 1.0)
    assert mine.seconds(1e6, 1000, 0.5) == pytest.approx(2e-6)
    assert mine.seconds(1e6, 5000, 0.5) == pytest.approx(5e-6)


def test_steps_by_hand() -> None:
    # Convolution: 2 x 27 x 8 x 16 operations a sample; reads 48 values and 224 parameters, writes 128. Its ReLU reads
    # and writes 128, the pool reads 128 and writes 32. Batch 2, 4 bytes a value. The input needs no gradient.
    work = 2 * 27 * 8 * 16 * 2
    conv, relu, pool = ((48 + 128) * 2 + 224) * 4, 256 * 2 * 4, (128 + 32) * 2 * 4
    slow = Gpu("slow", "a test", 1e-6, 1e3, 1.0)          # 10^6 operations a second: computing counts
    first, second = roofline(plan(), slow, 0.5)
    assert first.forward == pytest.approx(work / 0.5e6 + 128 * 2 / 1e6)
    assert first.backward == pytest.approx(work / 0.5e6 + 128 * 2 / 1e6)
    assert (first.forward_traffic, first.backward_traffic) == (conv + relu, 2 * (conv + relu))
    thin = Gpu("thin", "a test", 1e6, 1e-6, 1.0)          # 1000 bytes a second: traffic counts
    first, second = roofline(plan(), thin)
    assert first.forward == pytest.approx((conv + relu) / 1e3)
    assert second.backward == pytest.approx(2 * pool / 1e3)
    with pytest.raises(ValueError, match="efficiency must be above 0"):
        roofline(plan(), thin, 0.0)


def test_traffic_of_short_values() -> None:
    net = Builder("short", "a test", 2, (3, 4, 4), "bfloat16")
    with net.typed("float32"):
        net.conv("conv", 8, 3, pad=1)
    net.pool("pool", 2, 2)
    first, second = roofline(tensors(net.network()), Gpu("slow", "a test", 1e-6, 1e3, 1.0))
    # The ReLU works in place, in the type of what it overwrites; weights are read in the network's type.
    assert first.forward_traffic == (48 * 2 + 224) * 2 + 128 * 2 * 4 + 256 * 2 * 4
    assert second.forward_traffic == 128 * 2 * 4 + 32 * 2 * 2


def test_second_convolution_has_two_gradients() -> None:
    net = Builder("two", "a test", 1, (3, 4, 4))
    net.conv("a", 8, 3, pad=1, relu=False)
    net.conv("b", 8, 3, pad=1, relu=False)
    _, second = roofline(tensors(net.network()), Gpu("slow", "a test", 1e-6, 1e6, 1.0))
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
