"""Timelines with a queue of transfers: worked out on paper, and what must hold of all."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.workload.networks.builder import Builder
from cdma.workload.networks.catalog import PAPER, load_network
from cdma.workload.networks.tensors import Tensors, tensors
from cdma.workload.timeline.compute import Compute, roofline
from cdma.workload.timeline.densities import default_fillings
from cdma.workload.timeline.gpus import GPUS
from cdma.workload.timeline.queued import Ahead, queued
from cdma.workload.timeline.scenario import build_engine
from cdma.workload.timeline.schedule import Timeline, plain_dma, run
from cdma.workload.timeline.study import study
from cdma.workload.timeline.swapping import high_water, swapped
from tests.workload.timeline.samples import ENDLESS, WORK, three

NO_LIMIT = Ahead()


def waits(line: Timeline) -> list[float]:
    return [round(slot.wait or 0.0, 9) for slot in line.slots]


def moves(line: Timeline) -> list[tuple[str, str, float, float]]:
    return [(move.direction, move.tensors[0], round(move.start, 9), round(move.end, 9)) for move in line.moves]


def test_without_look_ahead_by_hand() -> None:
    # At 500 bytes a second data (4,000 bytes) takes 8 s and a (8,000) 16 s. Forward computes 3, 4, 5 s, backward of c,
    # b, a 10, 9, 6 s. a is complete at 3, but data is on the link until 8: b runs from 8 to 12, a leaves from 8 to 24,
    # c from 24 to 29. c computes until 39 while a comes back until 45; b until 54 beside data; a until 60.
    line = queued(three(), WORK, ("data", "a"), plain_dma(500.0), ENDLESS, Ahead(memory=0))
    assert moves(line) == [("offload", "data", 0, 8), ("offload", "a", 8, 24), ("prefetch", "a", 29, 45),
                           ("prefetch", "data", 45, 53)]
    assert waits(line) == [0, 5, 12, 0, 6, 0]
    assert [slot.tensors for slot in line.slots] == [("data",), ("a",), (), (), ("a",), ("data",)]
    assert line.seconds == pytest.approx(60)
    assert line.moved == 2 * 12_000
    assert line.stall == pytest.approx(60 - 37)
    assert line.memory == high_water(three(), ("data", "a"))
    # No block ahead is the same where every step is one.
    assert queued(three(), WORK, ("data", "a"), plain_dma(500.0), ENDLESS, Ahead(blocks=0)) == line


def test_look_ahead_by_hand() -> None:
    # With a block ahead b begins at 3 beside data, which waits, and ends at 7; c waits for data, whose last reader is
    # two blocks before, and not for a: from 8 to 13. a is then on the link until 24 and stays; data may come back at
    # once: 13 to 21.
    line = queued(three(), WORK, ("data", "a"), plain_dma(500.0), ENDLESS, Ahead(blocks=1))
    assert moves(line) == [("offload", "data", 0, 8), ("offload", "a", 8, 24), ("prefetch", "data", 13, 21)]
    assert waits(line) == [0, 0, 1, 0, 0, 0]
    assert line.seconds == pytest.approx(38)
    # Forward of a, b and c holds 12,204, 20,204 and 16,204 bytes, so that 24,204 let b begin beside data, but not c
    # beside data and a. Backward of b holds 44,204 anyway: data comes back when it must, while b computes from 23.
    line = queued(three(), WORK, ("data", "a"), plain_dma(500.0), ENDLESS, Ahead(memory=24_204))
    assert moves(line)[2:] == [("prefetch", "data", 23, 31)]
    assert (waits(line), line.seconds) == ([0, 0, 1, 0, 0, 0], pytest.approx(38))
    # With all but the memory of the fullest step c does not wait either, and data comes back beside it.
    line = queued(three(), WORK, ("data", "a"), plain_dma(500.0), ENDLESS, Ahead(memory=40_204))
    assert (moves(line)[2], line.seconds) == (("prefetch", "data", 12, 20), pytest.approx(37))
    # Without a limit nothing waits, and forward is over at 12.
    line = queued(three(), WORK, ("data", "a"), plain_dma(500.0), ENDLESS, NO_LIMIT)
    assert moves(line)[2] == ("prefetch", "data", 12, 20)
    assert line.seconds == pytest.approx(37)
    # At 100 bytes a second not even data is gone by then: both stay, and what was on the link has moved for nothing.
    line = queued(three(), WORK, ("data", "a"), plain_dma(100.0), ENDLESS, NO_LIMIT)
    assert moves(line) == [("offload", "data", 0, 40)]
    assert (line.seconds, line.moved, line.memory) == (pytest.approx(37), 4000, high_water(three(), ()))


def test_memory_bandwidth_is_shared_by_both_directions() -> None:
    # 1,000 bytes a second of memory; a step of 3 s with a traffic of 3,000 has 500 a second beside the offload of data,
    # which lasts 8 s: it takes 6.
    plan = three()
    work = [Compute(3.0, 6.0, 3000, 0), WORK[1], WORK[2]]
    line = queued(plan, work, ("data",), plain_dma(500.0), 1000.0, NO_LIMIT)
    assert line.slots[0].compute == pytest.approx(6)
    # A link that takes all of the memory's bandwidth: computing goes on when data are gone.
    line = queued(plan, work, ("data",), plain_dma(1000.0), 1000.0, NO_LIMIT)
    assert line.slots[0].compute == pytest.approx(4 + 3)


def test_a_tensor_that_lives_long_leaves_when_it_is_written() -> None:
    # a is read at once and again at the end; it leaves while b to d compute, though their tensors are not swapped.
    net = Builder("long", "a test", 10, (1, 10, 10))
    net.conv("a", 1, 1)
    for name in "bcd":
        net.conv(name, 1, 1)
    net.add("sum", ["d/relu", "a/relu"])
    net.conv("e", 1, 1)
    net.fc("f", 2, relu=False)
    plan = tensors(net.network())
    work = [Compute(1.0, 1.0, 0, 0)] * len(plan.steps)
    line = queued(plan, work, ("a",), plain_dma(1000.0), ENDLESS, Ahead(blocks=0))
    assert moves(line)[0] == ("offload", "a", 1, 5)
    assert line.slots[5].wait == 0
    assert run(plan, work, ("a",), plain_dma(1000.0), ENDLESS).slots[4].stall == pytest.approx(3)


@pytest.mark.parametrize(("names", "blocks"), [
    (("block1/norm1", "block1/up", "block2/norm1", "head"), 3), (("conv1", "conv1.norm"), 2),
    (("model.layers.0.up", "model.layers.0.down.norm", "norm", "model.layers.1.up"), 3)])
def test_blocks_are_those_of_the_names(names: tuple[str, ...], blocks: int) -> None:
    net = Builder("named", "a test", 10, (1, 10, 10))
    for name in names:
        net.conv(name, 1, 1)
    plan = tensors(net.network())
    work = [Compute(1.0, 1.0, 0, 0)] * len(plan.steps)
    chosen = swapped(plan, "all", 0)
    # A link that is far too slow: no step waits for a tensor of as many blocks before as there are.
    slow = [queued(plan, work, chosen, plain_dma(1.0), ENDLESS, Ahead(blocks=more)).slots for more in range(blocks)]
    assert sum(any(slot.wait for slot in slots[:len(names)]) for slots in slow) == blocks - 1


def test_limits_are_checked() -> None:
    for values, says in (((1.0, 1), "not both"), ((-1.0, None), "0 or more"), ((None, -1), "0 or more")):
        with pytest.raises(ValueError, match=says):
            Ahead(*values)
    assert [str(Ahead(memory=12e9)), str(Ahead(blocks=1)), str(Ahead(blocks=2)), str(Ahead())] == [
        "as far as 12 GB allow", "1 block", "2 blocks", "no limit"]
    plan = three()
    with pytest.raises(ValueError, match="there is no schedule 'eager': give layer or queue"):
        study(plan, WORK, GPUS["v100"], frozenset(), default_fillings(plan), build_engine(), 1e9, schedule="eager")


AHEADS = st.one_of(st.builds(Ahead, blocks=st.integers(0, 6)), st.builds(Ahead, memory=st.floats(0, 2e10)),
                   st.just(NO_LIMIT))


def check_bounds(plan: Tensors, work: list[Compute], chosen: frozenset[str], line: Timeline,
                 ahead: Ahead = NO_LIMIT) -> None:
    oracle = run(plan, work, (), plain_dma(1.0), ENDLESS).seconds
    passes = {way: [slot for slot in line.slots if slot.direction == way] for way in ("forward", "backward")}
    spans = {way: slots[-1].end - slots[0].start for way, slots in passes.items()}
    assert line.seconds >= oracle * (1 - 1e-12)
    assert oracle + line.stall == pytest.approx(line.seconds)
    for direction, way in (("offload", "forward"), ("prefetch", "backward")):
        own = [move for move in line.moves if move.direction == direction]
        assert all(one.end <= other.start for one, other in itertools.pairwise(own))  # one at a time
        # All but the transfer that was under way at the turn has its time within its pass.
        done = [move for move in own if direction == "prefetch" or move.end <= passes[way][-1].end]
        assert sum(move.end - move.start for move in done) <= spans[way] * (1 + 1e-12)
    assert high_water(plan, chosen) <= line.memory <= high_water(plan, ())
    if ahead.memory is not None:
        assert line.memory <= max(ahead.memory, high_water(plan, chosen))


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(PAPER), link=st.floats(0.5, 200), gpu=st.sampled_from(("titan-x", "v100")), ahead=AHEADS)
def test_bounds(name: str, link: float, gpu: str, ahead: Ahead) -> None:
    plan = tensors(load_network(name))
    work, chosen = roofline(plan, GPUS[gpu]), swapped(plan, "all", 0)
    check_bounds(plan, work, chosen, queued(plan, work, chosen, plain_dma(link * 1e9), ENDLESS, ahead), ahead)
    free = queued(plan, work, chosen, plain_dma(link * 1e9), ENDLESS, NO_LIMIT)
    enough = Ahead(memory=high_water(plan, ()))
    assert queued(plan, work, chosen, plain_dma(link * 1e9), ENDLESS, enough) == free
    layer = run(plan, work, chosen, plain_dma(link * 1e9), ENDLESS)
    assert free.seconds <= layer.seconds * (1 + 1e-12)


@settings(max_examples=50, deadline=None)
@given(layers=st.lists(st.tuples(st.integers(1, 9), st.floats(0.1, 9), st.floats(0.1, 9)), min_size=2, max_size=6),
       link=st.floats(10, 1e5), ahead=st.integers(0, 5))
def test_chains(layers: list[tuple[int, float, float]], link: float, ahead: int) -> None:
    # In a chain every tensor is read by the next layer last. Then a queue is never slower than a wait at each layer,
    # whatever the look-ahead, and more look-ahead is never slower.
    net = Builder("chain", "a test", 1, (1, 10, 10))
    for number, (channels, _, _) in enumerate(layers):
        net.conv(f"conv{number}", channels, 1)
    plan = tensors(net.network())
    work = [Compute(forward, backward, 0, 0) for _, forward, backward in layers]
    chosen = swapped(plan, "all", 0)
    less, more = (queued(plan, work, chosen, plain_dma(link), ENDLESS, Ahead(blocks=n)) for n in (ahead, ahead + 1))
    check_bounds(plan, work, chosen, less)
    assert less.seconds <= run(plan, work, chosen, plain_dma(link), ENDLESS).seconds * (1 + 1e-12)
    assert more.seconds <= less.seconds * (1 + 1e-12)
