"""Cells without a library: a small table of gate sizes, and areas at 45 nm.

Sizes are in gate equivalents (GE): the area of a two-input NAND gate is 1. A static CMOS cell is a row of transistor
pairs, one gate column each, and one column more to keep it apart from its neighbour; a NAND gate has two pairs and so
is three columns wide. The size of every other cell follows from the pairs of its usual circuit, and one more column for
each break in its row of diffusion. Wires, drive strengths and buffers are not counted: a cell library tells more.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BIT_UM2", "CLOCK_GATE", "FLIP_FLOP", "GATES", "LATCH", "NAND2_UM2", "SEQUENTIAL", "Gate", "gate_size",
           "genlib"]

_NAND2_COLUMNS = 3

BIT_UM2 = 0.72
"""Area of a bit in a memory macro with a read and a write port, at 45 nm, decoders and sense amplifiers included. A
single-port macro of some kilobytes takes 0.55 um2 a bit there; the cell with ports of its own for reading is 30 %
larger (8 instead of 6 transistors)."""

NAND2_UM2 = 0.798
"""A two-input NAND gate in open 45 nm cells: the area of a gate equivalent without a library."""


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
"""The gates that logic is mapped to, with the usual names of their functions."""

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
"""Cells that hold a state."""


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
