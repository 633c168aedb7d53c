"""Area of a design on an FPGA: LUTs, flip-flops, memories, and how each memory is built.

A large buffer that no block RAM was found for is still built, from LUTs or from thousands of flip-flops: here such
buffers are named.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from cdma.hdl.common.sram import LEAST_BITS
from cdma.hdl.config.engine import EngineConfig
from cdma.synth.area.rows import TOTAL, row
from cdma.synth.cells.fpga import FPGA
from cdma.synth.tools import scripts
from cdma.synth.tools.yosys import Progress, YosysError, find, report
from cdma.synth.units.hierarchy import Design

__all__ = ["BLOCK", "DISTRIBUTED", "LUT_WORDS", "REGISTERS", "fpga_area"]

BLOCK, DISTRIBUTED, REGISTERS = "block RAM", "LUTs", "flip-flops"
"""How a memory can be built."""

LUT_WORDS = 64
"""Most words of a buffer that may be in LUTs: so few would fill an eighth of a block RAM at most."""


def fpga_area(config: EngineConfig | Design, target: str, progress: Progress | None = None) -> dict[str, Any]:
    """Map a design to an FPGA.

    Parameters
    ----------
    config : EngineConfig or Design
        Which engine, or any Verilog.
    target : str
        ``ecp5``, ``xilinx7`` or ``ultrascale+``.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    dict
        ``name``, ``target``, ``yosys``; ``cells``, ``luts`` (those of distributed RAM too) and ``flip_flops``; the
        primitives of ``block_rams`` and ``distributed_rams``; what became of each of the ``memories`` that are written,
        the largest first; and the names of those that should be in block RAM and are not, ``no_block_ram``: of
        ``least_bits`` or more, in flip-flops, or in LUTs with more than ``lut_words`` words.

    Raises
    ------
    ValueError
        If there is no such target, or no Yosys that is new enough.
    """
    if target not in FPGA:
        raise ValueError(f"target must be one of {', '.join(FPGA)}, not {target!r}")
    yosys = find(progress)
    design = Design.of(config, progress)
    about = f"synthesis of {design.top} for {target}"
    report(progress, about)
    files = yosys.run(scripts.fpga_script(design.top, True, target, memories=True), {"design.v": design.text},
                      ["stat.json", "memories.json", "rams.json"], about)
    (counts,) = (facts["num_cells_by_type"] for facts in json.loads(files["stat.json"])["modules"].values())
    total, fpga, memories = row(TOTAL, counts, target, None), FPGA[target], _memories(files, target)
    return {"name": design.top, "target": target, "yosys": yosys.version,
            **{key: total[key] for key in ("cells", "luts", "flip_flops")},
            "block_rams": {cell: counts[cell] for cell in fpga.block_rams if cell in counts},
            "distributed_rams": {cell: counts[cell] for cell in fpga.distributed_rams if cell in counts},
            "memories": memories, "least_bits": LEAST_BITS, "lut_words": LUT_WORDS,
            "no_block_ram": [each["name"] for each in memories if each["words"] * each["width"] >= LEAST_BITS and (
                each["built"] == REGISTERS or (each["built"] == DISTRIBUTED and each["words"] > LUT_WORDS))]}


def _memories(files: Mapping[str, str], target: str) -> list[dict[str, Any]]:
    """Each memory of the flattened design: its path, its size, what it became, and the primitives that it has."""
    rams: dict[str, Counter[str]] = {}
    for name, cell in _cells(files["rams.json"]):
        # Memory bad becomes bad.0.0, bad.0.1 and so on: its ports and its columns.
        memory, *numbers = name.rsplit(".", 2)
        if len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
            raise YosysError(f"Yosys has a RAM {name} that belongs to no memory")
        rams.setdefault(memory, Counter())[cell["type"]] += 1
    found = []
    for name, cell in _cells(files["memories.json"]):
        words, width, writes = (int(cell["parameters"][key], 2) for key in ("SIZE", "WIDTH", "WR_PORTS"))
        if writes:      # else a table of constants
            own = dict(sorted(rams.get(name, {}).items()))
            built = BLOCK if set(own) & set(FPGA[target].block_rams) else DISTRIBUTED if own else REGISTERS
            found.append({"name": name, "words": words, "width": width, "built": built, "rams": own})
    return sorted(found, key=lambda memory: (-memory["words"] * memory["width"], memory["name"]))


def _cells(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The cells in Yosys' JSON: their type, and their parameters as binary numbers."""
    return [pair for module in json.loads(text)["modules"].values() for pair in module["cells"].items()]
