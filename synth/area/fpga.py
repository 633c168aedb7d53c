"""Area of a design on an FPGA: LUTs, flip-flops, memories, and how each memory is built.

A large buffer that no block RAM was found for is still built, from LUTs or from thousands of flip-flops: here such
buffers are named.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from cdma.golden.results import derived
from cdma.hdl.common.sram import LEAST_BITS
from cdma.synth.area.rows import row
from cdma.synth.cells.fpga import FPGA
from cdma.synth.tools import scripts
from cdma.synth.tools.yosys import Progress, YosysError, find, report

__all__ = ["BLOCK", "DISTRIBUTED", "LUT_WORDS", "REGISTERS", "BuiltMemory", "FpgaArea", "built_memories", "fpga_area"]

BLOCK, DISTRIBUTED, REGISTERS = "block RAM", "LUTs", "flip-flops"
"""How a memory can be built."""

LUT_WORDS = 64
"""Most words of a buffer that may be in LUTs: so few would fill an eighth of a block RAM at most."""


class _Cell(TypedDict):
    """A cell in Yosys' JSON: its type, and its parameters as binary numbers."""

    type: str
    parameters: dict[str, str]


@dataclass(frozen=True)
class BuiltMemory:
    """A memory of the flattened design.

    Parameters
    ----------
    name : str
        Its path below the top.
    words, width : int
        Rows, and bits of each.
    built : str
        What it became: :data:`BLOCK`, :data:`DISTRIBUTED` or :data:`REGISTERS`.
    rams : dict of str to int
        The primitives that it is built from, and how many of each.
    """

    name: str
    words: int
    width: int
    built: str
    rams: dict[str, int]

    @property
    def bits(self) -> int:
        """Of all rows."""
        return self.words * self.width

    @property
    def missed(self) -> bool:
        """Whether it should be in block RAM, and is not; few words may be in LUTs."""
        return self.bits >= LEAST_BITS and (self.built == REGISTERS
                                            or (self.built == DISTRIBUTED and self.words > LUT_WORDS))


@dataclass(frozen=True)
class FpgaArea:
    """Area of a flattened design on an FPGA.

    Parameters
    ----------
    name : str
        The top module.
    target : str
        The family.
    yosys : str
        Which Yosys.
    cells, luts, flip_flops : int
        Cells of all kinds, look-up tables (those of distributed RAM too) and flip-flops.
    block_rams, distributed_rams : dict of str to int
        Primitives, and how many of each.
    memories : tuple of BuiltMemory
        What became of each memory that is written, the largest first.
    """

    name: str
    target: str
    yosys: str
    cells: int
    luts: int
    flip_flops: int
    block_rams: dict[str, int]
    distributed_rams: dict[str, int]
    memories: tuple[BuiltMemory, ...]

    @derived
    def least_bits(self) -> int:
        """The smallest size, in bits, of a memory that counts as a buffer."""
        return LEAST_BITS

    @derived
    def lut_words(self) -> int:
        """Words up to which a buffer may be in LUTs."""
        return LUT_WORDS

    @derived
    def no_block_ram(self) -> list[str]:
        """The memories of that size that are in flip-flops, or in LUTs with more than ``lut_words`` words."""
        return [memory.name for memory in self.memories if memory.missed]


def fpga_area(verilog: str, top: str, target: str, progress: Progress | None = None) -> FpgaArea:
    """Map a design in Verilog to an FPGA.

    Parameters
    ----------
    verilog : str
        The design.
    top : str
        Its top module.
    target : str
        ``ecp5`` or ``xilinx7``.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Raises
    ------
    ValueError
        If there is no such target, or no Yosys that is new enough.
    """
    _check(target)
    yosys = find(progress)
    about = f"synthesis of {top} for {target}"
    report(progress, about)
    files = yosys.run(scripts.fpga_script(top, True, target, memories=True), {"design.v": verilog},
                      ["stat.json", "memories.json", "rams.json"], about)
    (counts,) = (facts["num_cells_by_type"] for facts in json.loads(files["stat.json"])["modules"].values())
    total, fpga = row(top, counts, target, None), FPGA[target]
    return FpgaArea(top, target, yosys.version, total.cells, total.luts or 0, total.flip_flops,
                    {cell: counts[cell] for cell in fpga.block_rams if cell in counts},
                    {cell: counts[cell] for cell in fpga.distributed_rams if cell in counts}, _memories(files, target))


def built_memories(verilog: str, top: str, target: str) -> tuple[BuiltMemory, ...]:
    """How the memories of a design are built, without mapping its logic; errors as :func:`fpga_area`."""
    _check(target)
    files = find().run(scripts.memories_script(top, target), {"design.v": verilog}, ["memories.json", "rams.json"],
                       f"mapping of the memories of {top} for {target}")
    return _memories(files, target)


def _check(target: str) -> None:
    if target not in FPGA:
        raise ValueError(f"target must be one of {', '.join(FPGA)}, not {target!r}")


def _memories(files: Mapping[str, str], target: str) -> tuple[BuiltMemory, ...]:
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
            found.append(BuiltMemory(name, words, width, built, own))
    return tuple(sorted(found, key=lambda memory: (-memory.bits, memory.name)))


def _cells(text: str) -> list[tuple[str, _Cell]]:
    return [pair for module in json.loads(text)["modules"].values() for pair in module["cells"].items()]
