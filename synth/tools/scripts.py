"""Yosys scripts: from Verilog to gates of the generic table, cells of a library, or primitives of an FPGA.

The steps are the same for the generic table and for libraries: optimise, replace enables that registers share by clock
gates, map registers, map logic with abc. Recipes differ in what abc optimises; ``plain`` has no clock gates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cdma.synth.cells.fpga import FPGA
from cdma.synth.cells.generic import CLOCK_GATE, FLIP_FLOP, LATCH, genlib
from cdma.synth.cells.library import ClockGate, Library

__all__ = ["DEFAULT_RECIPE", "GATED_AT_LEAST", "RECIPES", "TARGETS", "Recipe", "fpga_script", "gates_script", "inputs",
           "library_script", "output_load"]

TARGETS = ("generic", "liberty", *FPGA)
"""Targets of mapping."""


@dataclass(frozen=True)
class Recipe:
    """How logic is mapped.

    Parameters
    ----------
    about : str
        What it is for.
    logic : str
        Commands of abc before it buffers and sizes; empty for Yosys' own script for abc.
    sizes : str
        Commands of abc that buffer nets and size the cells of a library.
    synth : str
        Options of Yosys' ``synth``.
    gated : bool
        Whether registers that share an enable get a clock gate.
    """

    about: str
    logic: str
    sizes: str
    synth: str = ""
    gated: bool = True


_STRUCTURE = "strash\nifraig\nscorr\n&get -n\n&syn4\n&put\n"

RECIPES: dict[str, Recipe] = {
    "fast": Recipe("short paths", _STRUCTURE + "dch -f\nmap -B 0.95\n",
                   "topo\nbuffer -c -N 8\ntopo\n" + 3 * "upsize\ndnsize\n",
                   # Sums that share a chain of full adders wait for each other.
                   synth=" -noalumacc"),
    "small": Recipe("few gates", _STRUCTURE + "dc2\ndch -f\namap -m\n", "topo\nbuffer -c\ntopo\nupsize\ndnsize\n"),
    "plain": Recipe("comparison: Yosys' own scripts, no clock gates", "", "", gated=False),
}
"""How logic can be mapped, by name. ``small`` takes about a tenth less area than ``fast``; the paths of ``fast`` are a
quarter to a third shorter. ``fast`` splits nets at eight readers: with six the buffers cost more than they gain, with
ten the long paths of a decompressor have too large loads. ``plain`` is what ``synth``, ``dfflibmap`` and ``abc
-liberty`` do without further options, as designs of others are usually measured: it is there to compare with them."""

DEFAULT_RECIPE = next(iter(RECIPES))
"""The recipe if none is named."""

GATED_AT_LEAST = 4
"""Fewest registers of a clock gate: with fewer, the multiplexers it saves are smaller than the gate."""

_STAT = "opt_clean -purge\ntee -o stat.json stat -json\n"

# OpenSTA reads no assignments to several bits.
_NETLIST = ("splitnets -ports\nrename -enumerate\nwrite_verilog -noattr -noexpr -nohex -simple-lhs net.v\n"
            "write_json net.json\n")

# Registers with a reset and an enable take the reset only while enabled afterwards: a clock gate may then stand for
# the enable, which now opens on reset too.
_ENABLES = ("dfflegalize -cell $_DFF_P_ 01 -cell $_DFFE_PP_ 01 -cell $_SDFF_PP0_ 01 -cell $_SDFF_PP1_ 01 "
            f"-cell $_SDFFCE_PP0P_ 01 -cell $_SDFFCE_PP1P_ 01 -cell $_DLATCH_P_ 01 -mince {GATED_AT_LEAST}\n")


Memories = Sequence[tuple[str, int, int]]
"""Memories that are macros: the name of the cell, words, bits of each."""


def _front(top: str, flat: bool, recipe: str, memories: Memories) -> str:
    command = f"synth -top {top}{' -flatten' if flat else ''}{_recipe(recipe).synth}"
    read = f"read_verilog design.v\nhierarchy -check -top {top}\n"
    if not memories:
        return f"{read}{command}\n"
    macros = "".join(f"chtype -set {cell} t:$mem_v2 r:SIZE={words} %i r:WIDTH={width} %i\n"
                     for cell, words, width in memories)
    return f"{read}{command} -run begin:fine\n{macros}{command} -run fine:check\n"


def _gated(recipe: str, gate: ClockGate | None) -> str:
    if not _recipe(recipe).gated:
        return "opt\n"
    if gate is None:
        return "opt -full\n"
    ties = "".join(f" -tie_lo {pin}" for pin in gate.test)
    return (f"{_ENABLES}opt -full\nclockgate -pos {gate.name} {gate.enable}:{gate.clock}:{gate.out}{ties} "
            # Optimisation may leave gates of words where a register was found to hold its value.
            f"-min_net_size {GATED_AT_LEAST}\nsimplemap t:$mux t:$or\n")


def gates_script(top: str, flat: bool, recipe: str, memories: Memories = ()) -> str:
    """Maps ``design.v`` to the generic table; leaves ``stat.json``.

    Parameters
    ----------
    top : str
        The top module.
    flat : bool
        Whether to flatten the design first, as an implementation would.
    recipe : str
        Which of :data:`RECIPES`.
    memories : sequence
        Memories that are macros; each becomes a cell of its own, all others registers.

    Raises
    ------
    ValueError
        If there is no such recipe.
    """
    return (_front(top, flat, recipe, memories) + _gated(recipe, ClockGate(CLOCK_GATE, "CE", "CLK", "GCLK", ()))
            + "dfflegalize -cell $_DFF_P_ 01 -cell $_DLATCH_P_ 01\nopt -nodffe -nosdff\n"
            # abc would map the logic of every gated clock alone if it knew what these are.
            + f"chtype -set {FLIP_FLOP} t:$_DFF_P_\nchtype -set {LATCH} t:$_DLATCH_P_\n"
            + f"abc -genlib gates.genlib{_abc_script(recipe)}\n" + _STAT)


def library_script(top: str, flat: bool, recipe: str, library: Library, netlist: bool = False,
                   memories: Memories = (), outside: Sequence[str] = ()) -> str:
    """Maps ``design.v`` to a cell library; leaves ``stat.json``, and the netlist as ``net.v`` and ``net.json``.

    Parameters
    ----------
    top : str
        The top module.
    flat : bool
        Whether to flatten the design first, as an implementation would.
    recipe : str
        Which of :data:`RECIPES`.
    library : Library
        The cells.
    netlist : bool
        Whether to write the netlist; both files have the same names.
    memories : sequence
        As for :func:`gates_script`; in the netlist each is taken apart into cells for its pins, which ``macros.v``
        declares and ``macros_map.v`` puts there.
    outside : sequence of str
        Black boxes; in the netlist their pins are ports.

    Raises
    ------
    ValueError
        If there is no such recipe.
    """
    avoided = "".join(f" -dont_use {name}" for name in library.dont_use)
    ties = library.ties
    script = _front(top, flat, recipe, memories) + _gated(recipe, library.clock_gate)
    script += f"opt_clean -purge\ndfflibmap -liberty cells.lib{avoided}\nopt\n"
    script += f"abc -liberty cells.lib -constr constraints{_abc_script(recipe)}{avoided}\n"
    if ties:
        (high, high_pin), (low, low_pin) = ties
        script += f"hilomap -singleton -hicell {high} {high_pin} -locell {low} {low_pin}\n"
    if not netlist:
        return script + _STAT
    if memories:
        script += "read_verilog -lib macros.v\ntechmap -map macros_map.v " + " ".join(
            f"t:{cell}" for cell, *_ in memories) + "\n"
    return script + _STAT + "".join(f"expose -evert t:{name}\n" for name in outside) + _NETLIST


_FEW_LEVELS = "&scorr;&sweep;&dc2;&st;&if,-g,-K,6;&dch,-f,-r;&ps;&if,{W},{D},{R};&mfs"
"""ABC's own script for LUTs, with sums of products balanced for few levels before."""


def fpga_script(top: str, flat: bool, family: str, netlist: bool = False, memories: bool = False,
                delays: bool = False) -> str:
    """Maps ``design.v`` to an FPGA family; leaves ``stat.json``, the netlist as ``net.json`` if it is wanted; and with
    ``memories``, of a flattened design, its memories as ``memories.json``, and the RAMs that they became as
    ``rams.json``. With ``delays``, for few levels by the delays of LUTs in ``luts.v``: those of Yosys are of a part of
    7-series, in which the inputs of a LUT differ by more than a wire takes."""
    fpga = FPGA[family]
    command = fpga.command.format(top=top) + (fpga.flat if flat else fpga.tree)
    stages = ["begin:map_luts"]
    if memories:
        rams = " ".join(f"t:{cell}" for cell in (*fpga.block_rams, *fpga.distributed_rams))
        stages = [f"begin:{fpga.memories}\njson -o memories.json t:$mem_v2",
                  f"{fpga.memories}:map_ffram\njson -o rams.json {rams}", "map_ffram:map_luts"]
    # abc9 gives bit i of a wire w the name w[i], which registers that were split into bits may have already: Yosys
    # then stops with "Assert `count_id(wire->name) == 0' failed". Wires of one bit each cannot collide.
    # Shallow memories ask Lattice's tools alone for block RAM; Yosys reads that for any family.
    unasked = "setattr -unset syn_ramstyle\n" if "synth_xilinx" in command else ""
    mapper = f'read_verilog -lib -specify -overwrite luts.v\nscratchpad -set abc9.script "+{_FEW_LEVELS}"\n' * delays
    return "".join(["read_verilog design.v\n", unasked, *(f"{command} -run {stage}\n" for stage in stages),
                    f"splitnets\n{mapper}{command} -run map_luts:\n{_STAT}", "write_json net.json\n" * netlist])


def output_load(library: Library) -> float:
    """Assumed load of a register or an output while logic is mapped, in fF: three of the smallest buffers."""
    return 3 * library.driver.inputs[0].capacitance


def inputs(verilog: str, recipe: str, library: Library | None) -> dict[str, str]:
    """The files that the scripts read, by name.

    Raises
    ------
    ValueError
        If there is no such recipe.
    """
    chosen = _recipe(recipe)
    files = {"design.v": verilog, "abc.script": chosen.logic}
    if library is None:
        return files | {"gates.genlib": genlib()}
    return files | {
        "abc.script": chosen.logic + chosen.sizes,
        "cells.lib": library.text,
        "constraints": f"set_driving_cell {library.driver.name}\nset_load {output_load(library):.4f}\n",
    }


def _abc_script(recipe: str) -> str:
    return " -script abc.script" if _recipe(recipe).logic else ""


def _recipe(name: str) -> Recipe:
    if name not in RECIPES:
        raise ValueError(f"recipe must be one of {', '.join(RECIPES)}, not {name!r}")
    return RECIPES[name]
