"""Every option of an engine has a bench in its plan, and every bench a place."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import numpy as np
import pytest

from cdma.golden.engine import Operation
from cdma.hdl.config.catalog import kinds
from cdma.hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from cdma.verif.common import job
from cdma.verif.engine import benches
from cdma.verif.engine.testbench import EngineTestbench
from cdma.verif.regression.plan import LINT, THROUGHPUT, Step, image_bytes, steps

_OTHERWISE = {
    "measure": "measures, in the step throughput", "fragments": "measures, in cdma bench",
    "network": "moves dumps for cdma simulate", "remote": "serves cdma train", "power_up": "compares simulators",
    **{f"reference_{part}": "is software: tests/verif/engine/test_handover.py runs it"
       for part in ("driver", "faults", "rings", "windows", "write_back")}}
"""Benches that are in no plan, and why."""

_OPTIONS = {"address_windows": {"windows"}, "page_lists": {"page_lists"}, "write_back": {"write_back"},
            "buffer_parity": {"buffer_parity"}}


def _benches(config: EngineConfig) -> set[str]:
    return {step.bench.rpartition(".")[2] for step in steps(config) if step.bench}


@pytest.mark.parametrize("option", _OPTIONS)
def test_an_option_brings_its_bench(option: str) -> None:
    plain = load_engine("tiny")
    with_option = plain.replace(**{option: True})
    assert _benches(with_option) - _benches(plain) == _OPTIONS[option]


def test_clock_ids_and_pages_in_windows_bring_theirs() -> None:
    plain = load_engine("tiny")
    assert _benches(plain.replace(link_clock="separate")) - _benches(plain) == {"link_clock"}
    assert _benches(plain.replace(link_read_ids=4)) - _benches(plain) == {"link_reads"}
    both = plain.replace(page_lists=True, address_windows=True)
    assert "page_windows" in _benches(both)


def test_every_bench_is_in_a_plan_or_named_with_a_reason() -> None:
    every = load_engine("tiny").replace(page_lists=True, address_windows=True, write_back=True, buffer_parity=True,
                                        link_read_ids=4, link_clock="separate")
    folder = Path(benches.__path__[0])
    there = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert there == _benches(every) | set(_OTHERWISE)
    assert not _benches(every) & set(_OTHERWISE)


@pytest.mark.parametrize("name", [name for _, presets in kinds().values() for name in presets])
def test_every_preset_has_a_plan(name: str) -> None:
    config = next(presets[name] for _, presets in kinds().values() if name in presets)
    names = [step.name for step in steps(config)]
    assert names[0] == LINT
    assert len(set(names)) == len(names) > 2
    assert (THROUGHPUT in names) is isinstance(config, EngineConfig)


class _PlacedError(Exception):
    """All is in its place."""


class _Places(EngineTestbench):
    """A testbench without a simulator. It places what a test of a bench places first, and then ends the test."""

    def __init__(self, config: EngineConfig, size: int) -> None:
        super().__init__(MagicMock(), np.random.default_rng(1), config=config.replace(link_clock="shared"),
                         image_bytes=size)
        self.config, self.device, self.link, self.link_clock = config, AsyncMock(), AsyncMock(), AsyncMock(ratio=1.0)
        self.control: Any = AsyncMock(channels={operation: AsyncMock() for operation in Operation})

    async def behave(self, *_: Any) -> None:
        """Nothing."""

    async def load(self) -> None:
        """End the test."""
        raise _PlacedError


def _placed(config: EngineConfig, step: Step, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The tests of a step's bench that place something.

    Raises
    ------
    OutOfSpaceError
        If there is no room for it.
    """
    bench, module = _Places(config, step.job.get("image_bytes", image_bytes(config))), import_module(step.bench)
    monkeypatch.setattr(job, "load", lambda: {"share": step.share, "config": config.as_dict(), **step.job})
    monkeypatch.setattr(module, "ready", AsyncMock(return_value=bench))
    placed = set()
    for name, test in vars(module).items():
        if hasattr(test, "generate_tests"):
            bench.clear()
            bench.page_share, bench.page_size = 0.5, None
            # Registers read as nothing.
            with suppress(AssertionError, StopIteration):
                try:
                    test.func(MagicMock()).send(None)
                except _PlacedError:
                    placed.add(name)
    return placed


_MOST = {"transfers": {"queues_full"}, "bus_models": {"queues_full", "one_slow_memory"}, "write_back": {"full_rings"},
         "timeouts": {"ports_that_come_back_during_a_transfer", "limits_that_are_too_short", "rings_on_a_silent_link"},
         "link_clock": {"resets_of_the_link", "a_clock_that_stands"}}
"""Tests that place most, by their steps."""


@pytest.mark.parametrize(("lanes", "block_bytes"), [
    (1, 512), (1, 32768), (3, 512), (3, 32768), (4, 4096), (4, 32768), (16, 4096), (16, 32768)])
@pytest.mark.parametrize("page_lists", [False, True])
def test_what_a_bench_places_fits_its_memories(lanes: int, block_bytes: int, page_lists: bool, tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDMA_JOB", str(tmp_path))
    config = load_engine("wide" if lanes == 16 else "engine").replace(
        lanes=lanes, block_bytes=block_bytes, buffer_bytes=block_bytes * 5 // 4, queue_depth=64, page_lists=page_lists,
        write_back=True, link_clock="separate")
    for step in steps(config):
        if step.name in _MOST:
            assert _placed(config, step, monkeypatch) >= _MOST[step.name], step.name


_IMAGES = {"engine": (1 << 21, 1 << 20), "lean": (1 << 20, 1 << 19), "paper": (1 << 21, 1 << 20),
           "smallest": (1 << 20, 1 << 18), "tiny": (1 << 20, 1 << 18), "wide": (1 << 22, 1 << 22)}
"""Bytes of the memories of presets: those of most benches, and of the step timeouts."""


def test_memories_of_presets_remain_small() -> None:
    # Their dumps take half of the time of a run, and other addresses are other stimuli.
    assert set(_IMAGES) == set(engine_preset_names())
    for name, (usual, timeouts) in _IMAGES.items():
        config = load_engine(name)
        own = {step.name: step.job["image_bytes"] for step in steps(config) if "image_bytes" in step.job}
        assert (image_bytes(config), own) == (usual, {"timeouts": timeouts, "bus_models": 1 << 20}), name
