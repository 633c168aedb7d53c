"""Timelines worked out on paper, and what must hold of all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.workload.networks.builder import Builder
from cdma.workload.networks.catalog import PAPER, load_network
from cdma.workload.networks.tensors import tensors
from cdma.workload.timeline.compute import Compute, roofline
from cdma.workload.timeline.densities import default_fillings
from cdma.workload.timeline.engine_share import Reached, constant
from cdma.workload.timeline.gpus import GPUS
from cdma.workload.timeline.schedule import Engine, Timeline, plain_dma, run, slowed
from cdma.workload.timeline.study import study
from cdma.workload.timeline.swapping import high_water, swapped
from tests.workload.timeline.samples import ENDLESS, WORK, three


def stalls(line: Timeline) -> list[float]:
    # These times are whole seconds, but for the last bit.
    return [round(slot.stall, 9) for slot in line.slots]


def test_no_swapping() -> None:
    line = run(three(), WORK, (), plain_dma(1000.0), ENDLESS)
    assert line.seconds == pytest.approx(37)
    assert stalls(line) == [0.0] * 6
    assert [(slot.step, slot.direction) for slot in line.slots] == [
        ("a", "forward"), ("b", "forward"), ("c", "forward"), ("c", "backward"), ("b", "backward"), ("a", "backward")]


def test_vdnn_by_hand() -> None:
    # At 1,000 bytes a second data takes 4 s and a 8 s. Forward: a computes 3 beside 4, stall 1; b 4 beside 8, stall 4;
    # c computes 5 alone, as its input stays. Backward: c computes 10 and fetches a (8): no stall. b computes 9 and
    # fetches data (4): none. a: 6.
    plan = three()
    chosen = swapped(plan, "all", 0)
    assert chosen == {"data", "a"}
    line = run(plan, WORK, chosen, plain_dma(1000.0), ENDLESS)
    assert stalls(line) == [1.0, 4.0, 0.0, 0.0, 0.0, 0.0]
    assert line.seconds == pytest.approx(42)
    # At half of it: 8 and 16 s. Forward 8 + 16 + 5, backward max(10, 16) + max(9, 8) + 6.
    line = run(plan, WORK, chosen, plain_dma(500.0), ENDLESS)
    assert stalls(line) == [5.0, 12.0, 0.0, 6.0, 0.0, 0.0]
    assert line.seconds == pytest.approx(60)
    assert line.moved == 2 * 12_000


def test_engine_by_hand() -> None:
    # Link 500: data has ratio 1, a ratio 4, so that the link would move 500 and 2,000; the lanes take in 2 x 16 x 50 =
    # 1,600; half of the limit is reached. data: 4,000 / 250 = 16 s, a: 8,000 / 800 = 10 s.
    engine = Engine(2, 16, 16, 50e-6, constant(0.5))
    assert engine.lane_bandwidth == pytest.approx(1600)
    assert engine.link_port_bandwidth == pytest.approx(800)
    transfer = engine.transfer(500.0, {"data": 1.0, "a": 4.0}.__getitem__)
    line = run(three(), WORK, ("data", "a"), transfer, ENDLESS)
    # Forward: 16, 10, 5; backward: max(10, 10), max(9, 16), 6.
    assert stalls(line) == [13.0, 6.0, 0.0, 0.0, 7.0, 0.0]
    assert line.seconds == pytest.approx(63)
    assert [slot.transfer for slot in line.slots] == pytest.approx([16, 10, 0, 10, 16, 0])


def test_what_is_reached_by_direction_and_balance() -> None:
    # 16 bytes at 1 MHz are 16e6 bytes a second. Over a link of 4e6 with ratio 2 the balance is 2, the limit 8e6.
    asked = []

    def reach(direction: str, balance: float) -> Reached:
        asked.append((direction, balance))
        return {"offload": Reached(0.5, 3e6), "prefetch": Reached(0.25, 0.0)}[direction]

    transfer = Engine(1, 16, 16, 1.0, reach).transfer(4e6, lambda name: 2.0)
    assert [transfer("a", "offload", 4_000_000), transfer("a", "prefetch", 4_000_000)] == pytest.approx([4.0, 2.0])
    assert asked == [("offload", 2.0), ("prefetch", 2.0)]


def test_a_link_faster_than_the_port_has_the_ports_bandwidth() -> None:
    # The port carries 16e6 bytes a second; with ratio 1 that limits, whatever the link.
    engine = Engine(4, 16, 16, 1.0, constant(1.0))
    for link in (16e6, 1e9):
        assert engine.transfer(link, lambda name: 1.0)("a", "offload", 16_000_000) == pytest.approx(1.0)


def test_what_the_first_backward_step_needs_is_fetched_before_it() -> None:
    line = run(three(), WORK, ("b",), plain_dma(1000.0), ENDLESS)
    assert stalls(line) == [0.0, 0.0, 7.0, 12.0, 0.0, 0.0, 0.0]
    assert line.seconds == pytest.approx(37 + 19)


def test_memory_taken_from_computing() -> None:
    # 100 bytes a second; 500 of its own take 5 s. A transfer of 300 at 60 a second ends at 5 s; computing has 40 a
    # second until then (200) and all afterwards (300): 8 s = 800 / 100.
    assert slowed(5.0, 500, 300, 5.0, 100) == pytest.approx(8)
    # A transfer that lasts longer: 500 at 40 a second.
    assert slowed(5.0, 500, 6000, 100.0, 100) == pytest.approx(12.5)
    # Computing that leaves room is not slowed: 5 of 20 s.
    assert slowed(20.0, 500, 300, 5.0, 100) == pytest.approx(20)
    assert slowed(5.0, 500, 0, 0.0, 100) == 5.0
    # A transfer that takes all of the bandwidth: computing waits for it.
    assert slowed(5.0, 500, 300, 3.0, 100) == pytest.approx(8)


def test_memory_on_the_device_by_hand() -> None:
    # Weights: (1x2+2) + (2x3+3) + (3x1+1) = 17 parameters, three copies of 4 bytes. Backward of b is the fullest:
    # data, a and b are there, or data comes in, and the gradients of b and a.
    plan, weights = three(), 17 * 12
    assert high_water(plan, ()) == weights + (4 + 8 + 12 + 12 + 8) * 1000
    assert run(plan, WORK, ("data", "a"), plain_dma(1.0), ENDLESS).memory == weights + (4 + 8 + 12 + 12 + 8) * 1000
    # Five layers of 4,000 bytes each. Without swapping all five inputs are there as backward begins, and the gradients
    # of e and d; with it never more than three tensors (read, written, coming in) and two gradients.
    net = Builder("five", "a test", 10, (1, 10, 10))
    for name in "abcde":
        net.conv(name, 1, 1, relu=name != "e")
    plan, weights = tensors(net.network()), 10 * 12
    assert high_water(plan, ()) == weights + 7 * 4000
    assert high_water(plan, swapped(plan, "all", 0)) == weights + 5 * 4000


def test_policies() -> None:
    net = Builder("mixed", "a test", 10, (1, 10, 10))
    net.conv("a", 2, 1)
    net.pool("p", 2, 2)
    net.conv("b", 3, 1)
    net.fc("f", 5)
    net.fc("g", 5, relu=False)
    plan = tensors(net.network())
    assert swapped(plan, "all", 0) == {"data", "a", "p", "b"}
    assert swapped(plan, "conv", 0) == {"data", "p"}
    # data 4,000 bytes, a 8,000, p 2,000, b 3,000; nothing in use at the limit of 0 %: by size alone.
    assert swapped(plan, "lms", 1e6, 3000, 0.0) == {"data", "a", "b"}
    assert swapped(plan, "lms", 1e6, 0, 1.0) == frozenset()
    # 3 x 4 x (4 + 9 + 380 + 30) = 5,076 of weights. Limit 16,000: step a holds data and a, 17,076, so data goes; step p
    # holds a and p, 15,076, so a stays; step b a, p, b, 18,076, p goes; step f a, b, f (200), 16,276, b goes.
    assert swapped(plan, "lms", 32_000, 0, 0.5) == {"data", "p", "b"}
    # Limit 15,000: a goes too, and then there is room.
    assert swapped(plan, "lms", 30_000, 0, 0.5) == {"data", "a"}
    # The largest first: of 12,999 bytes a takes 8,000, data 4,000, b has no place. Of 5,000, data and then nothing.
    assert [swapped(plan, "budget", 0, budget=size) for size in (14_000, 12_999, 5_000, 3_000)] == [
        {"a", "data", "p"}, {"a", "data"}, {"data"}, {"b"}]
    with pytest.raises(ValueError, match="there is no policy 'some'"):
        swapped(plan, "some", 0)
    with pytest.raises(ValueError, match="must be 0 to 1"):
        swapped(plan, "lms", 1, 0, 2.0)


def test_dynamic_swaps_as_little_as_fits() -> None:
    plan = tensors(load_network("googlenet"))
    convs, everything = swapped(plan, "conv", 0), swapped(plan, "all", 0)
    none_use, convs_use = high_water(plan, ()), high_water(plan, convs)
    assert high_water(plan, everything) < convs_use < none_use
    for memory, expected in ((none_use, frozenset()), (none_use - 1, convs), (convs_use, convs),
                             (convs_use - 1, everything), (0, everything)):
        assert swapped(plan, "dynamic", memory) == expected


@settings(max_examples=30, deadline=None)
@given(name=st.sampled_from(PAPER), density=st.floats(0, 0.95), link=st.floats(1, 200), lanes=st.integers(8, 32),
       gpu=st.sampled_from(sorted(GPUS)), policy=st.sampled_from(("all", "conv")))
def test_order_of_rows(name: str, density: float, link: float, lanes: int, gpu: str, policy: str) -> None:
    # Wherever the engine's rate is the link's or more, cDMA lies between the oracle and vDNN.
    plan = tensors(load_network(name))
    chosen = frozenset(swapped(plan, policy, 0) - {"data"})
    engine = Engine(lanes, 32, 256, 1000, constant(1.0))
    fillings = default_fillings(plan, density)
    done = study(plan, roofline(plan, GPUS[gpu]), GPUS[gpu], chosen, fillings, engine, link * 1e9)
    times = {row: line.seconds for row, line in done.rows.items()}
    if engine.lane_bandwidth >= link * 1e9:
        assert times["oracle"] <= times["zvc"] * (1 + 1e-12)
        assert times["zvc"] <= times["vdnn"] * (1 + 1e-12)
    assert all(slot.stall >= -1e-12 for line in done.rows.values() for slot in line.slots)


@settings(max_examples=50, deadline=None)
@given(layers=st.lists(st.tuples(st.integers(1, 9), st.floats(0.1, 9), st.floats(0.1, 9)), min_size=2, max_size=6),
       link=st.floats(10, 1e5))
def test_chains_by_their_sum(layers: list[tuple[int, float, float]], link: float) -> None:
    # In a chain, layer k computes beside its input's way out, and in backward beside the way in of layer k-1's input;
    # the last layer's input stays.
    net = Builder("chain", "a test", 1, (1, 10, 10))
    for number, (channels, _, _) in enumerate(layers):
        net.conv(f"conv{number}", channels, 1)
    plan = tensors(net.network())
    inputs = [400.0] + [400.0 * channels for channels, _, _ in layers[:-1]]
    ways = [*(size / link for size in inputs[:-1]), 0.0]
    expected = sum(max(forward, way) for (_, forward, _), way in zip(layers, ways, strict=True))
    expected += sum(max(backward, way) for (_, _, backward), way in zip(layers, [0.0, *ways[:-1]], strict=True))
    work = [Compute(forward, backward, 0, 0) for _, forward, backward in layers]
    assert run(plan, work, swapped(plan, "all", 0), plain_dma(link), ENDLESS).seconds == pytest.approx(expected)
