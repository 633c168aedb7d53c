"""What an engine takes, unit by unit: logic in gates or in cells of a library, memories in bits and by an area model.

One lane is mapped and counted as often as there are lanes. A unit is mapped flat, with the units inside it cut out, so
that rows add up to the total; what optimisation across the cuts would save is not counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hdl.common.sram import LEAST_BITS
from hdl.config.engine import EngineConfig
from synth.area.cores import target_library
from synth.area.rows import AreaRow, row
from synth.cells.generic import BIT_UM2, NAND2_UM2
from synth.cells.library import Library
from synth.tools import scripts
from synth.tools.yosys import Progress, Yosys, YosysError, find, report
from synth.units.division import UNITS, division, of_lane
from synth.units.hierarchy import Design, Macro

__all__ = ["PAPER_MM2", "SCALE_28", "EngineArea", "UnitArea", "engine_area"]

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

    @property
    def logic_um2(self) -> float:
        """Logic at 45 nm: in the library's cells, or gates at :data:`NAND2_UM2`."""
        return self.um2 if self.um2 is not None else 1000 * self.kge * NAND2_UM2

    @property
    def memory_um2(self) -> float:
        """Memory macros at 45 nm, by :data:`BIT_UM2`."""
        return self.memory_bits * BIT_UM2

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self) | {"logic_um2": round(self.logic_um2, 1), "memory_um2": round(self.memory_um2, 1)}


@dataclass(frozen=True)
class EngineArea:
    """Area of an engine; ``units`` add up to it."""

    name: str
    lanes: int
    element_bits: tuple[int, ...]
    library: str | None
    recipe: str
    yosys: str
    macros: dict[str, int]
    units: tuple[UnitArea, ...]

    def mm2_28(self, units: Sequence[str] | None = None, *, logic: bool = True, memory: bool = True) -> float:
        """Area at 28 nm of some units, or of all."""
        return sum((each.logic_um2 if logic else 0) + (each.memory_um2 if memory else 0)
                   for each in self.units if units is None or each.unit in units) * SCALE_28 / 1e6

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        total = {name: sum(getattr(each, name) or 0 for each in self.units)
                 for name in ("cells", "flip_flops", "kge", "memory_bits")}
        return asdict(self) | {
            "units": [each.as_dict() for each in self.units],
            "total": total | {"kge": round(total["kge"], 3),
                              "um2": round(sum(each.um2 or 0 for each in self.units), 1) if self.library else None},
            "scale_28": SCALE_28, "bit_um2": BIT_UM2, "nand2_um2": NAND2_UM2,
            "mm2_28": {"cores": round(self.mm2_28(_CORES), 4), "logic": round(self.mm2_28(memory=False), 4),
                       "memory": round(self.mm2_28(logic=False), 4), "engine": round(self.mm2_28(), 4)},
            "paper_mm2": PAPER_MM2,
        }


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
    return EngineArea(config.name, config.lanes, config.element_bits, library.name if library else None, recipe,
                      yosys.version, {f"{macro.words} x {macro.width}": number
                                      for macro, number in sorted(found.items(), reverse=True)}, tuple(units))


def _part(yosys: Yosys, design: Design, root: str, cut: set[str], library: Library | None,
          recipe: str) -> tuple[AreaRow, Counter[Macro]]:
    """Logic of a part without what is cut out, and its memories."""
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
