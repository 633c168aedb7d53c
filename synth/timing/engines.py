"""The clock of an engine in the cells of a library: slowest paths of each unit, and of the whole engine; and that of a
block core, whose larger memories are macros too.

A unit is mapped flat, with the units inside it cut out: their pins become ports of the unit. A path from unit to unit
is therefore no register to register path of either unit. It is timed in the engine mapped as a whole, where lane 0
stands for all lanes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from cdma.golden.results import derived
from cdma.hdl.common.sram import LEAST_BITS
from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.generate.verilog import emit
from cdma.synth.cells import library as libraries
from cdma.synth.cells.library import Library
from cdma.synth.timing.cores import CLOCK, NETLIST, REGISTERS, TimingPath, TimingReport, of_netlist
from cdma.synth.timing.macros import DEFAULT, MacroTiming, cells, techmap, with_macros
from cdma.synth.tools import opensta, scripts
from cdma.synth.tools.netlist import read
from cdma.synth.tools.yosys import Progress, Yosys, find, report
from cdma.synth.units.division import division, lane_roots, of_lane
from cdma.synth.units.hierarchy import Design

__all__ = ["WHOLE", "EngineTiming", "Means", "PartTiming", "UnitClock", "block_timing", "engine_timing", "part_timing"]

WHOLE = "all units together"
"""Name of the engine as a whole, among its units."""


_NUMBERS = re.compile(r"dump_module\$\d+")
"""The part of the names of equal modules that differs: a running number."""


@dataclass(frozen=True)
class PartTiming:
    """Timing and size of a part of an engine.

    Parameters
    ----------
    unit : str
        The unit it belongs to, or :data:`WHOLE`.
    part : str
        Its path below the top.
    instances : int
        How many there are.
    um2, kge : float
        Logic of one of them.
    memory_bits : int
        Bits in memory macros of one of them.
    paths : tuple of TimingPath
        The slowest of each kind that there is; names are those below the part.
    """

    unit: str
    part: str
    instances: int
    um2: float
    kge: float
    memory_bits: int
    paths: tuple[TimingPath, ...]

    @property
    def worst(self) -> TimingPath | None:
        """The slowest path from register to register; None if there is none."""
        return next((path for path in self.paths if path.kind == REGISTERS), None)


@dataclass(frozen=True)
class UnitClock:
    """The clock of a unit and its slowest path from register to register, whose ends have their names below the top
    module."""

    unit: str
    instances: int
    mhz: float
    ps: float
    gates: int
    start: str
    end: str


@dataclass(frozen=True)
class EngineTiming:
    """Timing of an engine: wires without length, an ideal clock.

    Parameters
    ----------
    name : str
        The top module.
    lanes : int
        How many there are; parts of lane 0 stand for all.
    library, recipe, tool, yosys : str
        As for :class:`cdma.synth.timing.cores.TimingReport`.
    macros : MacroTiming
        What was assumed of memory macros.
    parts : tuple of PartTiming
        Unit by unit, then the whole engine if it was asked for.
    """

    name: str
    lanes: int
    library: str
    recipe: str
    tool: str
    yosys: str
    macros: MacroTiming
    parts: tuple[PartTiming, ...]

    @derived
    def units(self) -> tuple[PartTiming, ...]:
        """Of each unit the part that has the slowest path; units without such a path are left out."""
        found: dict[str, PartTiming] = {}
        for part in self.parts:
            if part.worst and (part.unit not in found or part.worst.ps > (found[part.unit].worst or part.worst).ps):
                found[part.unit] = part
        return tuple(found.values())

    @derived
    def mhz(self) -> float:
        """The clock of the slowest unit, or of the whole engine if it was timed and is slower."""
        return min(part.worst.mhz for part in self.units if part.worst)

    @property
    def clocks(self) -> tuple[UnitClock, ...]:
        """The clock of each unit."""
        return tuple(UnitClock(part.unit, part.instances, path.mhz, path.ps, path.gates, f"{below}{path.start}",
                               f"{below}{path.end}")
                     for part in self.units if (path := part.worst) is not None
                     for below in (f"{part.part}." if part.part else "",))


def engine_timing(config: EngineConfig, verilog: str, *, liberty: str | Path, recipe: str = scripts.DEFAULT_RECIPE,
                  macros: MacroTiming = DEFAULT, whole: bool = True,
                  known: dict[str, PartTiming] | None = None, progress: Progress | None = None) -> EngineTiming:
    """Worst paths of each unit of an engine, in the cells of a library.

    Parameters
    ----------
    config : EngineConfig
        What was built.
    verilog : str
        Its Verilog.
    liberty, recipe, progress
        As for :func:`cdma.synth.timing.cores.timing`.
    macros : MacroTiming
        Assumed timing of memory macros.
    whole : bool
        Whether to map the whole engine as well.
    known : dict, optional
        Parts that were timed already, with the same library, recipe and macros; those of this engine are added.
        Engines of different lanes have many parts in common.

    Raises
    ------
    ValueError
        As for :func:`cdma.synth.timing.cores.timing`, or if a memory that is too large for registers is read
        without a clock.
    """
    opensta.require()
    means = Means(find(progress), libraries.load(liberty), macros, recipe)
    design = Design(verilog, config.name)
    parts, cut = division(design, config.lanes)
    others = {design.paths()[root] for root in lane_roots(range(1, config.lanes))}
    known = {} if known is None else known
    jobs = [(unit, part, cut) for unit, part in parts] + [(WHOLE, "", others)] * whole
    done = 0

    def run(job: tuple[str, str, Collection[str]]) -> PartTiming:
        nonlocal done
        unit, part, left_out = job
        text = _NUMBERS.sub("", design.part(design.paths()[part], left_out))
        result = known.get(text) or part_timing(means, design, part, left_out)
        known[text] = result
        done += 1
        report(progress, f"timing of {config.name}: {unit}", done, len(jobs))
        return replace(result, unit=unit, part=part, instances=config.lanes if of_lane(part) else 1)

    report(progress, f"timing of {config.name}", 0, len(jobs))
    with ThreadPoolExecutor(2) as pool:
        results = tuple(pool.map(run, jobs))
    return EngineTiming(config.name, config.lanes, means.library.name, recipe, opensta.version(),
                        means.yosys.version, macros, results)


def block_timing(config: BlockCoreConfig, *, liberty: str | Path, recipe: str = scripts.DEFAULT_RECIPE,
                 macros: MacroTiming = DEFAULT, progress: Progress | None = None) -> TimingReport:
    """Worst paths of a block core, flattened; its area is that of everything but the macros.

    Parameters
    ----------
    config : BlockCoreConfig
        Which block core.
    macros : MacroTiming
        Assumed timing of memory macros.
    liberty, recipe, progress
        As for :func:`cdma.synth.timing.cores.timing`.

    Raises
    ------
    ValueError
        As for :func:`cdma.synth.timing.cores.timing`.
    """
    opensta.require()
    means = Means(find(progress), libraries.load(liberty), macros, recipe)
    report(progress, f"generating {config.name}")
    design = Design(emit(config).text, config.name)
    report(progress, f"timing of {config.name}", 0, 1)
    part = part_timing(means, design, "", ())
    report(progress, f"timing of {config.name}", 1, 1)
    return TimingReport(config.name, means.library.name, recipe, opensta.version(), means.yosys.version, part.um2,
                        part.kge, part.paths)


@dataclass(frozen=True)
class Means:
    """The set-up of mapping and timing: Yosys, a library, the timing of memory macros, and a recipe."""

    yosys: Yosys
    library: Library
    macros: MacroTiming
    recipe: str

    @cached_property
    def timed_library(self) -> Library:
        """The library with the pins of macros as cells."""
        return with_macros(self.library, self.macros)


def part_timing(means: Means, design: Design, part: str, cut: Collection[str]) -> PartTiming:
    """Timing of one part of a design, treated as a unit with one instance.

    Parameters
    ----------
    means : Means
        What maps and times.
    design : Design
        The design.
    part : str
        The part's path below the top.
    cut : collection of str
        Modules that are left out where they are inside.

    Raises
    ------
    ValueError
        As for :func:`engine_timing`.
    """
    root = design.paths()[part]
    memories = design.macros(root, cut, LEAST_BITS)
    sizes = [(macro.cell, macro.words, macro.width) for macro in memories]
    script = scripts.library_script(root, True, means.recipe, means.library, netlist=True, memories=sizes,
                                    outside=design.outside(root, cut))
    files = scripts.inputs(design.part(root, cut), means.recipe, means.library) | {
        "macros.v": cells(), "macros_map.v": techmap(cell for cell, *_ in sizes)}
    result = means.yosys.run(script, files, list(NETLIST), f"synthesis of {root}")
    netlist = read(result["net.json"], root)
    library = means.timed_library
    kinds = [kind for kind, _ in netlist.cells.values()]
    for kind in sorted({*kinds} - {*library.cells}):
        raise ValueError(f"{root} reads a memory ({kind}) without a clock, which no macro does"
                         if kind in {cell for cell, *_ in sizes} else
                         f"cell library {library.path} has no cell for {kind}")
    clock = CLOCK if root == design.top else "clk"
    # A part without a clock has no registers, and its paths are parts of paths elsewhere.
    paths = of_netlist(result, root, library, clock=clock) if clock in netlist.inputs else ()
    um2 = sum(library.cells[kind].area for kind in kinds)
    return PartTiming(unit=part, part=part, instances=1, um2=round(um2, 3),
                      kge=round(um2 / library.nand2.area / 1000, 4),
                      memory_bits=sum(macro.bits * number for macro, number in memories.items()), paths=paths)
