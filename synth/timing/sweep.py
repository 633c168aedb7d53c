"""Area and throughput of cores and engines over their widths, lanes and pipelines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cdma.hdl.config.core import CORES, CoreConfig
from cdma.hdl.config.engine import load_engine
from cdma.hdl.config.settings import BEAT_BYTES, PIPELINES
from cdma.synth.cells.generic import BIT_UM2
from cdma.synth.cells.library import load
from cdma.synth.timing.clocks import engine_timing, timing, unit_clocks
from cdma.synth.timing.paths import worst
from cdma.synth.tools import opensta, scripts
from cdma.synth.tools.yosys import Progress, report

__all__ = ["LANES", "front", "point", "sweep", "sweep_cores", "sweep_engines"]

LANES = (1, 2, 4, 8)
"""The numbers of lanes that engines are measured with."""


def sweep(*, liberty: str | Path, recipe: str = scripts.DEFAULT_RECIPE,
          progress: Progress | None = None) -> dict[str, Any]:
    """Cores over beats and pipelines, engines over lanes and pipelines.

    Returns
    -------
    dict
        ``library``, ``recipe``, ``tool``; and the ``points``, design by design: what is configured; ``kge``, of an
        engine with its memories at :data:`cdma.synth.cells.generic.BIT_UM2`; ``mhz``, ``start`` and ``end`` of the
        slowest path from register to register; whether the point is on the ``front`` of its design; and ``gb_per_s`` of
        raw data, one beat per cycle and lane.

    Raises
    ------
    ValueError
        As :func:`cdma.synth.timing.clocks.timing`.
    """
    opensta.require()
    points = [*sweep_cores(liberty=liberty, recipe=recipe, progress=progress),
              *sweep_engines(liberty=liberty, recipe=recipe, progress=progress)]
    for design in {point["design"] for point in points}:
        for point in front([other for other in points if other["design"] == design]):
            point["front"] = True
    return {"library": load(liberty).name, "recipe": recipe, "tool": opensta.version(), "points": points}


def point(design: str, lanes: int, beat_bytes: int, pipeline: str, kge: float, mhz: float, start: str,
          end: str) -> dict[str, Any]:
    """A point of a sweep, until others are known."""
    return {"design": design, "lanes": lanes, "beat_bytes": beat_bytes, "pipeline": pipeline, "kge": kge, "mhz": mhz,
            "start": start, "end": end, "front": False, "gb_per_s": round(lanes * beat_bytes * mhz / 1000, 2)}


def front(points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The Pareto front, smallest first: no other point has less area and at least the speed, or more speed and at most
    the area."""
    best: list[dict[str, Any]] = []
    for each in sorted(points, key=lambda each: (each["kge"], -each["gb_per_s"])):
        if not best or each["gb_per_s"] > best[-1]["gb_per_s"]:
            best.append(each)
    return best


def sweep_cores(*, liberty: str | Path, recipe: str = scripts.DEFAULT_RECIPE, cores: Iterable[str] = CORES,
                beat_bytes: Iterable[int] = BEAT_BYTES, pipelines: Iterable[str] = PIPELINES,
                progress: Progress | None = None) -> list[dict[str, Any]]:
    """Both cores over beats and pipelines, all element sizes; errors as :func:`cdma.synth.timing.clocks.timing`."""
    configs = [CoreConfig(core=core, beat_bytes=beat, pipeline=pipeline)
               for core in cores for beat in beat_bytes for pipeline in pipelines]
    points = []
    for number, config in enumerate(configs):
        report(progress, "cores over beats and pipelines", number, len(configs))
        timed = timing(config, liberty=liberty, recipe=recipe)
        path = worst(timed["paths"])
        points.append(point(config.core, 1, config.beat_bytes, config.pipeline, timed["kge"], path["mhz"],
                            path["start"], path["end"]))
    return points


def sweep_engines(*, liberty: str | Path, recipe: str = scripts.DEFAULT_RECIPE, lanes: Iterable[int] = LANES,
                  pipelines: Iterable[str] = PIPELINES, progress: Progress | None = None) -> list[dict[str, Any]]:
    """The default engine over lanes and pipelines, its clock that of its slowest unit; errors as
    :func:`cdma.synth.timing.clocks.engine_timing`."""
    nand2 = load(liberty).nand2.area
    configs = [load_engine("engine").replace(lanes=number, pipeline=pipeline)
               for pipeline in pipelines for number in lanes]
    points = []
    known: dict[str, dict[str, Any]] = {}
    for number, config in enumerate(configs):
        report(progress, "engines over lanes and pipelines", number, len(configs))
        timed = engine_timing(config, liberty=liberty, recipe=recipe, whole=False, known=known)
        slowest = min(unit_clocks(timed), key=lambda unit: unit["mhz"])
        kge = sum(part["instances"] * (part["kge"] + part["memory_bits"] * BIT_UM2 / nand2 / 1000)
                  for part in timed["parts"])
        points.append(point("engine", config.lanes, config.beat_bytes, config.pipeline, round(kge, 3), timed["mhz"],
                            slowest["start"], slowest["end"]))
    return points
