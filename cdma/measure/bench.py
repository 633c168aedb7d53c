"""What ``cdma bench`` measures, section by section of its file of figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cdma.console.errors import CheckError, simulation_errors
from cdma.console.progress import Progress
from cdma.golden import bench
from cdma.golden.codec.coding import Coding
from cdma.hdl.config.block_core import BlockCoreConfig, block_preset_names, load_block
from cdma.hdl.config.core import CoreConfig, load, preset_names
from cdma.hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from cdma.hdl.config.settings import BEAT_BYTES
from cdma.measure import clocks
from cdma.measure.arrays import arrays_by_element, arrays_with_codings
from cdma.measure.figures import PEER_CORES, DumpToggles, PresetArea, PresetTiming
from cdma.measure.options import engine_options
from cdma.measure.outcomes import EngineOutcome
from cdma.measure.simulation import simulated, simulated_blocks, simulated_engine
from cdma.measure.synthesis import measured_engine
from cdma.synth.area.cores import area
from cdma.synth.timing.block_cores import block_timing
from cdma.synth.timing.cores import TimingReport, timing
from cdma.synth.tools.scripts import DEFAULT_RECIPE
from cdma.verif.core import throughput as cores
from cdma.verif.core.blocks.throughput import BlockThroughput, block_throughput
from cdma.verif.core.throughput import Latency, Throughput
from cdma.verif.engine import throughput as engines
from cdma.verif.engine.throughput import EngineThroughput, SmallTensors
from cdma.verif.engine.throughput_options import paged, written_back
from cdma.workload.data import SUMS, shipped, shipped_dumps

__all__ = ["SECTIONS", "Section", "Setup"]

_Cores = Mapping[str, CoreConfig | BlockCoreConfig]
_TARGETS = ("generic", "ecp5", "xilinx7")
_LINKS = (32, 64)


@dataclass(frozen=True)
class Setup:
    """What measurements are made with.

    Parameters
    ----------
    build_dir
        Folder for simulator builds.
    liberty
        Cell library; sections that need one are left out without it.
    """

    build_dir: Path
    liberty: str | None = None


Section = Callable[[Setup, Progress], Mapping[str, object]]
"""Measures one or several sections of the file: results by the section's name."""


def _throughput(setup: Setup, progress: Progress) -> Mapping[str, object]:
    throughput: list[Throughput] = []
    latency: list[Latency] = []
    names = preset_names()
    with simulation_errors():
        for number, name in enumerate(names):
            progress(f"simulating {name}", number, len(names))
            config, build_dir = load(name), setup.build_dir
            throughput += cores.measure(config, build_dir=build_dir)
            latency += cores.latency(config, build_dir=build_dir)
    return {"throughput": throughput, "latency": latency}


def _engine(setup: Setup, progress: Progress) -> Mapping[str, object]:
    presets: list[EngineThroughput] = []
    build_dir = setup.build_dir
    names = engine_preset_names()
    with simulation_errors():
        for number, name in enumerate(names):
            progress(f"measuring engine {name}", number, len(names))
            for how in (engines.QUICK, engines.SLOW):
                presets += engines.measure(load_engine(name), how=how, build_dir=build_dir)
    return {"engine": presets}


def _engine_scaling(setup: Setup, progress: Progress) -> Mapping[str, object]:
    rows: list[EngineThroughput] = []
    with simulation_errors():
        for number, link in enumerate(_LINKS):
            progress(f"measuring engines of 1 to 16 lanes with a link of {link} bytes", number, len(_LINKS))
            config = load_engine("default").replace(link_beat_bytes=link)
            for how in (engines.QUICK, engines.SLOW):
                rows += engines.scaling(config, how=how, build_dir=setup.build_dir)
    return {"engine_scaling": rows}


def _engine_small(setup: Setup, progress: Progress) -> Mapping[str, object]:
    rows: list[SmallTensors] = []
    names = engine_preset_names()
    with simulation_errors():
        for number, name in enumerate(names):
            progress(f"measuring small tensors through engine {name}", number, len(names))
            rows += engines.small(load_engine(name), build_dir=setup.build_dir)
    return {"engine_small": rows}


def _engine_pages(setup: Setup, progress: Progress) -> Mapping[str, object]:
    with simulation_errors():
        progress("measuring streams in pages through engine default", 0, 1)
        return {"engine_pages": paged(load_engine("default").replace(page_lists=True), build_dir=setup.build_dir)}


def _engine_write_back(setup: Setup, progress: Progress) -> Mapping[str, object]:
    with simulation_errors():
        progress("measuring completions in rings of engine default", 0, 1)
        return {"engine_write_back": written_back(load_engine("default").replace(write_back=True),
                                                  build_dir=setup.build_dir)}


def _engine_area(setup: Setup, progress: Progress) -> Mapping[str, object]:
    return {"engine_area": [measured_engine(load_engine(name), setup.liberty, DEFAULT_RECIPE, progress)
                            for name in engine_preset_names()]}


def _engine_shipped(setup: Setup, progress: Progress) -> Mapping[str, object]:
    return {"engine_shipped": _there_and_back(map(load_engine, engine_preset_names()), shipped(), setup, progress)}


def _engine_dense(setup: Setup, progress: Progress) -> Mapping[str, object]:
    # Through the engines that build exponents of its values; others leave dense blocks raw.
    configs = [config for config in map(load_engine, engine_preset_names()) if Coding.BFLOAT16 in config.numbers]
    return {"engine_dense": _there_and_back(configs, SUMS, setup, progress)}


def _there_and_back(configs: Iterable[EngineConfig], dump: Path, setup: Setup,
                    progress: Progress) -> list[EngineOutcome]:
    """What becomes of a dump in each engine."""
    return [simulated_engine(config, arrays_with_codings([dump], None, None, None, built=config.numbers),
                             build_dir=setup.build_dir, progress=progress) for config in configs]


def _area(setup: Setup, progress: Progress) -> Mapping[str, object]:
    # By submodule where README shows it; elsewhere the total says it, in half the time.
    return {"area": _areas(_line_cores(), setup, progress, modules=("generic",))}


def _line_cores() -> _Cores:
    return {name: load(name) for name in preset_names()}


def _block_cores() -> _Cores:
    return {name: load_block(name) for name in block_preset_names()}


def _areas(cores: _Cores, setup: Setup, progress: Progress, modules: Sequence[str] = ()) -> list[PresetArea]:
    """The area of cores by name on each target; by submodule on those of ``modules``."""
    jobs = [(name, target) for name in cores for target in _TARGETS + ("liberty",) * bool(setup.liberty)]
    reports = []
    for number, (name, target) in enumerate(jobs):
        progress(f"synthesising {name} for {target}", number, len(jobs))
        liberty = setup.liberty if target == "liberty" else None
        reports.append(PresetArea(name, area(cores[name], target=target, liberty=liberty, modules=target in modules)))
    return reports


def _timing(setup: Setup, progress: Progress) -> Mapping[str, object]:
    return _timings("timing", _line_cores(), timing, setup, progress)


def _timing_plain(setup: Setup, progress: Progress) -> Mapping[str, object]:
    """The cores of docs/peers.md, mapped as the peers there are."""
    return _timings("timing_plain", {name: load(name) for name in PEER_CORES}, partial(timing, recipe="plain"), setup,
                    progress)


def _timings(section: str, cores: _Cores, timed: Callable[..., TimingReport], setup: Setup,
             progress: Progress) -> Mapping[str, object]:
    """The section with the timing of each core; nothing without a cell library."""
    if setup.liberty is None:
        return {}
    reports = []
    for number, (name, config) in enumerate(cores.items()):
        progress(f"timing {name}", number, len(cores))
        reports.append(PresetTiming(name, timed(config, liberty=setup.liberty)))
    return {section: reports}


def _block_shipped(setup: Setup, progress: Progress) -> Mapping[str, object]:
    # Once with zero-value coding, once with the coding that suits the type.
    arrays = [each for coding in ("zvc32", "auto") for each in arrays_with_codings([], None, None, None, None, coding)]
    return {"block_shipped": simulated_blocks(arrays, build_dir=setup.build_dir, progress=progress)}


def _block_throughput(setup: Setup, progress: Progress) -> Mapping[str, object]:
    rows: list[BlockThroughput] = []
    with simulation_errors():
        for beat_bytes in BEAT_BYTES:
            rows += block_throughput(beat_bytes, build_dir=setup.build_dir, progress=progress)
    return {"block_throughput": rows}


def _block_area(setup: Setup, progress: Progress) -> Mapping[str, object]:
    return {"block_area": _areas(_block_cores(), setup, progress)}


def _block_timing(setup: Setup, progress: Progress) -> Mapping[str, object]:
    return _timings("block_timing", _block_cores(), block_timing, setup, progress)


def _block_pnr(setup: Setup, progress: Progress) -> Mapping[str, object]:
    return {"block_pnr": clocks.block_pnr(progress)}


def _golden(setup: Setup, progress: Progress) -> Mapping[str, object]:
    rows = bench.measure(progress=progress)
    return {"golden": bench.Bench(bench.machine(), bench.crc_speed(), tuple(rows))}


def _shipped(setup: Setup, progress: Progress) -> Mapping[str, object]:
    arrays = arrays_by_element([], None, None, None)
    return {"shipped": simulated(arrays, build_dir=setup.build_dir, progress=progress)}


def _toggles(setup: Setup, progress: Progress) -> Mapping[str, object]:
    config = load_engine("default")
    rows = []
    for dump, path in shipped_dumps().items():
        for name in config.codings:
            bits = 8 * Coding[name.upper()].element_bytes
            outcome = simulated_engine(config, arrays_with_codings([path], None, bits, None, coding=name),
                                       build_dir=setup.build_dir, progress=progress)
            if not outcome.passed:
                raise CheckError(next(row.difference for row in outcome.results if row.difference))
            rows.append(DumpToggles(dump, name, config.link_beat_bytes, outcome.ratio, outcome.toggles))
    return {"toggles": rows}


def _timing_units(setup: Setup, progress: Progress) -> Mapping[str, object]:
    return {} if setup.liberty is None else {"timing_units": clocks.timing_units(setup.liberty, progress)}


def _engine_options(setup: Setup, progress: Progress) -> Mapping[str, object]:
    return {} if setup.liberty is None else {"engine_options": engine_options(setup.liberty, progress)}


def _pnr(setup: Setup, progress: Progress) -> Mapping[str, object]:
    return {"pnr": clocks.pnr(progress)}


def _pnr_units(setup: Setup, progress: Progress) -> Mapping[str, object]:
    return {"pnr_units": clocks.pnr_units(progress)}


def _sweep(setup: Setup, progress: Progress) -> Mapping[str, object]:
    return {} if setup.liberty is None else {"sweep": clocks.sweep(setup.liberty, progress)}


SECTIONS: dict[str, Section] = {
    "engine_shipped": _engine_shipped, "engine_dense": _engine_dense, "toggles": _toggles, "engine": _engine,
    "engine_scaling": _engine_scaling, "engine_small": _engine_small, "engine_pages": _engine_pages,
    "engine_write_back": _engine_write_back, "engine_area": _engine_area,
    "shipped": _shipped, "throughput": _throughput, "area": _area, "timing": _timing, "timing_plain": _timing_plain,
    "block_shipped": _block_shipped, "block_throughput": _block_throughput,
    "block_area": _block_area, "block_timing": _block_timing, "block_pnr": _block_pnr, "timing_units": _timing_units,
    "engine_options": _engine_options, "pnr": _pnr, "pnr_units": _pnr_units, "sweep": _sweep, "golden": _golden}
"""What measures each section, in the order of the file."""
