"""Netlists in the cells of the small library whose paths are worked out by hand."""

from cdma.synth.tools.netlist import Netlist

CHAIN = Netlist(
    name="chain",
    # A register, an inverter, a NAND gate with a port, and a register whose output is a port.
    cells={"a": ("DFF", {"CK": 2, "D": 3, "Q": 4}), "i": ("INV", {"A": 4, "Y": 5}),
           "n": ("NAND2", {"A": 5, "B": 6, "Y": 7}), "b": ("DFF", {"CK": 2, "D": 7, "Q": 8})},
    inputs={"clk": 2, "d": 3, "x": 6}, outputs={"q": 8},
    names={2: "clk", 3: "d", 4: "first", 5: "not_first", 6: "x", 7: "next", 8: "q"})
