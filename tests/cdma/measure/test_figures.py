"""The committed figures of ``cdma bench`` as dataclasses: read, and written as they were."""

from __future__ import annotations

import json

import pytest

from cdma.golden.bench import Bench
from cdma.golden.results import from_json, to_json
from cdma.measure.figures import DumpToggles, EngineClocks, PlacedEngine, PlacedPreset, PresetArea, PresetTiming
from cdma.measure.outcomes import CoresOutcome, EngineOutcome
from cdma.synth.area.engines import EngineArea
from cdma.synth.timing.sweep import Sweep
from cdma.verif.core.throughput import Latency, Throughput
from cdma.verif.engine.throughput import EngineThroughput
from tests.docs.pages import ROOT


@pytest.mark.parametrize(("section", "kind"), [
    ("shipped", CoresOutcome), ("engine_shipped", tuple[EngineOutcome, ...]),
    ("engine_dense", tuple[EngineOutcome, ...]), ("toggles", tuple[DumpToggles, ...]),
    ("engine", tuple[EngineThroughput, ...]), ("engine_scaling", tuple[EngineThroughput, ...]),
    ("engine_area", tuple[EngineArea, ...]), ("throughput", tuple[Throughput, ...]), ("latency", tuple[Latency, ...]),
    ("area", tuple[PresetArea, ...]), ("timing", tuple[PresetTiming, ...]), ("timing_plain", tuple[PresetTiming, ...]),
    ("golden", Bench), ("timing_units", tuple[EngineClocks, ...]), ("pnr", tuple[PlacedPreset, ...]),
    ("pnr_units", tuple[PlacedEngine, ...]),
    ("sweep", Sweep)])
def test_the_committed_figures_are_read_and_written_back(section: str, kind: type[object]) -> None:
    committed = json.loads((ROOT / "docs/performance.json").read_text(encoding="utf-8"))[section]
    assert to_json(from_json(kind, committed)) == committed
