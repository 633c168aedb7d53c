"""What ``cdma bench`` measures of each preset or dump: the rows of the sections of docs/performance.json."""

from __future__ import annotations

from dataclasses import dataclass, field

from cdma.report.simulated import Toggles
from golden.results import INLINED
from synth.area.cores import AreaReport
from synth.area.fpga import FpgaArea
from synth.timing.cores import TimingReport

__all__ = ["DumpToggles", "EngineOnFpga", "PresetArea", "PresetTiming"]


@dataclass(frozen=True)
class EngineOnFpga:
    """An engine mapped to an FPGA: how many lanes it has, and what it takes."""

    lanes: int
    area: FpgaArea = field(metadata=INLINED)


@dataclass(frozen=True)
class PresetArea:
    """The area of a preset of the cores."""

    preset: str
    report: AreaReport = field(metadata=INLINED)


@dataclass(frozen=True)
class PresetTiming:
    """The timing of a preset of the cores in cells."""

    preset: str
    report: TimingReport = field(metadata=INLINED)


@dataclass(frozen=True)
class DumpToggles:
    """Toggles of the link of the default engine over a shipped dump, with elements of some bits."""

    dump: str
    element_bits: int
    link_beat_bytes: int
    ratio: float
    toggles: Toggles = field(metadata=INLINED)
