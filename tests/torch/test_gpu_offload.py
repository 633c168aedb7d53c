"""Training whose saved tensors the GPU's engine keeps, on the CPU's streams: plain training, bit for bit; stock
modules are in test_stock_modules.py."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from itertools import cycle
from typing import Any

import pytest

from cdma import workload
from cdma.golden.codec.narrowing import Narrowing
from cdma.gpu import GpuEngine
from cdma.gpu.rule import POLICIES, Rule
from cdma.gpu.streams import streams_of
from cdma.workload.capturing.storage import Part
from cdma.workload.training import EngineError
from cdma.workload.training.examples import EXAMPLES, begin, differences, train
from cdma.workload.training.parts import restored

torch: Any = import_module("torch")


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The golden model codes, and not Triton's interpreter."""
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)


def saved(engine: GpuEngine, tensors: int = 12) -> Any:
    """A graph that keeps tensors of 64 KiB, and its leaf."""
    leaf = torch.randn(16384, generator=torch.Generator().manual_seed(1)).requires_grad_()
    with workload.offload(torch.nn.Identity(), engine):
        value = leaf
        for _ in range(tensors):
            value = value.sin()
    return leaf, value.sum()


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("options", [{}, {"policy": "plain"}, {"policy": "each"}, {"late": 5, "ahead": 0}], ids=str)
def test_examples(example: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    hooks = []
    if options.get("policy") == "each":
        each, options = cycle(POLICIES), {}
        monkeypatch.setattr(Rule, "choose", lambda *_: next(each))

    def watch(model: Any) -> Any:
        hooks.append(workload.offload(model, engine))
        return hooks[0]

    plain = train(begin(example, 3, 2), 2)
    with GpuEngine("cpu", slab_bytes=1 << 26, **options) as engine:
        moved = train(begin(example, 3, 2), 2, watch)
    assert differences(plain, moved) == []
    totals, counts = engine.totals, hooks[0].counts
    assert totals.packed + totals.plain + totals.stayed == counts.moved == counts.restored
    assert totals.refused == counts.stayed == 0
    assert (totals.stayed > 0) == (totals.raw_bytes < counts.moved_bytes)
    assert (totals.link_bytes < totals.raw_bytes) == (options.get("policy") != "plain")


def test_memory_is_freed_and_used_again() -> None:
    with GpuEngine("cpu", slab_bytes=1 << 20, policy="packed") as engine:
        for _ in range(5):
            _, loss = saved(engine)
            loss.backward()
            del loss
            gc.collect()
        assert engine.takes(1 << 19)
    assert engine.totals.packed == 60 and engine.totals.held_bytes == 0
    assert 10 * 40_000 < engine.totals.most_bytes < 1 << 20
    assert engine._places.free == 1 << 20


def test_a_stream_that_lives_long_blocks_no_other() -> None:
    with GpuEngine("cpu", slab_bytes=1 << 20, policy="plain", late=0) as engine:
        data = torch.zeros(70_000, dtype=torch.uint8)
        kept = [engine.offload(data, "uint8") for _ in range(14)]
        for _ in range(5):      # all but one in the middle are freed, and their room is taken again
            for each in kept[:7] + kept[8:]:
                engine.free(each)
            kept = [*(engine.offload(data, "uint8") for _ in range(7)), kept[7],
                    *(engine.offload(data, "uint8") for _ in range(6))]
        assert engine.totals.held_bytes == 14 * 70_000


@pytest.mark.parametrize(("options", "copied"), [
    ({"ahead": 0}, [6, 7]), ({"ahead": 1}, [4, 5, 6, 7]), ({"ahead_bytes": 3000}, [4, 5, 6, 7]), ({}, list(range(8))),
    ({"ahead_bytes": 0}, [7]), ({"ahead": 1, "ahead_bytes": 2000}, [5, 6, 7]),
    ({"ahead": 3, "ahead_bytes": None}, list(range(8)))], ids=str)
def test_looks_ahead_by_layers_or_by_bytes(options: dict[str, Any], copied: list[int]) -> None:
    with GpuEngine("cpu", slab_bytes=1 << 20, policy="plain", **options) as engine:
        handles = []
        for number in range(8):
            if number % 2 == 0:
                engine.layer()
            handles.append(engine.offload(torch.full((1000,), number, dtype=torch.uint8), "uint8"))
        assert engine.prefetch(handles[7]).unique().tolist() == [7]
        assert [number for number, each in enumerate(handles) if each.back] == copied


def test_layers_are_modules_without_others() -> None:
    layers = [torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Linear(64, 64))]
    model = torch.nn.Sequential(*layers)
    with GpuEngine("cpu", slab_bytes=1 << 20, policy="plain") as engine, workload.offload(model, engine, least=0):
        value = torch.ones(8, 64)
        for each in layers:
            value = each(value)
        # What the second one saves of its result the third has as its input.
        assert [kept.layer for kept in engine._live] == [1, 2]
        assert engine._layer == 3
    model(value)
    assert engine._layer == 3


def test_what_has_no_room_stays() -> None:
    with GpuEngine("cpu", slab_bytes=1 << 18, policy="packed") as engine:
        _, loss = saved(engine)
        loss.backward()
    assert engine.totals.packed >= 2 and engine.totals.packed + engine.totals.refused == 12


def test_tensors_on_another_device_stay() -> None:
    """They would come back on the engine's: as if the model were on a GPU, and its loss on the CPU."""
    with GpuEngine("cpu", slab_bytes=1 << 18, policy="plain") as engine:
        engine.device = torch.device("cuda:0")
        leaf = torch.randn(16384).requires_grad_()
        with workload.offload(torch.nn.Identity(), engine) as hooks:
            loss = leaf.sin().exp().sum()
        loss.backward()
    assert hooks.counts.saved == hooks.counts.other == 2 and not engine.totals.plain
    assert torch.equal(leaf.grad, leaf.detach().sin().exp() * leaf.detach().cos())


def test_memory_is_restored_on_its_device() -> None:
    data = torch.zeros(4096, dtype=torch.uint8)
    assert restored(Part(0, 4096), data, 1, data.device) is data
    assert restored(Part(0, 4096), data, 1, torch.device("meta")).device.type == "meta"


class Clocks:
    """Streams whose order is kept as vector clocks: what is known to have happened before what."""

    def __init__(self) -> None:
        self.now: dict[Any, Counter[Any]] = {None: Counter()}

    def stream(self) -> Any:
        self.now[len(self.now)] = Counter()
        return len(self.now) - 1

    def mark(self, stream: Any = None) -> Any:
        self.now[stream][stream] += 1
        return Counter(self.now[stream])

    def after(self, event: Any, stream: Any = None) -> None:
        self.now[stream] |= event

    def knows(self, event: Any, stream: Any = None) -> bool:
        return event <= self.now[stream]

    def __getattr__(self, name: str) -> Any:
        return {"done": lambda event: False, "wait": lambda event: None}.get(name) or getattr(
            streams_of(torch.device("cpu")), name)


def test_copies_are_ordered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each begins when its source is there, and what reads or overwrites it when it is done."""
    clocks, places, copies = Clocks(), {}, Counter()
    monkeypatch.setattr("cdma.gpu.engine.streams_of", lambda device: clocks)

    class Ordered(GpuEngine):
        def _copied(self, what: str, target: Any, source: Any, stream: Any) -> Any:
            memory = target if what == "out" else source
            reach = range(memory.storage_offset() // 512, -(-(memory.storage_offset() + memory.numel()) // 512))
            if what == "out":
                assert clocks.knows(encoded.pop(0), stream)
            else:
                # It comes to memory that may have had another use.
                assert clocks.knows(Counter({None: clocks.now[None][None]}), stream)
            # What was written here is there, and nothing that is read from here is still under way.
            for grain in reach:
                assert all(clocks.knows(each, stream) for each in places.get(grain, ()))
            events = super()._copied(what, target, source, stream)
            for grain in reach:
                places[grain] = [events[1]] if what == "out" else [*places[grain], events[1]]
            copies[what] += 1
            return events

        def offload(self, data: Any, dtype: str) -> Any:
            handle = super().offload(data, dtype)
            encoded.append(handle.times[1])
            return handle

        def _reclaim(self) -> None:
            gone = [each.back[1] for each in self._freed if each.back]
            super()._reclaim()
            assert all(map(clocks.knows, gone))

        def prefetch(self, handle: Any) -> Any:
            data = super().prefetch(handle)
            assert clocks.knows(handle.back[1])
            return data

    encoded: list[Any] = []
    with Ordered("cpu", slab_bytes=1 << 20, policy="packed", late=2, ahead=3) as engine:
        for _ in range(3):
            _, loss = saved(engine)
            loss.backward()
            del loss
        assert copies == {"out": 36, "back": 36}
        # Tensors that come back and are not needed any more, while two wait that then get their places.
        data = torch.randint(256, (9999,), dtype=torch.uint8)
        for _ in range(3):
            handles = [engine.offload(data, "uint8") for _ in range(9)]
            engine.prefetch(handles[3])
            waiting = [engine.offload(data, "uint8") for _ in range(2)]
            for each in handles:
                engine.free(each)
        assert waiting


@pytest.mark.parametrize("form", [Narrowing.BFLOAT16, Narrowing.FLOAT16])
def test_narrowing_by_choice(form: Narrowing) -> None:
    values = torch.randn(5000, generator=torch.Generator().manual_seed(1))
    with GpuEngine("cpu", slab_bytes=1 << 16, policy="plain", narrowing=form) as engine:
        held = engine.offload(values.view(torch.uint8), "float32"), engine.offload(values.view(torch.uint8), "int32")
        rounded, same = (engine.prefetch(each).view(torch.float32) for each in held)
    assert torch.equal(same, values) and torch.equal(rounded, values.to(getattr(torch, form.name.lower())).float())
    assert engine.totals.link_bytes < 1.5 * values.nbytes + 100


def test_a_stream_that_is_spoiled_is_told() -> None:
    with pytest.raises(EngineError, match="came back from the host malformed"), \
            GpuEngine("cpu", slab_bytes=1 << 22, policy="packed") as engine:
        _, loss = saved(engine)
        engine._slab[3] ^= 1
        loss.backward()


GB = 10 ** 9


def scripted(budget: int = 0, **rates: float) -> Rule:
    """A rule that has measured rates in GB/s, and ratios of some kinds; a kind is its type and its bytes."""
    rule = Rule(budget=budget)
    for what, rate in ({"encode": 400, "decode": 800, "out": 50, "back": 50} | rates).items():
        rule.measured(what, DENSE, GB, 1 / rate)
    for kind, ratio in ((DENSE, 1.05), (FLOATS, 1.39), (SPARSE, 4.0)):
        for _ in range(2):
            rule.choose(kind, 0)
        rule.packed(kind, 10 ** 6, int(10 ** 6 / ratio))
    rule.step(rule.turn())
    return rule


DENSE, FLOATS, SPARSE = ("float32", 1000), ("bfloat16", 1000), ("float32", 2000)


def trained(rule: Rule, kinds: Sequence[tuple[str, int]], forward: float, backward: float, steps: int = 25) -> str:
    """The choices of the last of some steps, by their first letters; computing takes times a copy of all there is."""
    choices, raw = "", sum(size for _, size in kinds)
    for _ in range(steps):
        choices, room = "", rule.budget
        for kind in kinds:
            rule._seen[kind] = 2
            choice = rule.choose(kind, kind[1], room)
            room -= kind[1] if choice == "stays" else 0
            choices += choice[1]
        for what, copy, share in (("forward", "out", forward), ("backward", "back", backward)):
            rule.measured(what, FLOATS, 0, share * raw / rule.rates[copy])
        rule.step(rule.turn())
    return choices


def test_the_rule_compresses_where_that_is_faster() -> None:
    assert Rule().choose(DENSE, 1000) == "packed"        # nothing is known
    rule = scripted()
    # 40 ps a byte there and back; 3.75 for the codec.
    assert rule.seconds(DENSE, GB) == pytest.approx(0.04) and rule.seconds(DENSE, GB, 0) == pytest.approx(0.00375)
    choices = {kind: [rule.choose(kind, 10 ** 6) for _ in range(130)] for kind in (DENSE, FLOATS)}
    assert set(choices[FLOATS]) == {"packed"}
    # To measure, one in 64 is compressed.
    assert [number for number, choice in enumerate(choices[DENSE], 3) if choice != "plain"] == [64, 128]
    # A kind has times of its own, where it is slower than others.
    rule.measured("encode", FLOATS, GB, 1 / 80)
    assert rule.choose(FLOATS, 10 ** 6) == "plain" and rule.choose(SPARSE, 10 ** 6) == "packed"
    # It follows rates that drift: a link as fast as the codec.
    for _ in range(30):
        rule.measured("out", None, GB, 1 / 900)
        rule.measured("back", None, GB, 1 / 900)
    assert rule.choose(SPARSE, 10 ** 6) == "plain"
    assert Rule("packed").choose(DENSE, 1) == "packed" and Rule("plain").choose(DENSE, 1) == "plain"


def test_the_first_time_has_a_compiler_in_it() -> None:
    rule = scripted(encode=0.01)
    assert rule.choose(FLOATS, 10 ** 6) == "plain"
    rule.measured("encode", FLOATS, GB, 1 / 400)
    assert rule.choose(FLOATS, 10 ** 6) == "packed"


def test_the_rule_leaves_copies_that_computing_hides() -> None:
    """By times of a whole step: coding would only cost there."""
    kinds = [FLOATS, SPARSE] * 4
    assert trained(scripted(), kinds, 1.1, 2.0) == "l" * 8
    assert trained(scripted(), kinds, 0.2, 0.4) == "a" * 8
    # Of the copies of forward 40 % are exposed: compressed are as many as are needed to hide the rest.
    assert trained(scripted(), kinds, 0.6, 2.0) == "aaaaaall"
    rule = scripted()
    assert trained(rule, kinds, 1.1, 2.0) == "l" * 8 and trained(rule, kinds, 0.2, 2.0) == "a" * 8


def test_the_rule_keeps_what_compresses_least() -> None:
    kinds = [FLOATS, SPARSE, DENSE] * 3
    assert trained(scripted(), kinds, 0.2, 0.2) == "aal" * 3
    # Dense ones stay, then others while there is room; none, where computing hides the copies.
    assert trained(scripted(budget=3000), kinds, 0.1, 0.1) == "aat" * 3
    assert trained(scripted(budget=5000), kinds, 0.1, 0.1) == "tattataat"
    assert trained(scripted(budget=5000), kinds, 1.1, 1.1) == "l" * 9


def test_prices_of_kinds() -> None:
    rule = scripted()
    rule.measured("forward", FLOATS, 1000, 1000 / (100 * GB))
    rule.measured("forward", SPARSE, 2000, 2000 / (20 * GB))
    prices = {(row["dtype"], row["bytes"]): row for row in rule.kinds()}
    assert prices[FLOATS]["seconds"] == pytest.approx({"plain": 40e-9, "packed": 32.53e-9, "again": 10e-9}, rel=1e-3)
    assert [prices[kind]["cheapest"] for kind in (DENSE, FLOATS, SPARSE)] == ["plain", "again", "packed"]


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="policy must be packed, plain, stays or None, not 'fast'"):
        GpuEngine("cpu", policy="fast")
