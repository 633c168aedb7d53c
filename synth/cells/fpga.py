"""FPGA families: the command that maps to each, and its primitives that are LUTs, flip-flops and memories."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FPGA", "Fpga"]


@dataclass(frozen=True)
class Fpga:
    """An FPGA family that Yosys maps to.

    Parameters
    ----------
    command : str
        The Yosys command, with ``{top}``.
    flat, tree : str
        Its options for a flattened run and for one that keeps the hierarchy.
    luts : dict of str to int
        Look-up tables that a primitive takes.
    flip_flops : tuple of str
        Its flip-flops.
    memories : str
        The step of the command that maps memories.
    block_rams, distributed_rams : tuple of str
        Its memories with blocks of their own, and those in LUTs.
    """

    command: str
    flat: str
    tree: str
    luts: dict[str, int]
    flip_flops: tuple[str, ...]
    memories: str
    block_rams: tuple[str, ...]
    distributed_rams: tuple[str, ...]


# Shift registers and small RAMs are built of LUTs; carry chains and wide multiplexers are separate primitives.
_XILINX_LUTS = {
    "INV": 1, "LUT1": 1, "LUT2": 1, "LUT3": 1, "LUT4": 1, "LUT5": 1, "LUT6": 1, "SRL16E": 1, "SRLC32E": 1,
    "RAM32X1S": 1, "RAM64X1S": 1, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM32M": 4, "RAM64M": 4,
    "RAM32M16": 8, "RAM64M8": 8}

_XILINX_RAMS = tuple(cell for cell in _XILINX_LUTS if cell.startswith("RAM"))

_XILINX_FLIP_FLOPS = ("FDRE", "FDSE", "FDCE", "FDPE", "FDRE_1", "FDSE_1", "FDCE_1", "FDPE_1")

FPGA: dict[str, Fpga] = {
    "ecp5": Fpga(
        # Without wide multiplexers, which Yosys takes for functions of five inputs and more that LUTs alone do smaller.
        command="synth_ecp5 -nowidelut -top {top}", flat="", tree=" -noflatten",
        # A carry cell has two LUTs; a 16 x 4 RAM uses the LUTs of two slices and the write logic of a third.
        luts={"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6},
        flip_flops=("TRELLIS_FF",),
        memories="map_ram", block_rams=("DP16KD", "PDPW16KD"), distributed_rams=("TRELLIS_DPR16X4",)),
    "xilinx7": Fpga(
        command="synth_xilinx -family xc7 -noiopad -noclkbuf -top {top}", flat=" -flatten", tree="",
        luts=_XILINX_LUTS, flip_flops=_XILINX_FLIP_FLOPS, memories="map_memory",
        block_rams=("RAMB36E1", "RAMB18E1"), distributed_rams=_XILINX_RAMS),
    "ultrascale+": Fpga(
        command="synth_xilinx -family xcup -noiopad -noclkbuf -top {top}", flat=" -flatten", tree="",
        luts=_XILINX_LUTS, flip_flops=_XILINX_FLIP_FLOPS, memories="map_memory",
        block_rams=("RAMB36E2", "RAMB18E2", "URAM288"), distributed_rams=_XILINX_RAMS),
}
"""The FPGA families by target name."""
