"""Registers around a design so that it can be placed and routed on a part that has fewer pins than it has ports.

Inputs come from a scan chain. Outputs go into registers, which a second chain folds into one bit, so that no part of
the design is dropped. Each path of the design, from its inputs and to its outputs too, is then one from register to
register, the clock is on the part's clock network, and no pin's delay counts. Out of context, as nextpnr calls it, the
clock would have to go through the fabric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["CLOCK", "INSTANCE", "Harness", "harness"]

INSTANCE = "design"
"""Name of the design inside the harness."""

CLOCK = "aclk"
"""The clock's port, of design and harness."""


@dataclass(frozen=True)
class Harness:
    """Verilog around a design, and what of the result is not the design's.

    Parameters
    ----------
    name : str
        The top module.
    verilog : str
        Its text, without the design.
    flip_flops, luts : int
        Its own.
    """

    name: str
    verilog: str
    flip_flops: int
    luts: int


def harness(top: str, ports: Sequence[dict[str, Any]], clock: str = CLOCK) -> Harness:
    """The harness for a design.

    Parameters
    ----------
    top : str
        The design's top module.
    ports : sequence of dict
        Its ports: ``name``, ``direction`` (``input`` or ``output``) and ``width``.
    clock : str
        The port for the clock.

    Raises
    ------
    ValueError
        If there is no such clock, or no input or output besides.
    """
    inputs = [port for port in ports if port["direction"] == "input" and port["name"] != clock]
    outputs = [port for port in ports if port["direction"] == "output"]
    if len(ports) == len(inputs) + len(outputs) or not inputs or not outputs:
        raise ValueError(f"{top} needs a clock {clock}, an input and an output to be placed and routed, not the ports "
                         f"{', '.join(port['name'] for port in ports)}")
    name = f"{top}_harness"
    pins = [f".{clock}({clock})"]
    widths = []
    for of, bits in ((inputs, "scan"), (outputs, "seen")):
        first = 0
        for port in of:
            pins.append(f".{port['name']}({bits}[{first + port['width'] - 1}:{first}])")
            first += port["width"]
        widths.append(first)
    into, out = widths
    chains = f"{top}_scan", f"{top}_fold"
    # Each chain stays a module: its registers would otherwise be merged with equal ones of the design.
    verilog = f"""\
(* keep_hierarchy *)
module {chains[0]} (input {clock}, input scan_in, output reg [{into - 1}:0] scan);
  always @(posedge {clock}) scan <= {{scan, scan_in}};
endmodule

(* keep_hierarchy *)
module {chains[1]} (input {clock}, input [{out - 1}:0] seen, output scan_out);
  reg [{out - 1}:0] capture, fold;
  assign scan_out = fold[{out - 1}];
  always @(posedge {clock}) begin
    capture <= seen;
    fold <= capture ^ {{fold, 1'b0}};
  end
endmodule

module {name} (input {clock}, input scan_in, output scan_out);
  wire [{into - 1}:0] scan;
  wire [{out - 1}:0] seen;
  {chains[0]} inputs (.{clock}({clock}), .scan_in(scan_in), .scan(scan));
  {chains[1]} outputs (.{clock}({clock}), .seen(seen), .scan_out(scan_out));
  {top} {INSTANCE} (
    {("," + chr(10) + "    ").join(pins)}
  );
endmodule
"""
    return Harness(name, verilog, into + 2 * out, out - 1)
