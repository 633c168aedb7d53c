"""The clock of cores and engines in the cells of a library."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.hdl.config.core import CoreConfig
from cdma.hdl.config.engine import EngineConfig
from cdma.synth.area.part import mapped_part
from cdma.synth.cells import library as libraries
from cdma.synth.timing.macros import DEFAULT, MacroTiming
from cdma.synth.timing.paths import worst
from cdma.synth.tools import opensta, scripts
from cdma.synth.tools.yosys import Progress, find, report
from cdma.synth.units.division import each_part, lane_roots
from cdma.synth.units.hierarchy import Design

__all__ = ["WHOLE", "engine_timing", "gates", "timing", "unit_clocks"]

WHOLE = "all units together"
"""Name of the engine as a whole, among its units."""

_NUMBERS = re.compile(r"dump_module\$\d+")
"""The part of the names of equal modules that differs: a running number."""


def timing(config: CoreConfig | BlockCoreConfig | Design, *, liberty: str | Path,
           recipe: str = scripts.DEFAULT_RECIPE, macros: MacroTiming = DEFAULT,
           progress: Progress | None = None) -> dict[str, Any]:
    """Worst paths of a core, flattened, in the cells of a library; its area is that of everything but macros.

    Parameters
    ----------
    config : CoreConfig, BlockCoreConfig or Design
        Which core, or its Verilog.
    liberty : str or Path
        The cell library.
    recipe : str
        How logic is mapped to cells: ``fast`` or ``small``.
    macros : MacroTiming
        Assumed timing of memory macros.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    dict
        ``name``, ``library``, ``recipe``; the ``tool`` that timed it, and which ``yosys`` mapped it; the area ``um2``
        and ``kge`` of the same netlist; and the ``paths`` of :func:`cdma.synth.timing.paths.slowest`.

    Raises
    ------
    ValueError
        If the recipe is unknown, the library is missing, damaged or lacks a cell that is needed, a memory that is too
        large for registers is read without a clock, OpenSTA is not installed, or there is no Yosys that is new enough.
    """
    opensta.require()
    library, yosys = libraries.load(liberty), find(progress)
    design = Design.of(config, progress)
    stage = f"timing of {design.top}"
    report(progress, stage, 0, 1)
    part = mapped_part(design, "liberty", library, recipe, timing=macros)
    report(progress, stage, 1, 1)
    return {"name": design.top, "library": library.name, "recipe": recipe, "tool": opensta.version(),
            "yosys": yosys.version, **{key: part[key] for key in ("um2", "kge", "paths")}}


def engine_timing(config: EngineConfig, *, liberty: str | Path, recipe: str = scripts.DEFAULT_RECIPE,
                  macros: MacroTiming = DEFAULT, whole: bool = True, known: dict[str, dict[str, Any]] | None = None,
                  progress: Progress | None = None) -> dict[str, Any]:
    """Worst paths of each unit of an engine, in the cells of a library.

    A unit is mapped flat, with the units inside it cut out: their pins become ports of the unit. A path from unit to
    unit is therefore no register to register path of either unit. It is timed in the engine mapped as a whole, where
    lane 0 stands for all lanes.

    Parameters
    ----------
    config : EngineConfig
        Which engine.
    liberty, recipe, macros, progress
        As for :func:`timing`.
    whole : bool
        Whether to map the whole engine as well.
    known : dict, optional
        Parts that were timed already, with the same library, recipe and macros; those of this engine are added.
        Engines of different lanes have many parts in common.

    Returns
    -------
    dict
        As :func:`timing`, with ``macros``; ``parts``, unit by unit, each with the logic, bits and paths of one of its
        ``instances``, then the whole engine; ``units``, of each unit the part that has the slowest path; and the clock
        ``mhz`` of the slowest.

    Raises
    ------
    ValueError
        As for :func:`timing`.
    """
    opensta.require()
    library, yosys = libraries.load(liberty), find(progress)
    design = Design.of(config, progress)
    roots = design.paths()
    done = {} if known is None else known

    def work(part: str, cut: Collection[str]) -> dict[str, Any]:
        text = _NUMBERS.sub("", design.part(roots[part], cut))
        if text not in done:
            found = mapped_part(design, "liberty", library, recipe, part, cut, macros)
            done[text] = {key: found[key] for key in ("um2", "kge", "memory_bits", "paths")}
        return done[text]

    others = {roots[root] for root in lane_roots(range(1, config.lanes))}
    parts = [{"unit": unit, "part": part, "instances": number, **result} for unit, part, number, result in each_part(
        design, config.lanes, f"timing of {config.name}", progress, work, [(WHOLE, "", others)] * whole)]
    units: dict[str, dict[str, Any]] = {}
    for part in parts:
        path, unit = worst(part["paths"]), part["unit"]
        if path and (unit not in units or path["ps"] > worst(units[unit]["paths"])["ps"]):
            units[unit] = part
    return {"name": config.name, "lanes": config.lanes, "library": library.name, "recipe": recipe,
            "tool": opensta.version(), "yosys": yosys.version, "macros": asdict(macros), "parts": parts,
            "units": list(units.values()), "mhz": min(worst(part["paths"])["mhz"] for part in units.values())}


def unit_clocks(engine: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The clock of each unit of an engine, and its slowest path from register to register, whose ends have their names
    below the top module; ``gates`` are those between its ends."""
    found = []
    for part in engine["units"]:
        path, below = worst(part["paths"]), f"{part['part']}." if part["part"] else ""
        found.append({"unit": part["unit"], "instances": part["instances"], "mhz": path["mhz"], "ps": path["ps"],
                      "gates": gates(path), "start": f"{below}{path['start']}", "end": f"{below}{path['end']}"})
    return found


def gates(path: Mapping[str, Any]) -> int:
    """Gates of a path: its first stage leaves the register that it starts from, its last is the set-up time of the one
    that it ends at."""
    return len(path["stages"]) - 2
