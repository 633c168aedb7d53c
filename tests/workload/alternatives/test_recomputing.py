"""What is made again, when, and what that costs: by hand on small networks, and what must hold of all."""

from __future__ import annotations

import pytest

from cdma.workload.alternatives.recomputing import best_checkpoints, cheap_layers, checkpoints, cuts
from cdma.workload.networks.builder import Builder
from cdma.workload.networks.catalog import NETWORKS, load_network
from cdma.workload.networks.tensors import Tensors, tensors
from cdma.workload.timeline.compute import Compute, roofline
from cdma.workload.timeline.gpus import GPUS
from cdma.workload.timeline.swapping import high_water


def chain(layers: int) -> Tensors:
    """1x1 convolutions without a ReLU; every tensor has 4,000 bytes, every layer 2 parameters."""
    net = Builder("chain", "a test", 10, (1, 10, 10))
    for number in range(layers):
        net.conv(f"c{number}", 1, 1, relu=False)
    return tensors(net.network())


def test_cheap_layers_by_hand() -> None:
    # Steps: 0 conv a, 1 norm n (keeps a, which it reads), 2 pool p (max: keeps n and p), 3 conv b (keeps p), 4 fc f.
    net = Builder("mixed", "a test", 10, (1, 10, 10))
    net.conv("a", 2, 1, relu=False)
    net.norm("n", relu=True)
    net.pool("p", 2, 2)
    net.conv("b", 3, 1, relu=False)
    net.fc("f", 5, relu=False)
    plan = tensors(net.network())
    work = [Compute(1.0, 2.0, 10, 20), Compute(0.1, 0.2, 1, 2), Compute(0.01, 0.02, 3, 4), Compute(4.0, 8.0, 0, 0),
            Compute(5.0, 9.0, 0, 0)]
    made = cheap_layers(plan, work)
    # p is first needed in backward by b, step 3; n must be there by then, because p is made from it.
    assert made.again == {"n": 3, "p": 3}
    assert made.seconds == pytest.approx(0.11)
    assert made.compute[3].backward == pytest.approx(8.11)
    assert made.compute[3].backward_traffic == 4
    assert [made.compute[number] for number in (0, 1, 2, 4)] == [work[number] for number in (0, 1, 2, 4)]
    # a is what both are made from, and is kept until then; its own last need stays step 1.
    assert made.plan.tensors["a"].kept == (1, 3)
    # Backward of f: a and b (12,000 bytes) and f's gradient, without n and p (8,000 and 2,000).
    assert high_water(plan, ()) - high_water(made.plan, (), made.again) == 0  # backward of n is the fullest in both


def test_a_sum_whose_parts_are_gone_is_not_made_again() -> None:
    net = Builder("residual", "a test", 10, (1, 10, 10))
    net.conv("a", 2, 1)
    net.conv("b", 2, 1, relu=False)
    net.add("sum", ["b", "a/relu"])
    net.norm("n")
    net.conv("c", 2, 1, relu=False)
    plan = tensors(net.network())
    made = cheap_layers(plan, [Compute(1.0, 1.0, 0, 0)] * len(plan.steps))
    assert made.again == {"n": 4}  # made from sum, which the norm keeps; b is kept by nobody, so sum is not made


def test_checkpoints_by_hand() -> None:
    # Six layers, cut before 2 and 4: c1 and c3 are kept, data too. c0 and c2 are made again in the backward of steps
    # 1 and 3. The last segment keeps all: c4.
    plan = chain(6)
    work = [Compute(1.0 + number, 10.0, 0, 0) for number in range(6)]
    assert cuts(plan) == [1, 2, 3, 4, 5]
    made = checkpoints(plan, work, [2, 4])
    assert made.again == {"c0": 1, "c2": 3}
    assert made.seconds == 1 + 2 + 3 + 4
    assert [step.backward for step in made.compute] == [10, 13, 10, 17, 10, 10]
    assert made.plan.tensors["c1"].kept == (2, 3) and made.plan.tensors["data"].kept == (0, 1)
    # Weights 6 x 2 x 12. Without: data and c0 to c4 and two gradients. With: data, c1, c3, c4 and two gradients.
    assert high_water(plan, ()) == 144 + 8 * 4000
    assert high_water(made.plan, (), made.again) == 144 + 6 * 4000
    for at in ([0], [6], [3, 2], [2, 2]):
        with pytest.raises(ValueError, match="numbers of steps from 1 to 5 in rising order"):
            checkpoints(plan, work, at)


def test_a_tensor_that_crosses_a_cut_is_kept() -> None:
    net = Builder("skip", "a test", 10, (1, 10, 10))
    net.conv("a", 1, 1)
    for name in "bc":
        net.conv(name, 1, 1)
    net.add("sum", ["c/relu", "a/relu"])
    net.conv("d", 1, 1, relu=False)
    plan = tensors(net.network())
    assert cuts(plan) == [1, 4]  # between, a is alive beside another
    made = checkpoints(plan, [Compute(1.0, 1.0, 0, 0)] * 5, [2, 4])
    assert "a" not in made.again and made.again == {"c": 3}
    assert made.plan.tensors["a"].kept[-1] == 3  # the sum is computed again from it


def test_the_square_root_of_a_chain() -> None:
    # 64 alike layers: about 8 segments need least, and about 2 x 8 tensors with it.
    plan = chain(64)
    work = [Compute(1.0, 2.0, 0, 0)] * 64
    made, again = best_checkpoints(plan, work, 0)
    assert 6 <= again <= 11
    assert high_water(made.plan, (), made.again) < 64 * 24 + 22 * 4000
    assert high_water(plan, ()) == 64 * 24 + 66 * 4000
    # A device with more needs less again; one with all of it still has one segment, the cheapest.
    some, _ = best_checkpoints(plan, work, 64 * 24 + 40 * 4000)
    assert high_water(some.plan, (), some.again) <= 64 * 24 + 40 * 4000
    assert some.seconds < made.seconds


def test_nowhere_to_cut() -> None:
    net = Builder("one", "a test", 1, (4,))
    net.fc("f", 2, relu=False)
    plan = tensors(net.network())
    with pytest.raises(ValueError, match="one can be cut nowhere"):
        best_checkpoints(plan, [Compute(1.0, 1.0, 0, 0)], 0)


@pytest.mark.parametrize("name", ["alexnet", "googlenet", "resnet50", "transformer"])
def test_of_all_networks(name: str) -> None:
    assert name in NETWORKS
    plan = tensors(load_network(name))
    work = roofline(plan, GPUS["v100"])
    forward = sum(step.forward for step in work)
    for made in (cheap_layers(plan, work), best_checkpoints(plan, work, 0)[0]):
        assert 0 < made.seconds < forward
        assert sum(step.backward for step in made.compute) == pytest.approx(
            sum(step.backward for step in work) + made.seconds)
        assert sum(step.forward for step in made.compute) == pytest.approx(forward)
        assert high_water(made.plan, (), made.again) <= high_water(plan, ())
        for tensor, step in made.again.items():
            own = plan.tensors[tensor]
            assert own.saved and step >= max(own.kept)
            # What it is made from is there: kept until then, made by then, or made on the way because nobody keeps it.
            for read in {read for number in own.written for read in plan.steps[number].reads}:
                source = made.plan.tensors[read]
                assert made.again.get(read, max(source.kept, default=step)) >= step
