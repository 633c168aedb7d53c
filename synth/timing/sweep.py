"""Area and throughput of cores and engines over their widths, lanes and pipelines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cdma.golden.results import derived
from cdma.hdl.config.core import CORES, CoreConfig
from cdma.hdl.config.engine import load_engine
from cdma.hdl.config.settings import BEAT_BYTES, PIPELINES
from cdma.hdl.generate.verilog import emit
from cdma.synth.cells.generic import BIT_UM2
from cdma.synth.cells.library import load
from cdma.synth.timing.cores import REGISTERS, timing
from cdma.synth.timing.engines import PartTiming, engine_timing
from cdma.synth.tools import opensta, scripts
from cdma.synth.tools.yosys import Progress, report

__all__ = ["LANES", "Sweep", "SweepPoint", "front", "sweep", "sweep_cores", "sweep_engines"]

LANES = (1, 2, 4, 8)
"""The numbers of lanes that engines are measured with."""


@dataclass(frozen=True)
class SweepPoint:
    """A configuration.

    Parameters
    ----------
    design : str
        ``compressor``, ``decompressor`` or ``engine``.
    lanes : int
        Lanes; 1 for a core.
    beat_bytes : int
        Raw bytes that each lane, or the core, takes in a cycle.
    pipeline : str
        ``small`` or ``fast``.
    kge : float
        Area; of an engine, its memories at :data:`cdma.synth.cells.generic.BIT_UM2` included.
    mhz : float
        The clock that the slowest path from register to register allows.
    start, end : str
        Where that path starts and ends.
    front : bool
        Whether no other point of the design beats it: see :func:`front`.
    """

    design: str
    lanes: int
    beat_bytes: int
    pipeline: str
    kge: float
    mhz: float
    start: str
    end: str
    front: bool = False

    @derived
    def gb_per_s(self) -> float:
        """GB of raw data per second, one beat per cycle and lane."""
        return round(self.lanes * self.beat_bytes * self.mhz / 1000, 2)


@dataclass(frozen=True)
class Sweep:
    """Cores over beats and pipelines, engines over lanes and pipelines.

    Parameters
    ----------
    library, recipe, tool : str
        As for :class:`cdma.synth.timing.cores.TimingReport`.
    points : tuple of SweepPoint
        The configurations, design by design.
    """

    library: str
    recipe: str
    tool: str
    points: tuple[SweepPoint, ...]


def sweep(*, liberty: str | Path, recipe: str = scripts.DEFAULT_RECIPE, progress: Progress | None = None) -> Sweep:
    """All points, each marked if it is on the front of its design.

    Raises
    ------
    ValueError
        As :func:`cdma.synth.timing.cores.timing`.
    """
    opensta.require()
    points = [*sweep_cores(liberty=liberty, recipe=recipe, progress=progress),
              *sweep_engines(liberty=liberty, recipe=recipe, progress=progress)]
    best = [point for design in dict.fromkeys(point.design for point in points)
            for point in front([other for other in points if other.design == design])]
    return Sweep(load(liberty).name, recipe, opensta.version(),
                 tuple(replace(point, front=point in best) for point in points))


def front(points: Sequence[SweepPoint]) -> list[SweepPoint]:
    """The Pareto front, smallest first: no other point has less area and at least the speed, or more speed and at most
    the area."""
    best: list[SweepPoint] = []
    for point in sorted(points, key=lambda point: (point.kge, -point.gb_per_s)):
        if not best or point.gb_per_s > best[-1].gb_per_s:
            best.append(point)
    return best


def sweep_cores(*, liberty: str | Path, recipe: str = scripts.DEFAULT_RECIPE, cores: Iterable[str] = CORES,
                beat_bytes: Iterable[int] = BEAT_BYTES, pipelines: Iterable[str] = PIPELINES,
                progress: Progress | None = None) -> list[SweepPoint]:
    """Both cores over beats and pipelines, all element sizes; errors as :func:`cdma.synth.timing.cores.timing`."""
    configs = [CoreConfig(core=core, beat_bytes=beat, pipeline=pipeline)
               for core in cores for beat in beat_bytes for pipeline in pipelines]
    points = []
    for number, config in enumerate(configs):
        report(progress, "cores over beats and pipelines", number, len(configs))
        timed = timing(config, liberty=liberty, recipe=recipe)
        path = next(path for path in timed.paths if path.kind == REGISTERS)
        points.append(SweepPoint(config.core, 1, config.beat_bytes, config.pipeline, timed.kge, path.mhz, path.start,
                                 path.end))
    return points


def sweep_engines(*, liberty: str | Path, recipe: str = scripts.DEFAULT_RECIPE, lanes: Iterable[int] = LANES,
                  pipelines: Iterable[str] = PIPELINES,
                  progress: Progress | None = None) -> list[SweepPoint]:
    """The default engine over lanes and pipelines, its clock that of its slowest unit; errors as
    :func:`cdma.synth.timing.engines.engine_timing`."""
    nand2 = load(liberty).nand2.area
    configs = [load_engine("engine").replace(lanes=number, pipeline=pipeline)
               for pipeline in pipelines for number in lanes]
    points = []
    known: dict[str, PartTiming] = {}
    for number, config in enumerate(configs):
        report(progress, "engines over lanes and pipelines", number, len(configs))
        timed = engine_timing(config, emit(config).text, liberty=liberty, recipe=recipe, whole=False,
                              known=known)
        slowest, path = min(((part, part.worst) for part in timed.units if part.worst), key=lambda pair: pair[1].mhz)
        kge = sum(part.instances * (part.kge + part.memory_bits * BIT_UM2 / nand2 / 1000) for part in timed.parts)
        points.append(SweepPoint("engine", config.lanes, config.beat_bytes, config.pipeline, round(kge, 3), timed.mhz,
                                 f"{slowest.part}.{path.start}", f"{slowest.part}.{path.end}"))
    return points
