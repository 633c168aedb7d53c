"""The units of an engine, and the modules of the design that belong to each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from cdma.synth.tools.yosys import Progress, report
from cdma.synth.units.hierarchy import Design

__all__ = ["UNITS", "division", "each_part", "lane_roots"]

_Result = TypeVar("_Result")

UNITS = {
    "compressor": ("offload.lane0.compressor",),
    "decompressor": ("prefetch.lane0.decompressor",),
    "narrowing": ("offload.lane0.narrower", "prefetch.lane0.widener"),
    "AXI of the lanes": ("offload.lane0.reader", "prefetch.lane0.writer"),
    "buffers, offload": ("offload.lane0.compressor.store", "offload.lane0.compressor.core.store", "offload.lane0.rows",
                         "offload.lane0.blocks"),
    "buffers, prefetch": ("prefetch.lane0.decompressor.store", "prefetch.lane0.decompressor.core.store"),
    "lane control": ("offload.lane0", "offload.walker0", "prefetch.lane0"),
    "aggregator": ("offload.aggregator",),
    "distributor": ("prefetch.distributor", "prefetch.verdict"),
    "CRC": ("offload.crc", "prefetch.crc"),
    "AXI of the link": ("offload.writer", "prefetch.reader", "arbiter", "crossing", "reorder"),
    "control": ("control", "offload.supervisor", "prefetch.supervisor"),
    "glue": ("",),
}
"""Units, and the roots of the parts of the tree that belong to each; those of lane 0 stand for all lanes.
The stores of raw blocks and of payloads are inside the cores, in those of 16 bytes behind a converter of widths."""


def division(design: Design, lanes: int) -> tuple[list[tuple[str, str]], set[str]]:
    """The division of an engine: each part with its unit, and the modules that are cut out of other parts."""
    paths = design.paths()
    parts = [(unit, root) for unit, roots in UNITS.items() for root in roots if root in paths]
    return parts, {paths[root] for _, root in parts} | {paths[root] for root in lane_roots(range(lanes))}


def lane_roots(lanes: Iterable[int]) -> list[str]:
    """The roots of what stands there once per lane."""
    return [f"{path}{lane}" for lane in lanes for path in ("offload.lane", "prefetch.lane", "offload.walker")]


def each_part(design: Design, lanes: int, stage: str, progress: Progress | None,
              work: Callable[[str, Collection[str]], _Result],
              more: Sequence[tuple[str, str, Collection[str]]] = ()) -> list[tuple[str, str, int, _Result]]:
    """What becomes of each part of an engine, by two threads.

    Parameters
    ----------
    design, lanes
        The engine.
    stage, progress
        What is being done, and who is told how far it is.
    work
        Called with the path of a part, and the modules that are left out of it.
    more
        Parts besides: unit, path, and what is left out.

    Returns
    -------
    list of tuple
        Unit and path of each part, how often it is there, and its result. Those of lane 0 stand for all lanes.
    """
    parts, cut = division(design, lanes)
    jobs = [*((unit, part, cut) for unit, part in parts), *more]
    done = 0

    def run(job: tuple[str, str, Collection[str]]) -> tuple[str, str, int, _Result]:
        nonlocal done
        unit, part, left_out = job
        result = work(part, left_out)
        done += 1
        report(progress, f"{stage}: {unit}", done, len(jobs))
        return unit, part, lanes if "lane0" in part or "walker0" in part else 1, result

    report(progress, stage, 0, len(jobs))
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, jobs))
