"""Training whose saved tensors an engine keeps is plain training, bit for bit."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from cdma import workload
from cdma.engines import DriverEngine, Side, model_engine
from cdma.engines.model import ModelMachine
from cdma.golden.engine import Fault
from cdma.hdl.config.engine import load_engine
from cdma.workload.training import EngineError
from cdma.workload.training.examples import EXAMPLES, Trained, begin, differences
from cdma.workload.training.examples import train as train_example
from tests.torch.networks import Plain, Residual, train

torch: Any = import_module("torch")


class Kept:
    """An engine that keeps tensors as they are, and counts."""

    def __init__(self) -> None:
        self.there: dict[int, np.ndarray] = {}
        self.types: list[str] = []
        self.prefetched = 0

    def offload(self, data: np.ndarray, dtype: str) -> int:
        self.types.append(dtype)
        self.there[len(self.types)] = data.copy()
        return len(self.types)

    def prefetch(self, handle: int) -> np.ndarray:
        self.prefetched += 1
        return self.there[handle]

    def free(self, handle: int) -> None:
        del self.there[handle]


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("page_bytes", [None, 4096])
def test_the_examples(example: str, page_bytes: int | None) -> None:
    plain = train_example(begin(example, 3), 2)
    config = load_engine("engine").replace(page_lists=True)
    with model_engine(config, page_bytes=page_bytes) as engine:
        moved = train_example(begin(example, 3), 2, lambda model: workload.offload(model, engine))
    assert differences(plain, moved) == []
    assert len(plain.gradients) > 5 and len(plain.weights) > 5
    assert sum(each.bytes for each in engine.transfers) > 2 << 20
    assert all(each.prefetches == 1 for each in engine.transfers)


def test_what_differs_is_named() -> None:
    one, other = (Trained("Net", (1.5, loss), {"fc": torch.tensor([1.0, 2.0])}, {"fc": torch.tensor([weight, 0.0])})
                  for loss, weight in ((0.5, 0.0), (0.25, -0.0)))
    assert differences(one, one) == []
    assert differences(one, other) == ["the loss of step 2 is 0.25, not 0.5",
                                       "the weight of fc differs in 1 of 2 values"]


@pytest.mark.parametrize("make", [Plain, Residual])
@pytest.mark.parametrize("least", [0, 512])
def test_networks_of_ones_own(make: Callable[[], Any], least: int) -> None:
    losses, weights = train(make)
    with model_engine("tiny") as engine:
        found = train(make, lambda model: workload.offload(model, engine, least=least))
    assert found[0] == losses
    assert all(torch.equal(one, other) for one, other in zip(found[1], weights, strict=True))
    assert engine.transfers


def backward(through: Callable[[Any], Any], *shape: int, least: int = 0) -> tuple[Kept, Any]:
    """Check the gradient of a function with what it saves in an engine; returns that engine and the counts."""
    inputs = torch.randn(*shape, generator=torch.Generator().manual_seed(1))
    gradients = []
    engine = Kept()
    context = workload.offload(torch.nn.Identity(), engine, least=least)
    for each in (nullcontext(), context):
        leaf = inputs.clone().requires_grad_()
        with each:
            loss = through(leaf).float().sum()
        loss.backward()
        gradients.append(leaf.grad)
    del loss
    gc.collect()
    assert torch.equal(*(each.view(torch.int32) for each in gradients))
    assert not engine.there, "all handles are freed with the graph"
    return engine, context.counts


def test_a_tensor_that_is_saved_twice_is_kept_once() -> None:
    def through(x: Any) -> Any:
        y = x.exp()
        return y * y.sin() * y.cos()

    engine, counts = backward(through, 8, 16)
    assert counts.again >= 3
    assert counts.moved == engine.prefetched == len(engine.types)
    assert counts.moved_bytes == counts.moved * 8 * 16 * 4


def test_views_need_their_memory_once() -> None:
    def through(x: Any) -> Any:
        one, two, three = (x * 2).unflatten(-1, (3, 5)).unbind(-2)
        return torch.nn.functional.softmax(one @ two.t(), -1) @ three

    engine, counts = backward(through, 6, 15)
    # The memory that all three are views of, and the softmax.
    assert (counts.moved, counts.moved_bytes, engine.prefetched) == (2, (6 * 15 + 6 * 6) * 4, 2)
    assert counts.again >= 2


def test_views_with_gaps_in_large_memory_are_moved_alone() -> None:
    _, counts = backward(lambda x: (x * 2)[:, ::8].sin(), 16, 64)
    assert counts.moved_bytes == 16 * 8 * 4


@pytest.mark.parametrize("through", [
    lambda x: torch.nn.functional.max_pool2d(x.view(1, 4, 4, 8), 2),
    lambda x: x.to(torch.bfloat16).sin(),
    lambda x: x.double().sin().float(),
    lambda x: torch.where(x > 0, x, x * 2),
    lambda x: x.t().sin().exp(),
    lambda x: x.view(1, 4, 4, 8).to(memory_format=torch.channels_last).sin(),
    lambda x: x[:1].expand(16, -1).sin() * x,
    lambda x: x[:0].sin(),
    lambda x: torch.view_as_real(torch.view_as_complex(x.view(-1, 2)).exp().conj() * 2),
    lambda x: x.sum().sin(),
    lambda x: x[torch.tensor([3, 1, 1])].sin(),
    lambda x: x.gather(1, torch.zeros(16, 2, dtype=torch.int64)).exp(),
    lambda x: x.as_strided((10, 5), (2, 1)).sin()],
    ids=["indices", "bfloat16", "float64", "bool", "transposed", "channels-last", "expanded", "empty", "conjugate",
         "scalar", "repeated", "gathered", "overlapping"])
def test_kinds_of_tensors(through: Callable[[Any], Any]) -> None:
    engine, counts = backward(through, 16, 8)
    assert counts.saved == counts.moved + counts.again + counts.small + counts.weights + counts.other
    assert counts.restored == counts.moved == len(engine.types)


def test_types_are_named() -> None:
    engine, _ = backward(lambda x: torch.nn.functional.max_pool2d(x.view(1, 4, 4, 8).exp(), 2).bfloat16().sin(), 16, 8)
    assert {"float32", "int64", "bfloat16"} <= set(engine.types)


def test_strides_and_alignment_are_kept() -> None:
    seen = []

    class Look(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            seen.append((x.stride(), x.data_ptr() % 64))
            return x.clone()

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            x, = ctx.saved_tensors
            seen.append((x.stride(), x.data_ptr() % 64))
            return gradient

    base = torch.randn(40, 12).requires_grad_()
    for view in (base, base.t(), base[3:], base[:, ::3], base[5:9, 2:3]):
        with workload.offload(torch.nn.Identity(), Kept(), least=0):
            Look.apply(view).sum().backward()
        assert seen[-2] == seen[-1]


def test_small_tensors_and_weights_stay() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU())
    engine = Kept()
    with workload.offload(model, engine, least=1000) as moved:
        model(torch.randn(64, 8)).sum().backward()
    assert moved.counts.weights and moved.counts.small
    assert moved.counts.small_bytes < 1000 * moved.counts.small
    assert len(engine.types) == moved.counts.moved > 0


def test_autocast_weights_stay() -> None:
    model, engine = torch.nn.Linear(64, 64, bias=False), Kept()
    with workload.offload(model, engine, least=0) as moved, torch.autocast("cpu", torch.bfloat16):
        model(torch.randn(2, 64).requires_grad_()).float().sum().backward()
    assert moved.counts.weights == 1
    assert moved.counts.moved_bytes < 64 * 64


def test_a_second_backward() -> None:
    engine, x = Kept(), torch.randn(10, 10).requires_grad_()
    with workload.offload(torch.nn.Identity(), engine, least=0):
        loss = x.exp().sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert engine.prefetched == 2
    assert torch.equal(x.grad, 2 * x.detach().exp())


def test_a_change_in_place_is_another_tensor() -> None:
    engine, x = Kept(), torch.randn(10, 10).requires_grad_()
    with workload.offload(torch.nn.Identity(), engine, least=0) as moved:
        y = x * 1
        one = y.detach().mul(x).sum()
        with torch.no_grad():
            y.mul_(2)
        other = y.detach().mul(x).sum()
    (one + other).backward()
    assert torch.equal(x.grad, 3 * x.detach())
    assert moved.counts.moved >= 2


def test_a_graph_that_is_never_used_is_freed() -> None:
    engine = Kept()
    with workload.offload(torch.nn.Identity(), engine, least=0):
        loss = torch.randn(10).requires_grad_().exp().sum()
    assert engine.there
    del loss
    assert not engine.there


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_an_engine_that_fails(where: str) -> None:
    machine = ModelMachine(load_engine("engine"), 1 << 20)
    engine = DriverEngine(machine, machine.config)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())
    with workload.offload(model, engine):
        if where == "backward":
            loss = model(torch.randn(32, 64)).sum()
        machine.memories[Side.LINK].faults.append(Fault(0, 1 << 20))
        with pytest.raises(EngineError, match=r"cdma_engine failed in the (offload|prefetch) of a tensor of 8,192 "
                                              r"bytes of float32 \(float32\): .*LINK_(WRITE|READ)_ERROR"):
            loss.backward() if where == "backward" else model(torch.randn(32, 64))


def test_mistakes() -> None:
    with pytest.raises(TypeError, match="can be offloaded, not int"):
        workload.offload(3, Kept())
    with pytest.raises(TypeError, match="'engine' has no offload"):
        workload.offload(torch.nn.Identity(), "engine")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="least must be"):
        workload.offload(torch.nn.Identity(), Kept(), least=-1)
