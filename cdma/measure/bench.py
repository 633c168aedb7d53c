"""What ``cdma bench`` measures, section by section of its file of figures: rows, as JSON has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cdma.console.errors import CheckError, simulation_errors
from cdma.console.progress import Progress
from cdma.golden import bench
from cdma.golden.codec.coding import Coding
from cdma.golden.results import to_json
from cdma.hdl.config.block_core import block_preset_names, load_block
from cdma.hdl.config.catalog import Design
from cdma.hdl.config.core import load, preset_names
from cdma.hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from cdma.hdl.config.settings import BEAT_BYTES
from cdma.measure.arrays import arrays_by_element, arrays_with_codings
from cdma.measure.options import PEER_CORES, engine_options
from cdma.measure.simulation import simulated, simulated_blocks, simulated_engine
from cdma.synth.area.area import area, engine_area
from cdma.synth.pnr.place import place
from cdma.synth.timing.clocks import engine_timing, timing, unit_clocks
from cdma.synth.timing.estimate import estimate
from cdma.synth.timing.sweep import sweep
from cdma.synth.units.hierarchy import Design as Part
from cdma.verif.core import throughput as cores
from cdma.verif.engine import throughput as engines
from cdma.workload.data import SUMS, shipped, shipped_dumps

__all__ = ["SECTIONS", "TIMED_ENGINES", "Setup", "measured"]

TIMED_ENGINES = ("engine", "paper")
"""The presets of engines that are timed in cells. Those with short blocks have memories that are too small for macros:
mapping builds them from registers, and does not buffer nets that drive a hundred registers."""

_PLACED_ENGINES = {"tiny --set pipeline=fast": load_engine("tiny").replace(pipeline="fast"),
                   "lean": load_engine("lean")}
"""The engines that are placed and routed as a whole; the default one has more block RAMs than nextpnr routes."""

_ESTIMATED_UNITS = ("offload.aggregator", "prefetch.distributor")
"""Units of ``wide``, whose link has 64 bytes, that are estimated by themselves."""

_TARGETS = ("generic", "ecp5", "xilinx7")
_LINKS = (32, 64)
_DEEP = {"transfers_in_flight": 32, "queue_depth": 64, "outstanding_reads": 32}
"""What an engine is built with for a link of hundreds of cycles of latency and transfers of a few KiB."""
_GOALS: dict[str, Any] = {"sizes": (1 << 11, 1 << 12, 1 << 13), "ways": engines.WAYS[:1]}
_FRAGMENTS: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    ("engine", {}, {}), ("engine", _DEEP, _GOALS), ("wide", _DEEP, _GOALS))
"""Engines that move fragments, with what they are built with; many of them take long to simulate, so of engines that
are built for it only what goals are set for."""
_DEVICE, _SEEDS = "LFE5U-85F", 3
_SPEED, _SLOWER = 8, 6
_HOWS: tuple[dict[str, Any], ...] = ({"how": engines.QUICK}, {"how": engines.SLOW})
_FAST_BYTES = 32
"""Beats of the block cores that are placed in the pipeline for FPGAs too."""

_Job = TypeVar("_Job")


@dataclass(frozen=True)
class Setup:
    """What measurements are made with.

    Parameters
    ----------
    build_dir
        Folder for simulator builds.
    liberty
        Cell library; clocks in cells need one.
    """

    build_dir: Path
    liberty: str | None = None

    @property
    def library(self) -> str:
        """The cell library of a section that needs one."""
        if self.liberty is None:
            raise ValueError("timing needs a cell library: give --liberty FILE")
        return self.liberty


Section = Callable[[Setup, Progress], Any]
"""Measures a section."""


def measured(name: str, setup: Setup, progress: Progress) -> dict[str, Any]:
    """A section as JSON, by its name; with it, those that are measured in the same run. Errors in simulations are
    those of :func:`cdma.console.errors.simulation_errors`."""
    with simulation_errors():
        found = to_json(SECTIONS[name](setup, progress))
    return found if name == "throughput" else {name: found}


def _each(jobs: Iterable[_Job], what: str, progress: Progress) -> Iterator[_Job]:
    """The jobs one by one, each announced by its name."""
    jobs = list(jobs)
    for number, job in enumerate(jobs):
        progress(what.format(job), number, len(jobs))
        yield job


def _throughput(setup: Setup, progress: Progress) -> Mapping[str, Any]:
    names = list(_each(preset_names(), "simulating {}", progress))
    return {"throughput": [row for name in names for row in cores.measure(load(name), build_dir=setup.build_dir)],
            "latency": [row for name in names for row in cores.latency(load(name), build_dir=setup.build_dir)]}


def _of_engines(measure: Callable[..., Iterable[Any]], what: str, hows: Sequence[Mapping[str, Any]] = ({},)) -> Section:
    """Rows of all presets of the engine, measured in these ways."""
    return lambda setup, progress: [row for name in _each(engine_preset_names(), what, progress) for how in hows
                                    for row in measure(load_engine(name), build_dir=setup.build_dir, **how)]


def _of_option(measure: Callable[..., Any], what: str, **option: bool) -> Section:
    """Rows of the default engine with an option."""
    def section(setup: Setup, progress: Progress) -> Any:
        progress(f"measuring {what} the engine", 0, 1)
        return measure(load_engine("engine").replace(**option), build_dir=setup.build_dir)
    return section


def _engine_scaling(setup: Setup, progress: Progress) -> list[Any]:
    return [row for link in _each(_LINKS, "measuring engines of 1 to 16 lanes with a link of {} bytes", progress)
            for how in _HOWS for row in engines.scaling(load_engine("engine").replace(link_beat_bytes=link),
                                                        build_dir=setup.build_dir, **how)]


def _engine_fragments(setup: Setup, progress: Progress) -> list[Any]:
    rows = []
    for name, settings, loads in _each(_FRAGMENTS, "measuring fragments by rings through engine {0[0]}", progress):
        config = load_engine(name).replace(write_back=True, **settings)
        area = engine_area(config, progress=progress)["mm2_28"]["engine"]
        rows += [row | {"mm2_28": area} for row in engines.fragments(config, build_dir=setup.build_dir, **loads)]
    return rows


def _engine_area(setup: Setup, progress: Progress) -> list[Any]:
    return [engine_area(load_engine(name), liberty=setup.liberty, progress=progress) for name in engine_preset_names()]


def _engine_estimates(setup: Setup, progress: Progress) -> list[dict[str, Any]]:
    """The engines on UltraScale+, in the pipeline for FPGAs, and units of the widest."""
    jobs: dict[str, EngineConfig | Part] = {
        name: load_engine(name).replace(pipeline="fast") for name in engine_preset_names()}
    wide = Part.of(jobs["wide"], progress)
    for unit in _ESTIMATED_UNITS:
        module = wide.paths()[unit]
        jobs[f"wide: {unit}"] = Part(wide.part(module, ()), module)
    return [{"preset": name} | estimate(jobs[name], "ultrascale+", progress)
            for name in _each(jobs, "estimating {}", progress)]


def _there_and_back(configs: Iterable[EngineConfig], dump: Path, setup: Setup,
                    progress: Progress) -> list[dict[str, Any]]:
    """What becomes of a dump in each engine."""
    return [simulated_engine(config, arrays_with_codings([dump], None, None, None, built=config.numbers),
                             build_dir=setup.build_dir, progress=progress) for config in configs]


def _toggles(setup: Setup, progress: Progress) -> list[Any]:
    """Toggles of the link of the default engine over the shipped dumps, all arrays in one coding."""
    config = load_engine("engine")
    rows = []
    for dump, path in shipped_dumps().items():
        for name in config.codings:
            bits = 8 * Coding[name.upper()].element_bytes
            outcome = simulated_engine(config, arrays_with_codings([path], None, bits, None, coding=name),
                                       build_dir=setup.build_dir, progress=progress)
            if not outcome["passed"]:
                raise CheckError(next(row["difference"] for row in outcome["arrays"] if row["difference"]))
            rows.append({"dump": dump, "coding": name, "link_beat_bytes": config.link_beat_bytes,
                         "ratio": outcome["ratio"]} | outcome["toggles"])
    return rows


def _areas(names: Iterable[str], of: Callable[[str], Any], modules: Sequence[str], setup: Setup,
           progress: Progress) -> list[dict[str, Any]]:
    """The area of cores by name on each target; by submodule on those of ``modules``, else the total alone, which
    takes half the time."""
    jobs = [(name, target) for name in names for target in _TARGETS + ("liberty",) * bool(setup.liberty)]
    return [{"preset": name} | area(of(name), target=target, modules=target in modules,
                                    liberty=setup.liberty if target == "liberty" else None)
            for name, target in _each(jobs, "synthesising {0[0]} for {0[1]}", progress)]


def _timings(names: Iterable[str], of: Callable[[str], Any], setup: Setup, progress: Progress,
             **how: Any) -> list[dict[str, Any]]:
    """The timing of cores by name in cells."""
    return [{"preset": name} | timing(of(name), liberty=setup.library, **how)
            for name in _each(names, "timing {}", progress)]


def _block_shipped(setup: Setup, progress: Progress) -> Any:
    # Once with zero-value coding, once with the coding that suits the type.
    arrays = [each for coding in ("zvc32", "auto") for each in arrays_with_codings([], None, None, None, None, coding)]
    return simulated_blocks(arrays, build_dir=setup.build_dir, progress=progress)


def _block_throughput(setup: Setup, progress: Progress) -> list[Any]:
    return [row for beat_bytes in BEAT_BYTES
            for row in cores.block_throughput(beat_bytes, build_dir=setup.build_dir, progress=progress)]


def _timing_units(setup: Setup, progress: Progress) -> list[dict[str, Any]]:
    rows = []
    for name in TIMED_ENGINES:
        report = engine_timing(load_engine(name), liberty=setup.library, progress=progress)
        row = {"preset": name} | report | {"units": unit_clocks(report)}
        del row["parts"]
        rows.append(row)
    return rows


def _pnr(setup: Setup, progress: Progress) -> list[dict[str, Any]]:
    jobs: dict[str, Design] = {**{name: load(name) for name in preset_names()}, **_PLACED_ENGINES}
    tiny = next(iter(_PLACED_ENGINES))
    return [*(_placed(name, config, _SPEED, progress) for name, config in jobs.items()),
            _placed(tiny, jobs[tiny], _SLOWER, progress)]


def _block_pnr(setup: Setup, progress: Progress) -> list[dict[str, Any]]:
    """All presets, and those of 32-byte beats in the pipeline for FPGAs."""
    presets = {name: load_block(name) for name in block_preset_names()}
    fast = {f"{name} --set pipeline=fast": config.replace(pipeline="fast") for name, config in presets.items()
            if config.beat_bytes == _FAST_BYTES}
    return [_placed(name, config, _SPEED, progress) for name, config in {**presets, **fast}.items()]


def _placed(name: str, config: Design, speed: int, progress: Progress) -> dict[str, Any]:
    return {"preset": name} | _without_stages(place(config, device=_DEVICE, speed=speed, seeds=_SEEDS,
                                                    progress=progress))


def _without_stages(row: dict[str, Any]) -> dict[str, Any]:
    """What was placed, without the stages of its path."""
    if row["best"]:
        del row["best"]["path"]["stages"]
    return row


def _golden(setup: Setup, progress: Progress) -> dict[str, Any]:
    return {"machine": bench.machine(), "crc32c": bench.crc_speed(), "rows": bench.measure(progress=progress)}


SECTIONS: dict[str, Section] = {
    "engine_shipped": lambda *how: _there_and_back(map(load_engine, engine_preset_names()), shipped(), *how),
    # Through the engines that build exponents of its values; others leave dense blocks raw.
    "engine_dense": lambda *how: _there_and_back((config for config in map(load_engine, engine_preset_names())
                                                  if Coding.BFLOAT16 in config.numbers), SUMS, *how),
    "toggles": _toggles, "engine": _of_engines(engines.measure, "measuring engine {}", _HOWS),
    "engine_scaling": _engine_scaling,
    "engine_small": _of_engines(engines.small, "measuring small tensors through engine {}"),
    "engine_pages": _of_option(engines.paged, "streams in pages through", page_lists=True),
    "engine_write_back": _of_option(engines.written_back, "completions in rings of", write_back=True),
    "engine_fragments": _engine_fragments,
    "engine_area": _engine_area, "engine_estimates": _engine_estimates, "shipped": lambda setup, progress: simulated(
        arrays_by_element([], None, None, None), build_dir=setup.build_dir, progress=progress),
    "throughput": _throughput,
    "area": lambda *how: _areas(preset_names(), load, ("generic",), *how),
    "timing": lambda *how: _timings(preset_names(), load, *how),
    # The cores of docs/peers.md, mapped as the peers there are.
    "timing_plain": lambda *how: _timings(PEER_CORES, load, *how, recipe="plain"),
    "block_shipped": _block_shipped, "block_throughput": _block_throughput,
    "block_area": lambda *how: _areas(block_preset_names(), load_block, (), *how),
    "block_timing": lambda *how: _timings(block_preset_names(), load_block, *how),
    "block_pnr": _block_pnr,
    "timing_units": _timing_units,
    "engine_options": lambda setup, progress: engine_options(setup.library, progress),
    "pnr": _pnr,
    "sweep": lambda setup, progress: sweep(liberty=setup.library, progress=progress),
    "golden": _golden}
"""What measures each section, in the order of the file."""
