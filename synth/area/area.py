"""Area of cores, in total and by submodule, and of engines, unit by unit.

Logic is counted in gates of a small table, in cells of a library or in LUTs; memories in bits, and by an area model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cdma.hdl.common.sram import LEAST_BITS
from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.hdl.config.core import CoreConfig
from cdma.hdl.config.engine import EngineConfig
from cdma.synth.area.part import mapped, mapped_part
from cdma.synth.area.rows import row
from cdma.synth.cells import library as libraries
from cdma.synth.cells.fpga import FPGA
from cdma.synth.cells.generic import BIT_UM2, NAND2_UM2
from cdma.synth.cells.library import Library
from cdma.synth.timing.macros import DEFAULT
from cdma.synth.tools import opensta, scripts
from cdma.synth.tools.yosys import Progress, find, report
from cdma.synth.units.division import UNITS, each_part
from cdma.synth.units.hierarchy import Design, Macro

__all__ = ["PAPER_MM2", "SCALE_28", "area", "engine_area"]

SCALE_28 = (28 / 45) ** 2
"""From 45 nm to 28 nm, as the paper scales."""

PAPER_MM2 = {"cores": 0.31, "engine": 1.5}
"""The paper's areas at 28 nm, for six memory controllers: compressors and decompressors (section VI), and all of the
engine with its buffers (slides of the talk)."""

_CORES = ("compressor", "decompressor")


def area(config: CoreConfig | BlockCoreConfig | Design, *, target: str = "generic", liberty: str | Path | None = None,
         recipe: str = scripts.DEFAULT_RECIPE, timed: bool = False, modules: bool = True,
         progress: Progress | None = None) -> dict[str, Any]:
    """Area of a core. Its larger memories are macros in gates and cells.

    Modules are mapped one by one and the whole design flattened, as it would be built: logic is shared and removed
    across the borders of modules, so that the rows of the modules do not add up to the total. The total is what counts.

    Parameters
    ----------
    config : CoreConfig, BlockCoreConfig or Design
        Which core, or its Verilog.
    target : str
        ``generic``, ``liberty``, ``ecp5``, ``xilinx7`` or ``ultrascale+``.
    liberty : str or Path, optional
        The cell library, for the target ``liberty`` alone.
    recipe : str
        How logic is mapped to gates or cells: ``fast`` or ``small``.
    timed : bool
        Whether to time the same netlist as well: in the cells of a library, where OpenSTA is installed. Not where there
        are macros, whose timing :func:`cdma.synth.timing.clocks.timing` takes.
    modules : bool
        Whether to map the modules one by one as well; without, there is the row of the whole design alone.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    dict
        ``name``, ``target``, ``library``, ``recipe`` (None on an FPGA) and ``yosys``; ``rows`` of the modules, parents
        first, then of the whole design, which is ``total`` too; ``timed_with`` and its slowest ``paths``; and
        ``memory_bits`` of macros, which no row counts.

    Raises
    ------
    ValueError
        If the target or the recipe is unknown, the library is missing, damaged or lacks a cell that is needed, or
        there is no Yosys that is new enough.
    """
    library, yosys = _library(target, liberty), find(progress)
    design = Design.of(config, progress)
    timed = (timed and library is not None and opensta.available()
             and not design.macros(design.top, (), LEAST_BITS))
    stage, runs, done = f"synthesis of {design.top}", [True, False] if modules else [False], 0

    def run(by_module: bool) -> list[dict[str, Any]]:
        nonlocal done
        rows = (_rows(design, target, library, recipe) if by_module else
                [mapped_part(design, target, library, recipe, timing=DEFAULT if timed else None)])
        done += 1
        report(progress, stage, done, len(runs))
        return rows

    report(progress, stage, 0, len(runs))
    with ThreadPoolExecutor(2) as pool:
        *rows, total = [row for rows in pool.map(run, runs) for row in rows]
    paths, memory_bits = total.pop("paths"), total.pop("memory_bits")
    del total["memories"]
    return {"name": design.top, "target": target, "library": library and library.name,
            "recipe": None if target in FPGA else recipe, "yosys": yosys.version, "rows": [*rows, total],
            "timed_with": opensta.version() if timed else None, "paths": paths, "memory_bits": memory_bits,
            "total": total}


def _library(target: str, liberty: str | Path | None) -> Library | None:
    """The cell library of a target that has one; ValueError if they do not match or the library cannot be read."""
    if target not in scripts.TARGETS:
        raise ValueError(f"target must be one of {', '.join(scripts.TARGETS)}, not {target!r}")
    if target == "liberty" and liberty is None:
        raise ValueError("target liberty needs a cell library: name its file")
    if target != "liberty" and liberty is not None:
        raise ValueError(f"a cell library is for the target liberty, not {target}")
    return libraries.load(liberty) if liberty is not None else None


def _rows(design: Design, target: str, library: Library | None, recipe: str) -> list[dict[str, Any]]:
    """A row for each module."""
    modules, _, _ = mapped(design, target, library, recipe, flat=False)
    rows = [row("(top)" if name == design.top else name.removeprefix(f"{design.top}."),
                {cell: count * number for cell, count in modules[name].items() if cell not in modules}, target, library)
            for name, number in _instances(modules, design.top)]
    sizes = [each["luts"] or 0 if each["kge"] is None else each["kge"] for each in rows]
    return [each | {"share": round(size / (sum(sizes) or 1), 4)} for each, size in zip(rows, sizes, strict=True)]


def _instances(modules: Mapping[str, Mapping[str, int]], top: str) -> Iterator[tuple[str, int]]:
    """Number of instances of each module, parents first, in the order of their names."""
    found: dict[str, int] = {}

    def visit(name: str, number: int) -> None:
        found[name] = found.get(name, 0) + number
        for child in sorted(set(modules[name]) & set(modules)):
            visit(child, number * modules[name][child])

    visit(top, 1)
    yield from found.items()


def engine_area(config: EngineConfig, *, liberty: str | Path | None = None, recipe: str = scripts.DEFAULT_RECIPE,
                progress: Progress | None = None) -> dict[str, Any]:
    """Area of an engine.

    One lane is mapped and counted as often as there are lanes. A unit is mapped flat, with the units inside it cut out,
    so that rows add up to the total; what optimisation across the cuts would save is not counted.

    Parameters
    ----------
    config : EngineConfig
        Which engine.
    liberty : str or Path, optional
        Cell library; gates of the generic table without.
    recipe, progress
        As for :func:`area`.

    Returns
    -------
    dict
        What was mapped and how; ``macros``, the number of memories by size; ``units`` with all their instances, which
        add up to ``total``; the areas that a bit and a gate without a library count as, and ``scale_28`` to 28 nm; and
        ``mm2_28``, beside the paper's.

    Raises
    ------
    ValueError
        As for :func:`area`.
    """
    target = "generic" if liberty is None else "liberty"
    library, yosys = _library(target, liberty), find(progress)
    design = Design.of(config, progress)
    parts = each_part(design, config.lanes, f"synthesis of {config.name}", progress,
                      lambda part, cut: mapped_part(design, target, library, recipe, part, cut))
    macros: Counter[Macro] = Counter()
    for _, _, number, part in parts:
        macros.update({macro: number * there for macro, there in part["memories"].items()})
    units = [_unit(unit, [(number, part) for of, _, number, part in parts if of == unit])
             for unit in UNITS if any(of == unit for of, *_ in parts)]
    whole = _unit("total", [(1, unit) for unit in units])
    cores, logic, memory = (
        sum(unit["logic_um2"] + unit["memory_um2"] for unit in units if unit["unit"] in _CORES),
        sum(unit["logic_um2"] for unit in units), sum(unit["memory_um2"] for unit in units))
    return {"name": config.name, "lanes": config.lanes, "codings": list(config.codings),
            "library": library and library.name, "recipe": recipe, "yosys": yosys.version,
            "macros": {f"{macro.words} x {macro.width}": macros[macro] for macro in sorted(macros, reverse=True)},
            "units": units, "total": {key: whole[key] for key in ("cells", "flip_flops", "kge", "memory_bits", "um2")},
            "scale_28": SCALE_28, "bit_um2": BIT_UM2, "nand2_um2": NAND2_UM2,
            "mm2_28": {name: round(um2 * SCALE_28 / 1e6, 4) for name, um2 in (
                ("cores", cores), ("logic", logic), ("memory", memory), ("engine", logic + memory))},
            "paper_mm2": PAPER_MM2}


def _unit(unit: str, parts: list[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    """A unit with all its instances; its areas at 45 nm, of logic in the library's cells or at :data:`NAND2_UM2`."""
    def total(key: str) -> Any:
        return sum(number * (part[key] or 0) for number, part in parts)

    kge, bits = round(total("kge"), 3), total("memory_bits")
    um2 = None if parts[0][1]["um2"] is None else round(total("um2"), 1)
    return {"unit": unit, "instances": max(number for number, _ in parts), "cells": total("cells"),
            "flip_flops": total("flip_flops"), "kge": kge, "um2": um2, "memory_bits": bits,
            "logic_um2": round(1000 * kge * NAND2_UM2 if um2 is None else um2, 1),
            "memory_um2": round(bits * BIT_UM2, 1)}
