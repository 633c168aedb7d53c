"""Cells without a library: a small table of gate sizes, and what counts as a LUT or a flip-flop on an FPGA.

Sizes are in gate equivalents (GE): the area of a two-input NAND gate is 1. A static CMOS cell is a row of transistor
pairs, one gate column each, and one column more to keep it apart from its neighbour; a NAND gate has two pairs and so
is three columns wide. The size of every other cell follows from the pairs of its usual circuit, and one more column for
each break in its row of diffusion. Wires, drive strengths and buffers are not counted: a cell library tells more.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CLOCK_GATE", "FLIP_FLOP", "FPGA", "GATES", "LATCH", "SEQUENTIAL", "Fpga", "Gate", "gate_size", "genlib"]

_NAND2_COLUMNS = 3


@dataclass(frozen=True)
class Gate:
    """A cell of the generic target.

    Parameters
    ----------
    pairs : int
        Transistor pairs of its usual static CMOS circuit.
    function : str
        What its output ``Y`` is, in the genlib format's notation; empty for what holds a state.
    about : str
        The circuit.
    breaks : int
        Breaks in its row of diffusion.
    """

    pairs: int
    function: str
    about: str
    breaks: int = 0

    @property
    def size(self) -> float:
        """Its area in GE."""
        return (self.pairs + 1 + self.breaks) / _NAND2_COLUMNS


GATES: dict[str, Gate] = {
    "INV": Gate(1, "!A", "inverter"),
    "NAND2": Gate(2, "!(A*B)", "one complementary stage, a pair per input"),
    "NAND3": Gate(3, "!(A*B*C)", "one complementary stage"),
    "NAND4": Gate(4, "!(A*B*C*D)", "one complementary stage"),
    "NOR2": Gate(2, "!(A+B)", "one complementary stage"),
    "NOR3": Gate(3, "!(A+B+C)", "one complementary stage"),
    "NOR4": Gate(4, "!(A+B+C+D)", "one complementary stage"),
    "AND2": Gate(3, "A*B", "NAND and inverter"),
    "AND3": Gate(4, "A*B*C", "NAND and inverter"),
    "OR2": Gate(3, "A+B", "NOR and inverter"),
    "OR3": Gate(4, "A+B+C", "NOR and inverter"),
    "AOI21": Gate(3, "!(A*B+C)", "one complementary stage"),
    "OAI21": Gate(3, "!((A+B)*C)", "one complementary stage"),
    "AOI22": Gate(4, "!(A*B+C*D)", "one complementary stage"),
    "OAI22": Gate(4, "!((A+B)*(C+D))", "one complementary stage"),
    "AOI211": Gate(4, "!(A*B+C+D)", "one complementary stage"),
    "OAI211": Gate(4, "!((A+B)*C*D)", "one complementary stage"),
    "AOI221": Gate(5, "!(A*B+C*D+E)", "one complementary stage"),
    "OAI221": Gate(5, "!((A+B)*(C+D)*E)", "one complementary stage"),
    "AOI222": Gate(6, "!(A*B+C*D+E*F)", "one complementary stage"),
    "OAI222": Gate(6, "!((A+B)*(C+D)*(E+F))", "one complementary stage"),
    "XOR2": Gate(5, "A*!B+!A*B", "NOR feeding an AOI21"),
    "XNOR2": Gate(5, "A*B+!A*!B", "NAND feeding an OAI21"),
    "MUX2": Gate(6, "A*!S+B*S", "two transmission gates between inverters"),
}
"""The gates that logic is mapped to; each name says its function in the usual way."""

CLOCK_GATE = "CLOCK_GATE"
"""The generic clock-gating cell, with the ports CE, CLK and GCLK."""

FLIP_FLOP = "FLIP_FLOP"
"""The generic flip-flop: no reset, no enable, one output."""

LATCH = "LATCH"
"""The generic latch."""

SEQUENTIAL: dict[str, Gate] = {
    FLIP_FLOP: Gate(12, "", "two latches of four pairs, two clock inverters, an inverter at each end", breaks=3),
    LATCH: Gate(8, "", "transmission gate, inverter, clocked feedback, two clock and two data inverters", breaks=1),
    CLOCK_GATE: Gate(10, "", "a latch without input inverter, and an AND gate", breaks=2),
}
"""What holds a state."""


def gate_size(name: str) -> float:
    """Area in GE of a cell of the generic target.

    Raises
    ------
    KeyError
        If there is no such cell.
    """
    return (GATES.get(name) or SEQUENTIAL[name]).size


def genlib() -> str:
    """The gates in the genlib format, for abc: the same table drives mapping and counting.

    A complementary stage counts as one unit of delay, what needs a second stage as two.
    """
    lines = ["GATE _const0_ 0 Y=CONST0;", "GATE _const1_ 0 Y=CONST1;"]
    for name, gate in GATES.items():
        inverting = gate.function.startswith("!")
        phase = "INV" if inverting else "UNKNOWN" if "!" in gate.function else "NONINV"
        delay = 1 if inverting else 2
        lines.append(f"GATE {name} {gate.size:.4f} Y={gate.function}; PIN * {phase} 1 999 {delay} 0 {delay} 0")
    return "\n".join(lines) + "\n"


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


FPGA: dict[str, Fpga] = {
    "ecp5": Fpga(
        command="synth_ecp5 -top {top}", flat="", tree=" -noflatten",
        # A carry cell is two LUTs; a 16 x 4 RAM takes the LUTs of two slices and the write logic of a third.
        luts={"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6},
        flip_flops=("TRELLIS_FF",),
        memories="map_ram", block_rams=("DP16KD", "PDPW16KD"), distributed_rams=("TRELLIS_DPR16X4",)),
    "xilinx7": Fpga(
        command="synth_xilinx -family xc7 -noiopad -noclkbuf -top {top}", flat=" -flatten", tree="",
        # Shift registers and small RAMs live in LUTs; carry chains and wide multiplexers stand beside them.
        luts={"INV": 1, "LUT1": 1, "LUT2": 1, "LUT3": 1, "LUT4": 1, "LUT5": 1, "LUT6": 1, "SRL16E": 1, "SRLC32E": 1,
              "RAM32X1S": 1, "RAM64X1S": 1,
              "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM32M": 4, "RAM64M": 4},
        flip_flops=("FDRE", "FDSE", "FDCE", "FDPE", "FDRE_1", "FDSE_1", "FDCE_1", "FDPE_1"),
        memories="map_memory", block_rams=("RAMB36E1", "RAMB18E1"),
        distributed_rams=("RAM32X1S", "RAM64X1S", "RAM32X1D", "RAM64X1D", "RAM128X1D", "RAM32M", "RAM64M")),
}
"""The FPGA families by target name."""
