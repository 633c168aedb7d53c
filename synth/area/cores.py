"""Area of a core: in gates of a small table, in cells of a library, or on an FPGA; in total and by submodule."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cdma.golden.results import derived
from cdma.hdl.common.sram import LEAST_BITS
from cdma.hdl.config.block_core import BlockCoreConfig
from cdma.hdl.config.core import CoreConfig
from cdma.hdl.generate.verilog import emit
from cdma.synth.area.rows import TOTAL, AreaRow, row
from cdma.synth.cells import library as libraries
from cdma.synth.cells.fpga import FPGA
from cdma.synth.cells.library import Library
from cdma.synth.timing import cores as timings
from cdma.synth.timing.cores import TimingPath
from cdma.synth.tools import opensta, scripts
from cdma.synth.tools.yosys import Progress, YosysError, find, report
from cdma.synth.units.hierarchy import Design, Macro

__all__ = ["AreaReport", "area", "measure", "target_library"]

@dataclass(frozen=True)
class AreaReport:
    """Area of a design.

    Modules are mapped one by one and the whole design flattened, as it would be built: logic is shared and removed
    across the borders of modules, so that the rows of the modules do not add up to the total. The total is what counts.

    Parameters
    ----------
    name : str
        The top module.
    target : str
        What was mapped to.
    library : str or None
        Name of the cell library.
    recipe : str or None
        How logic was mapped to gates or cells; None on an FPGA.
    yosys : str
        Which Yosys.
    rows : tuple of AreaRow
        Each module, parents first; the whole design last.
    timed_with : str or None
        What timed the netlist of the whole design; None if nothing did.
    paths : tuple of TimingPath
        The slowest paths of the whole design, one of each kind.
    memory_bits : int
        Bits in memory macros, which no row counts. On an FPGA memories are mapped, and none is a macro.
    """

    name: str
    target: str
    library: str | None
    recipe: str | None
    yosys: str
    rows: tuple[AreaRow, ...]
    timed_with: str | None = None
    paths: tuple[TimingPath, ...] = ()
    memory_bits: int = 0

    @derived
    def total(self) -> AreaRow:
        """The whole design."""
        return self.rows[-1]


def area(config: CoreConfig | BlockCoreConfig, *, target: str = "generic", liberty: str | Path | None = None,
         recipe: str = scripts.DEFAULT_RECIPE, timed: bool = False, modules: bool = True,
         progress: Progress | None = None) -> AreaReport:
    """Area of a core. The larger memories of a block core are macros in gates and cells.

    Parameters
    ----------
    config : CoreConfig or BlockCoreConfig
        Which core.
    target : str
        ``generic``, ``liberty``, ``ecp5`` or ``xilinx7``.
    liberty : str or Path, optional
        The cell library, for the target ``liberty`` alone.
    recipe : str
        How logic is mapped to gates or cells: ``fast`` or ``small``.
    timed : bool
        Whether to time the same netlist as well: in the cells of a library, where OpenSTA is installed. Not for block
        cores, whose clock :func:`cdma.synth.timing.engines.block_timing` calculates with the timing of macros.
    modules : bool
        Whether to map the modules one by one as well; without, the report has the row of the whole design alone.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Raises
    ------
    ValueError
        If the target or the recipe is unknown, the library is missing, damaged or lacks a cell that is needed, or
        there is no Yosys that is new enough.
    """
    library = target_library(target, liberty)
    report(progress, f"generating {config.name}")
    verilog, of_blocks = emit(config).text, isinstance(config, BlockCoreConfig)
    memories = (Design(verilog, config.name).macros(config.name, (), LEAST_BITS)
                if of_blocks and target not in FPGA else {})
    timed = timed and not of_blocks and library is not None and opensta.available()
    return measure(verilog, config.name, target=target, library=library, recipe=recipe,
                   clock=timings.CLOCK if timed else None, modules=modules, memories=memories, progress=progress)


def target_library(target: str, liberty: str | Path | None) -> Library | None:
    """The cell library of a target that has one; ValueError if they do not match or the library cannot be read."""
    if target not in scripts.TARGETS:
        raise ValueError(f"target must be one of {', '.join(scripts.TARGETS)}, not {target!r}")
    if target == "liberty" and liberty is None:
        raise ValueError("target liberty needs a cell library: name its file")
    if target != "liberty" and liberty is not None:
        raise ValueError(f"a cell library is for the target liberty, not {target}")
    return libraries.load(liberty) if liberty is not None else None


def measure(verilog: str, top: str, *, target: str = "generic", library: Library | None = None,
            recipe: str = scripts.DEFAULT_RECIPE, clock: str | None = None, modules: bool = True,
            memories: Mapping[Macro, int] = MappingProxyType({}), progress: Progress | None = None) -> AreaReport:
    """Area of any design in Verilog, timed if its clock is named and it has no ``memories``, which are macros and how
    many there are of each; other parameters, result and errors as for :func:`area`."""
    sizes = [(macro.cell, macro.words, macro.width) for macro in memories]
    yosys = find(progress)
    files = scripts.inputs(verilog, recipe, library)
    stage = f"synthesis of {top}"
    runs = (True, False) if modules else (True,)
    done = 0
    report(progress, stage, done, len(runs))

    def run(flat: bool) -> dict[str, str]:
        nonlocal done
        wanted = ["stat.json"]
        if target in FPGA:
            script = scripts.fpga_script(top, flat, target)
        elif library is not None:
            netlist = flat and clock is not None
            wanted += timings.NETLIST if netlist else ()
            script = scripts.library_script(top, flat, recipe, library, netlist, sizes)
        else:
            script = scripts.gates_script(top, flat, recipe, sizes)
        result = yosys.run(script, files, wanted, f"{stage} (target {target})")
        done += 1
        report(progress, stage, done, len(runs))
        return result

    with ThreadPoolExecutor(len(runs)) as pool:
        whole, *tree = pool.map(run, runs)
    (flat,) = (facts["num_cells_by_type"] for facts in json.loads(whole["stat.json"])["modules"].values())
    cells = [cell for cell, *_ in sizes]
    found = {cell.lstrip("\\"): number for cell, number in flat.items()}
    for macro, number in memories.items():
        if found.get(macro.cell, 0) != number:
            raise YosysError(f"Yosys has {found.get(macro.cell, 0)} memories {macro.cell} in {top}, not {number}")
    rows = [row for result in tree for row in _rows(json.loads(result["stat.json"]), top, target, library, cells)]
    total = row(TOTAL, {cell: number for cell, number in found.items() if cell not in cells}, target, library)
    timed_with: str | None = None
    paths: tuple[TimingPath, ...] = ()
    if library is not None and clock is not None:
        report(progress, f"timing of {top}")
        timed_with, paths = opensta.version(), timings.of_netlist(whole, top, library, clock=clock)
    return AreaReport(name=top, target=target, library=library.name if library else None,
                      recipe=None if target in FPGA else recipe, yosys=yosys.version,
                      rows=(*rows, total), timed_with=timed_with, paths=paths,
                      memory_bits=sum(macro.bits * number for macro, number in memories.items()))


def _rows(tree: Mapping[str, Any], top: str, target: str, library: Library | None,
          macros: Collection[str] = ()) -> Iterator[AreaRow]:
    modules = {name.lstrip("\\"): facts["num_cells_by_type"] for name, facts in tree["modules"].items()}
    rows = [row(_path(name, top), {cell: count * number for cell, count in modules[name].items()
                                    if cell not in modules and cell.lstrip("\\") not in macros}, target, library)
            for name, number in _instances(modules, top).items()]
    weights = [row.kge if row.kge is not None else row.luts or 0 for row in rows]
    everything = sum(weights) or 1
    return (replace(row, share=round(weight / everything, 4)) for row, weight in zip(rows, weights, strict=True))


def _path(name: str, top: str) -> str:
    return "(top)" if name == top else name.removeprefix(f"{top}.")


def _instances(modules: Mapping[str, Mapping[str, int]], top: str) -> dict[str, int]:
    """Number of instances of each module, parents first, in the order of their names."""
    found: dict[str, int] = {}

    def visit(name: str, number: int) -> None:
        found[name] = found.get(name, 0) + number
        for child in sorted(set(modules[name]) & set(modules)):
            visit(child, number * modules[name][child])

    visit(top, 1)
    return found
