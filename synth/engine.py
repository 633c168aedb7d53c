"""What an engine takes, unit by unit: logic in gates or in cells of a library, memories in bits and by an area model.

One lane is mapped and counted as often as there are lanes. A unit is mapped flat, with the units inside it cut out, so
that rows add up to the total; what optimisation across the cuts would save is not counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hdl.engine_config import EngineConfig
from hdl.sram import LEAST_BITS
from synth import area as areas
from synth import mapping
from synth.hierarchy import Design, Macro
from synth.library import Library
from synth.yosys import Progress, Yosys, find, report

__all__ = ["BIT_UM2", "NAND2_UM2", "PAPER_MM2", "SCALE_28", "EngineArea", "UnitArea", "division", "engine_area",
           "lane_roots", "of_lane"]

BIT_UM2 = 0.72
"""Area of a bit in a memory macro with a read and a write port, at 45 nm, decoders and sense amplifiers included. A
single-port macro of some kilobytes takes 0.55 um2 a bit there; the cell with ports of its own for reading is 30 %
larger (8 instead of 6 transistors)."""

NAND2_UM2 = 0.798
"""A two-input NAND gate in open 45 nm cells: what a gate equivalent counts as without a library."""

SCALE_28 = (28 / 45) ** 2
"""From 45 nm to 28 nm, as the paper scales."""

PAPER_MM2 = {"cores": 0.31, "engine": 1.5}
"""The paper's areas at 28 nm, for six memory controllers: compressors and decompressors (section VI), and all of the
engine with its buffers (slides of the talk)."""

_UNITS = {
    "compressor": ("offload.lane0.compressor",),
    "decompressor": ("prefetch.lane0.decompressor",),
    "narrowing": ("offload.lane0.narrower", "prefetch.lane0.widener"),
    "AXI of the lanes": ("offload.lane0.reader", "prefetch.lane0.writer"),
    "buffers, offload": ("offload.lane0.rows", "offload.lane0.blocks", "offload.lane0.store"),
    "buffers, prefetch": ("prefetch.lane0.buffer",),
    "lane control": ("offload.lane0", "offload.walker0", "prefetch.lane0"),
    "aggregator": ("offload.aggregator",),
    "distributor": ("prefetch.distributor", "prefetch.verdict"),
    "CRC": ("offload.crc", "prefetch.crc"),
    "AXI of the link": ("offload.writer", "prefetch.reader", "arbiter"),
    "control": ("control", "offload.supervisor", "prefetch.supervisor"),
    "glue": ("",),
}
"""Units, and the roots of the parts of the tree that belong to each; those of lane 0 stand for all lanes."""

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
                recipe: str = mapping.DEFAULT_RECIPE, progress: Progress | None = None) -> EngineArea:
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
    library = areas.cells("liberty" if liberty is not None else "generic", liberty)
    design = Design(verilog, config.name)
    paths = design.paths()
    parts, cut = division(design, config.lanes)
    done = 0

    def run(part: tuple[str, str]) -> tuple[areas.AreaRow, Counter[Macro]]:
        nonlocal done
        row, macros = _part(yosys, design, paths[part[1]], cut, library, recipe)
        done += 1
        report(progress, f"synthesis of {config.name}: {part[0]}", done, len(parts))
        return row, macros

    report(progress, f"synthesis of {config.name}", 0, len(parts))
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(run, parts))
    found: Counter[Macro] = Counter()
    units = []
    for unit in _UNITS:
        own = [(config.lanes if of_lane(root) else 1, *result)
               for (of, root), result in zip(parts, results, strict=True) if of == unit]
        if not own:
            continue
        for count, _, macros in own:
            found.update({macro: count * number for macro, number in macros.items()})
        units.append(UnitArea(
            unit, max(count for count, *_ in own), sum(count * row.cells for count, row, _ in own),
            sum(count * row.flip_flops for count, row, _ in own),
            round(sum(count * (row.kge or 0) for count, row, _ in own), 3),
            round(sum(count * (row.um2 or 0) for count, row, _ in own), 1) if library else None,
            sum(count * macro.bits * number for count, _, macros in own for macro, number in macros.items())))
    return EngineArea(config.name, config.lanes, config.element_bits, library.name if library else None, recipe,
                      yosys.version, {f"{macro.words} x {macro.width}": number
                                      for macro, number in sorted(found.items(), reverse=True)}, tuple(units))


def division(design: Design, lanes: int) -> tuple[list[tuple[str, str]], set[str]]:
    """How an engine is taken apart: each part with its unit before it, and the modules that are cut out of others."""
    paths = design.paths()
    parts = [(unit, root) for unit, roots in _UNITS.items() for root in roots if root in paths]
    return parts, {paths[root] for _, root in parts} | {paths[root] for root in lane_roots(range(lanes))}


def lane_roots(lanes: Iterable[int]) -> list[str]:
    """The roots of what stands there once per lane."""
    return [f"{path}{lane}" for lane in lanes for path in ("offload.lane", "prefetch.lane", "offload.walker")]


def of_lane(root: str) -> bool:
    """Whether a part belongs to lane 0, which stands for all lanes."""
    return "lane0" in root or "walker0" in root


def _part(yosys: Yosys, design: Design, root: str, cut: set[str], library: Library | None,
          recipe: str) -> tuple[areas.AreaRow, Counter[Macro]]:
    """Logic of a part without what is cut out, and its memories."""
    macros = design.macros(root, cut, LEAST_BITS)
    sizes = [(macro.cell, macro.words, macro.width) for macro in macros]
    script = (mapping.gates_script(root, True, recipe, sizes) if library is None else
              mapping.library_script(root, True, recipe, library, memories=sizes))
    files = mapping.inputs(design.part(root, cut), recipe, library)
    text = yosys.run(script, files, ["stat.json"], f"synthesis of {root}")["stat.json"]
    counts = {name.lstrip("\\"): number
              for facts in json.loads(text)["modules"].values() for name, number in facts["num_cells_by_type"].items()}
    kept = {macro.cell: number for macro, number in macros.items()}
    for cell, number in kept.items():
        if counts.get(cell, 0) != number:
            raise areas.YosysError(f"Yosys has {counts.get(cell, 0)} memories {cell} in {root}, not {number}")
    logic = {name: number for name, number in counts.items() if name not in cut and name not in kept}
    return areas.row(root, logic, "generic" if library is None else "liberty", library), macros
