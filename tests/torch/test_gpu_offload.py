"""Training whose saved tensors the GPU's engine keeps, on the CPU's streams: plain training, bit for bit; stock
modules are in test_stock_modules.py."""

from __future__ import annotations

import gc
from collections import Counter
from importlib import import_module
from typing import Any

import pytest

from cdma import workload
from cdma.gpu import GpuEngine
from cdma.gpu.rule import Rule
from cdma.gpu.streams import streams_of
from cdma.workload.training import EngineError
from cdma.workload.training.examples import EXAMPLES, begin, differences, train

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
@pytest.mark.parametrize("options", [{}, {"policy": "plain"}, {"budget": 100_000}, {"late": 5, "ahead": 0}], ids=str)
def test_examples(example: str, options: dict[str, Any]) -> None:
    hooks = []

    def watch(model: Any) -> Any:
        hooks.append(workload.offload(model, engine))
        return hooks[0]

    plain = train(begin(example, 3, 2), 2)
    with GpuEngine("cpu", slab_bytes=1 << 26, **options) as engine:
        moved = train(begin(example, 3, 2), 2, watch)
    assert differences(plain, moved) == []
    totals, counts = engine.totals, hooks[0].counts
    assert totals.packed + totals.plain == counts.moved == counts.restored
    assert (totals.stayed > 0) == ("budget" in options) and totals.stayed == counts.stayed
    assert totals.raw_bytes == counts.moved_bytes
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


def test_what_has_no_room_stays() -> None:
    with GpuEngine("cpu", slab_bytes=1 << 18, policy="packed") as engine:
        _, loss = saved(engine)
        loss.backward()
    assert engine.totals.packed >= 2 and engine.totals.packed + engine.totals.stayed == 12


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


def test_a_stream_that_is_spoiled_is_told() -> None:
    with pytest.raises(EngineError, match="came back from the host malformed"), \
            GpuEngine("cpu", slab_bytes=1 << 22, policy="packed") as engine:
        _, loss = saved(engine)
        engine._slab[3] ^= 1
        loss.backward()


def test_the_rule() -> None:
    rule = Rule()
    assert rule.packs("a", 1000)        # nothing is known
    for what, rate in (("encode", 400e9), ("decode", 800e9), ("out", 50e9), ("back", 50e9)):
        rule.measured(what, 10 ** 9, 10 ** 9 / rate)
    for kind, ratio in (("dense", 1.05), ("floats", 1.39)):
        rule.packed(kind, 10 ** 6, int(10 ** 6 / ratio))
    # 40 ps a byte there and back; 3.75 for the codec.
    assert rule.seconds(10 ** 9) == pytest.approx(0.04) and rule.seconds(10 ** 9, 0) == pytest.approx(0.00375)
    choices = {kind: [rule.packs(kind, 10 ** 6) for _ in range(130)] for kind in ("dense", "floats")}
    assert all(choices["floats"])
    assert [number for number, packs in enumerate(choices["dense"], 1) if packs] == [1, 2, 64, 128]
    # It follows rates that drift: a link as fast as the codec.
    for _ in range(30):
        rule.measured("out", 10 ** 9, 10 ** 9 / 900e9)
        rule.measured("back", 10 ** 9, 10 ** 9 / 900e9)
    assert not rule.packs("floats", 10 ** 6)
    assert Rule("packed").packs("a", 1) and not Rule("plain").packs("a", 1)


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="policy must be packed, plain or None, not 'fast'"):
        GpuEngine("cpu", policy="fast")
