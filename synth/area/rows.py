"""A row of an area report: number of each cell, and their area."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdma.synth.cells.fpga import FPGA
from cdma.synth.cells.generic import CLOCK_GATE, FLIP_FLOP, gate_size
from cdma.synth.cells.library import Library
from cdma.synth.tools.yosys import YosysError

__all__ = ["TOTAL", "row"]

TOTAL = "total"
"""Name of the row of the whole design."""


def row(module: str, counts: Mapping[str, int], target: str, library: Library | None) -> dict[str, Any]:
    """Area of a module from the number of each cell in it.

    Returns
    -------
    dict
        ``module``; ``cells``, ``flip_flops`` and ``clock_gates``; ``kge``, thousands of two-input NAND gates, None on
        an FPGA; ``um2``, None without a library; ``luts`` and ``block_rams``, None except on an FPGA; and ``share``,
        the part of all modules' kGE or LUTs, 1 until it is known.
    """
    # Yosys marks where flattened modules were; these marks are not cells.
    counts = {cell.lstrip("\\"): number for cell, number in counts.items() if cell != "$scopeinfo"}
    flip_flops = clock_gates = 0
    kge = um2 = luts = block_rams = None
    if target in FPGA:
        fpga = FPGA[target]
        flip_flops = sum(counts.get(cell, 0) for cell in fpga.flip_flops)
        luts = sum(counts.get(cell, 0) * weight for cell, weight in fpga.luts.items())
        block_rams = sum(counts.get(cell, 0) for cell in fpga.block_rams)
    elif library is not None:
        if unmapped := sorted(set(counts) - set(library.cells)):
            raise YosysError(f"cell library {library.path} has no cell for {unmapped[0]}")
        kinds = {kind: sum(number for cell, number in counts.items() if library.cells[cell].kind == kind)
                 for kind in ("flip-flop", "clock gate")}
        flip_flops, clock_gates = kinds["flip-flop"], kinds["clock gate"]
        um2 = round(sum(library.cells[cell].area * number for cell, number in sorted(counts.items())), 3)
        kge = round(um2 / library.nand2.area / 1000, 4)
    else:
        flip_flops, clock_gates = counts.get(FLIP_FLOP, 0), counts.get(CLOCK_GATE, 0)
        kge = round(sum(gate_size(cell) * number for cell, number in sorted(counts.items())) / 1000, 4)
    return {"module": module, "cells": sum(counts.values()), "flip_flops": flip_flops, "clock_gates": clock_gates,
            "kge": kge, "um2": um2, "luts": luts, "block_rams": block_rams, "share": 1.0}
