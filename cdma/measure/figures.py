"""What ``cdma bench`` measures: the sections of its file of figures, and their rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from cdma.golden.bench import Bench
from cdma.golden.results import INLINED
from cdma.measure.outcomes import BlocksOutcome, CoresOutcome, EngineOutcome, Toggles
from cdma.synth.area.cores import AreaReport
from cdma.synth.area.engines import EngineArea
from cdma.synth.area.fpga import FpgaArea
from cdma.synth.pnr.engines import PlacedUnit, PlacedUnits
from cdma.synth.pnr.place import Best, PnrReport, Resources, Run
from cdma.synth.timing.cores import TimingReport
from cdma.synth.timing.engines import WHOLE, EngineTiming, UnitClock
from cdma.synth.timing.macros import MacroTiming
from cdma.synth.timing.sweep import Sweep
from cdma.verif.core.blocks.throughput import BlockThroughput
from cdma.verif.core.throughput import Latency, Throughput
from cdma.verif.engine.throughput import EngineThroughput, SmallTensors
from cdma.verif.engine.throughput_options import PagedStreams, WrittenBack

__all__ = ["PEER_CORES", "BestSeed", "DumpToggles", "EngineClocks", "EngineOnFpga", "Figures", "OptionCost",
           "PlacedEngine", "PlacedPreset", "PresetArea", "PresetTiming", "RoutedPath", "SeedClock", "UnitOnFpga"]

PEER_CORES = ("compressor", "decompressor", "paper_compressor", "paper_decompressor")
"""The presets of cores that docs/peers.md compares with designs of others."""


@dataclass(frozen=True)
class EngineOnFpga:
    """An engine mapped to an FPGA: how many lanes it has, and what it takes."""

    lanes: int
    area: FpgaArea = field(metadata=INLINED)


@dataclass(frozen=True)
class PresetArea:
    """The area of a preset of the cores or block cores."""

    preset: str
    report: AreaReport = field(metadata=INLINED)


@dataclass(frozen=True)
class PresetTiming:
    """The timing of a preset of the cores or block cores in cells."""

    preset: str
    report: TimingReport = field(metadata=INLINED)


@dataclass(frozen=True)
class DumpToggles:
    """Toggles of the link of the default engine over a shipped dump, all arrays in one coding."""

    dump: str
    coding: str
    link_beat_bytes: int
    ratio: float
    toggles: Toggles = field(metadata=INLINED)


@dataclass(frozen=True)
class EngineClocks:
    """A preset of the engines in cells: of each unit the clock and the slowest path.

    Parameters
    ----------
    preset
        The preset.
    name, lanes, library, recipe, tool, yosys, macros, mhz
        As for :class:`cdma.synth.timing.engines.EngineTiming`.
    units
        Unit by unit, then the whole engine.
    """

    preset: str
    name: str
    lanes: int
    library: str
    recipe: str
    tool: str
    yosys: str
    macros: MacroTiming
    mhz: float
    units: tuple[UnitClock, ...]

    @classmethod
    def of(cls, preset: str, report: EngineTiming) -> EngineClocks:
        """The clocks in a report."""
        return cls(preset, report.name, report.lanes, report.library, report.recipe, report.tool, report.yosys,
                   report.macros, report.mhz, report.clocks)


@dataclass(frozen=True)
class OptionCost:
    """Area and clock of an engine with one option on.

    Parameters
    ----------
    option
        The option, as it is in the table.
    name, lanes, library, recipe, tool, yosys
        As for :class:`cdma.synth.timing.engines.EngineTiming`.
    kge
        Logic of all units and lanes, in thousands of two-input NAND gates.
    memory_bits
        Bits in memory macros.
    mhz, ps, start, end
        The clock of the engine mapped flat, or of its slowest unit if that is slower, and the path that limits it.
    """

    option: str
    name: str
    lanes: int
    library: str
    recipe: str
    tool: str
    yosys: str
    kge: float
    memory_bits: int
    mhz: float
    ps: float
    start: str
    end: str

    @classmethod
    def of(cls, option: str, report: EngineTiming) -> OptionCost:
        """The figures in a report, which has the engine as a whole."""
        units = [part for part in report.parts if part.unit != WHOLE]
        slowest = max(report.clocks, key=lambda unit: unit.ps)
        return cls(option, report.name, report.lanes, report.library, report.recipe, report.tool, report.yosys,
                   round(sum(part.kge * part.instances for part in units), 2),
                   sum(part.memory_bits * part.instances for part in units),
                   slowest.mhz, slowest.ps, slowest.start, slowest.end)


@dataclass(frozen=True)
class SeedClock:
    """The clock that placement and routing reached from a seed."""

    seed: int
    mhz: float


@dataclass(frozen=True)
class RoutedPath:
    """The slowest path from register to register, without its stages: see :class:`cdma.synth.pnr.place.PnrPath`."""

    ns: float
    start: str
    end: str
    levels: int
    routing_ns: float


@dataclass(frozen=True)
class BestSeed:
    """The seed with the highest clock, and the path that limits it."""

    seed: int
    mhz: float
    path: RoutedPath

    @classmethod
    def of(cls, best: Best | None) -> BestSeed | None:
        """The best run of a report, without the stages of its path; None if the design is too large."""
        if best is None:
            return None
        path = best.path
        return cls(best.seed, best.mhz, RoutedPath(path.ns, path.start, path.end, path.levels, path.routing_ns))


@dataclass(frozen=True)
class PlacedPreset:
    """A preset placed and routed.

    Parameters
    ----------
    preset
        The preset.
    name, device, speed, yosys, nextpnr, used, available, runs, best, median_mhz
        As for :class:`cdma.synth.pnr.place.PnrReport`; paths have no stages.
    """

    preset: str
    name: str
    device: str
    speed: int
    yosys: str
    nextpnr: str
    used: Resources
    available: Resources
    runs: tuple[SeedClock, ...]
    best: BestSeed | None
    median_mhz: float | None

    @classmethod
    def of(cls, preset: str, report: PnrReport) -> PlacedPreset:
        """The figures in a report."""
        return cls(preset, report.name, report.device, report.speed, report.yosys, report.nextpnr, report.used,
                   report.available, _clocks(report.runs), BestSeed.of(report.best), report.median_mhz)


@dataclass(frozen=True)
class UnitOnFpga:
    """A unit of an engine, placed and routed by itself: as :class:`cdma.synth.pnr.engines.PlacedUnit`, paths without
    stages."""

    name: str
    instances: int
    used: Resources
    runs: tuple[SeedClock, ...]
    best: BestSeed | None
    median_mhz: float | None

    @classmethod
    def of(cls, unit: PlacedUnit) -> UnitOnFpga:
        """The figures of a unit."""
        return cls(unit.name, unit.instances, unit.used, _clocks(unit.runs), BestSeed.of(unit.best), unit.median_mhz)


@dataclass(frozen=True)
class PlacedEngine:
    """A preset of the engines whose units were placed and routed one by one.

    Parameters
    ----------
    preset
        The preset.
    name, device, speed, yosys, nextpnr, available, units, total
        As for :class:`cdma.synth.pnr.engines.PlacedUnits`.
    """

    preset: str
    name: str
    device: str
    speed: int
    yosys: str
    nextpnr: str
    available: Resources
    units: tuple[UnitOnFpga, ...]
    total: Resources

    @classmethod
    def of(cls, preset: str, report: PlacedUnits) -> PlacedEngine:
        """The figures in a report."""
        return cls(preset, report.name, report.device, report.speed, report.yosys, report.nextpnr, report.available,
                   tuple(map(UnitOnFpga.of, report.units)), report.total)


def _clocks(runs: tuple[Run, ...]) -> tuple[SeedClock, ...]:
    return tuple(SeedClock(run.seed, run.mhz) for run in runs)


@dataclass(frozen=True)
class Figures:
    """All sections; those that were not measured are empty, or None."""

    engine_shipped: tuple[EngineOutcome, ...] = ()
    engine_dense: tuple[EngineOutcome, ...] = ()
    toggles: tuple[DumpToggles, ...] = ()
    engine: tuple[EngineThroughput, ...] = ()
    engine_scaling: tuple[EngineThroughput, ...] = ()
    engine_small: tuple[SmallTensors, ...] = ()
    engine_pages: tuple[PagedStreams, ...] = ()
    engine_write_back: tuple[WrittenBack, ...] = ()
    engine_area: tuple[EngineArea, ...] = ()
    shipped: CoresOutcome | None = None
    throughput: tuple[Throughput, ...] = ()
    latency: tuple[Latency, ...] = ()
    area: tuple[PresetArea, ...] = ()
    timing: tuple[PresetTiming, ...] = ()
    timing_plain: tuple[PresetTiming, ...] = ()
    block_shipped: BlocksOutcome | None = None
    block_throughput: tuple[BlockThroughput, ...] = ()
    block_area: tuple[PresetArea, ...] = ()
    block_timing: tuple[PresetTiming, ...] = ()
    block_pnr: tuple[PlacedPreset, ...] = ()
    timing_units: tuple[EngineClocks, ...] = ()
    engine_options: tuple[OptionCost, ...] = ()
    pnr: tuple[PlacedPreset, ...] = ()
    pnr_units: tuple[PlacedEngine, ...] = ()
    sweep: Sweep | None = None
    golden: Bench | None = None
