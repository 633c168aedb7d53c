"""Every option of an engine has a bench in its plan, and every bench a place."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.hdl.config.catalog import kinds
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.verif.engine import benches
from cdma.verif.regression.plan import LINT, THROUGHPUT, steps

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
