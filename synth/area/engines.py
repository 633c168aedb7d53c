"""Area of an engine, unit by unit: logic in gates or in cells of a library, memories in bits and by an area model.

One lane is mapped and counted as often as there are lanes. A unit is mapped flat, with the units inside it cut out, so
that rows add up to the total; what optimisation across the cuts would save is not counted.
"""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cdma.golden.results import derived
from cdma.hdl.common.sram import LEAST_BITS
from cdma.hdl.config.engine import EngineConfig
from cdma.synth.area.cores import target_library
from cdma.synth.area.rows import AreaRow, row
from cdma.synth.cells.generic import BIT_UM2, NAND2_UM2
from cdma.synth.cells.library import Library
from cdma.synth.tools import scripts
from cdma.synth.tools.yosys import Progress, Yosys, YosysError, find, report
from cdma.synth.units.division import UNITS, division, of_lane
from cdma.synth.units.hierarchy import Design, Macro

__all__ = ["PAPER_MM2", "SCALE_28", "EngineArea", "Scaled", "Total", "UnitArea", "engine_area"]

SCALE_28 = (28 / 45) ** 2
"""From 45 nm to 28 nm, as the paper scales."""

PAPER_MM2 = {"cores": 0.31, "engine": 1.5}
"""The paper's areas at 28 nm, for six memory controllers: compressors and decompressors (section VI), and all of the
engine with its buffers (slides of the talk)."""

_CORES = ("compressor", "decompressor")


@dataclass(frozen=True)
class UnitArea:
    """A unit, all its instances together.

    Parameters
    ----------
    unit : str
        What it is.
    instances : int
        How many there are.
    cells, flip_flops : int
        Of the logic.
    kge : float
        Logic, in thousands of two-input NAND gates.
    um2 : float or None
        Logic in the cells of the library; None without one.
    memory_bits : int
        Bits in memory macros.
    """

    unit: str
    instances: int
    cells: int
    flip_flops: int
    kge: float
    um2: float | None
    memory_bits: int

    @derived
    def logic_um2(self) -> float:
        """Logic at 45 nm: in the library's cells, or gates at :data:`NAND2_UM2`."""
        return round(self.um2 if self.um2 is not None else 1000 * self.kge * NAND2_UM2, 1)

    @derived
    def memory_um2(self) -> float:
        """Memory macros at 45 nm, by :data:`BIT_UM2`."""
        return round(self.memory_bits * BIT_UM2, 1)


@dataclass(frozen=True)
class Total:
    """All units of an engine together; fields as in :class:`UnitArea`."""

    cells: int
    flip_flops: int
    kge: float
    memory_bits: int
    um2: float | None


@dataclass(frozen=True)
class Scaled:
    """Areas in mm2 at 28 nm: compressors and decompressors, all logic, all memories, the engine."""

    cores: float
    logic: float
    memory: float
    engine: float


@dataclass(frozen=True)
class EngineArea:
    """Area of an engine; ``units`` add up to it."""

    name: str
    lanes: int
    codings: tuple[str, ...]
    library: str | None
    recipe: str
    yosys: str
    macros: dict[str, int]
    units: tuple[UnitArea, ...]

    @derived
    def total(self) -> Total:
        """The sum of the units."""
        return Total(
            sum(each.cells for each in self.units), sum(each.flip_flops for each in self.units),
            round(sum(each.kge for each in self.units), 3), sum(each.memory_bits for each in self.units),
            round(sum(each.um2 or 0 for each in self.units), 1) if self.library else None)

    @derived
    def scale_28(self) -> float:
        """Factor from 45 nm to 28 nm."""
        return SCALE_28

    @derived
    def bit_um2(self) -> float:
        """Area of a bit of memory at 45 nm."""
        return BIT_UM2

    @derived
    def nand2_um2(self) -> float:
        """Area of a gate at 45 nm where there is no library."""
        return NAND2_UM2

    @derived
    def mm2_28(self) -> Scaled:
        """Areas at 28 nm."""
        logic, memory = sum(each.logic_um2 for each in self.units), sum(each.memory_um2 for each in self.units)
        cores = sum(each.logic_um2 + each.memory_um2 for each in self.units if each.unit in _CORES)
        return Scaled(*(round(um2 * SCALE_28 / 1e6, 4) for um2 in (cores, logic, memory, logic + memory)))

    @derived
    def paper_mm2(self) -> dict[str, float]:
        """The paper's areas at 28 nm."""
        return PAPER_MM2


def engine_area(config: EngineConfig, verilog: str, *, liberty: str | Path | None = None,
                recipe: str = scripts.DEFAULT_RECIPE, progress: Progress | None = None) -> EngineArea:
    """Area of an engine.

    Parameters
    ----------
    config : EngineConfig
        What was built.
    verilog : str
        Its Verilog.
    liberty : str or Path, optional
        Cell library; gates of the generic table without.
    recipe : str
        How logic is mapped: ``fast`` or ``small``.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Raises
    ------
    ValueError
        If the recipe is unknown, the library is missing, damaged or lacks a cell that is needed, or there is no Yosys
        that is new enough.
    """
    yosys = find(progress)
    library = target_library("liberty" if liberty is not None else "generic", liberty)
    design = Design(verilog, config.name)
    paths = design.paths()
    parts, cut = division(design, config.lanes)
    done = 0

    def run(part: tuple[str, str]) -> tuple[AreaRow, Counter[Macro]]:
        nonlocal done
        found_row, macros = _part(yosys, design, paths[part[1]], cut, library, recipe)
        done += 1
        report(progress, f"synthesis of {config.name}: {part[0]}", done, len(parts))
        return found_row, macros

    report(progress, f"synthesis of {config.name}", 0, len(parts))
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(run, parts))
    found: Counter[Macro] = Counter()
    units = []
    for unit in UNITS:
        own = [(config.lanes if of_lane(root) else 1, *result)
               for (of, root), result in zip(parts, results, strict=True) if of == unit]
        if not own:
            continue
        for count, _, macros in own:
            found.update({macro: count * number for macro, number in macros.items()})
        units.append(UnitArea(
            unit, max(count for count, *_ in own), sum(count * each.cells for count, each, _ in own),
            sum(count * each.flip_flops for count, each, _ in own),
            round(sum(count * (each.kge or 0) for count, each, _ in own), 3),
            round(sum(count * (each.um2 or 0) for count, each, _ in own), 1) if library else None,
            sum(count * macro.bits * number for count, _, macros in own for macro, number in macros.items())))
    return EngineArea(config.name, config.lanes, config.codings, library.name if library else None, recipe,
                      yosys.version, {f"{macro.words} x {macro.width}": number
                                      for macro, number in sorted(found.items(), reverse=True)}, tuple(units))


def _part(yosys: Yosys, design: Design, root: str, cut: set[str], library: Library | None,
          recipe: str) -> tuple[AreaRow, Counter[Macro]]:
    """Area of the logic of a part, without modules that are cut out, and its memories."""
    macros = design.macros(root, cut, LEAST_BITS)
    sizes = [(macro.cell, macro.words, macro.width) for macro in macros]
    script = (scripts.gates_script(root, True, recipe, sizes) if library is None else
              scripts.library_script(root, True, recipe, library, memories=sizes))
    files = scripts.inputs(design.part(root, cut), recipe, library)
    text = yosys.run(script, files, ["stat.json"], f"synthesis of {root}")["stat.json"]
    counts = {name.lstrip("\\"): number
              for facts in json.loads(text)["modules"].values() for name, number in facts["num_cells_by_type"].items()}
    kept = {macro.cell: number for macro, number in macros.items()}
    for cell, number in kept.items():
        if counts.get(cell, 0) != number:
            raise YosysError(f"Yosys has {counts.get(cell, 0)} memories {cell} in {root}, not {number}")
    logic = {name: number for name, number in counts.items() if name not in cut and name not in kept}
    return row(root, logic, "generic" if library is None else "liberty", library), macros
