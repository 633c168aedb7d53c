"""A part of a design, mapped flat: its cells, its memories, and its slowest paths.

It is how the logic of cores and of the units of an engine is counted and timed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from typing import Any

from cdma.hdl.common.sram import LEAST_BITS
from cdma.synth.area.rows import TOTAL, row
from cdma.synth.cells.fpga import FPGA
from cdma.synth.cells.library import Library
from cdma.synth.timing.macros import MacroTiming, cells, techmap, with_macros
from cdma.synth.timing.paths import CLOCK, NETLIST, slowest
from cdma.synth.tools import scripts
from cdma.synth.tools.yosys import YosysError, find
from cdma.synth.units.hierarchy import Design, Macro

__all__ = ["mapped", "mapped_part"]


def mapped(design: Design, target: str, library: Library | None, recipe: str, *, part: str = "",
           cut: Collection[str] = (), flat: bool = True, netlist: bool = False,
           ) -> tuple[dict[str, dict[str, int]], Counter[Macro], dict[str, str]]:
    """What a part of a design is mapped to.

    Parameters
    ----------
    design : Design
        The design.
    target : str
        One of :data:`cdma.synth.tools.scripts.TARGETS`; memories are macros unless it is an FPGA.
    library : Library or None
        The cells of the target ``liberty``.
    recipe : str
        How logic is mapped to gates or cells.
    part : str
        The part's path below the top.
    cut : collection of str
        Modules that are left out where they are inside.
    flat : bool
        Whether the part is flattened; else each module is mapped by itself.
    netlist : bool
        Whether the netlist is wanted too, in the cells of a library.

    Returns
    -------
    tuple
        How many of each cell there are in each module, memories left out; the memories; and the files that Yosys wrote.

    Raises
    ------
    YosysError
        If Yosys does not take the design, or a memory is no macro that should be one.
    """
    root = design.paths()[part]
    memories = Counter[Macro]() if target in FPGA else design.macros(root, cut, LEAST_BITS)
    sizes = [(macro.cell, macro.words, macro.width) for macro in memories]
    files, wanted = scripts.inputs(design.part(root, cut), recipe, library), ["stat.json"]
    if target in FPGA:
        script = scripts.fpga_script(root, flat, target)
    elif library is None:
        script = scripts.gates_script(root, flat, recipe, sizes)
    else:
        script = scripts.library_script(root, flat, recipe, library, netlist, sizes, design.outside(root, cut))
    if netlist:
        files |= {"macros.v": cells(), "macros_map.v": techmap(cell for cell, *_ in sizes)}
        wanted += NETLIST
    made = find().run(script, files, wanted, f"synthesis of {root}")
    modules = {name.lstrip("\\"): {cell.lstrip("\\"): number for cell, number in facts["num_cells_by_type"].items()
                                    if cell.lstrip("\\") not in cut}
               for name, facts in json.loads(made["stat.json"])["modules"].items()}
    for macro, number in memories.items():
        found = sum(counts.pop(macro.cell, 0) for counts in modules.values())
        if netlist and found:
            raise YosysError(f"{root} reads a memory ({macro.cell}) without a clock, which no macro does")
        if flat and not netlist and found != number:
            raise YosysError(f"Yosys has {found} memories {macro.cell} in {root}, not {number}")
    return modules, memories, made


def mapped_part(design: Design, target: str, library: Library | None, recipe: str, part: str = "",
                cut: Collection[str] = (), timing: MacroTiming | None = None) -> dict[str, Any]:
    """The row of a part, as :func:`cdma.synth.area.rows.row` makes it, with its ``memories``, their
    ``memory_bits``, and its slowest ``paths``.

    Parameters
    ----------
    timing : MacroTiming or None
        Of memory macros; without it nothing is timed.
    design, target, library, recipe, part, cut
        As for :func:`mapped`.

    Raises
    ------
    ValueError
        As for :func:`mapped`, or if the library has no cell for something.
    """
    modules, memories, made = mapped(design, target, library, recipe, part=part, cut=cut, netlist=timing is not None)
    (counts,), root = modules.values(), design.paths()[part]
    paths = []
    if library is not None and timing is not None:
        library = with_macros(library, timing) if memories else library
        paths = slowest(made, root, library, CLOCK if root == design.top else "clk")
    bits = sum(macro.bits * number for macro, number in memories.items())
    return row(part or TOTAL, counts, target, library) | {"memories": memories, "memory_bits": bits, "paths": paths}
