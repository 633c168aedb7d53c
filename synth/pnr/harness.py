"""Registers around a design, so that it can be placed and routed on a part with fewer pins than it has ports.

Inputs come from a scan chain. Outputs go into registers, which a second chain folds into one bit, so that no part of
the design is dropped. Each path of the design, from its inputs and to its outputs too, is then one from register to
register, the clock is on the part's clock network, and pins add no delay. In nextpnr's out-of-context mode the clock
would have to go through the fabric. A link's own clock is the same one here.

A module inside the design that is not to be placed with it has such chains in its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cdma.hdl.generate.interfaces import Port

__all__ = ["CHAINS", "CLOCK", "INSTANCE", "Harness", "harness", "stand_in"]

INSTANCE = "design"
"""Name of the design inside the harness."""

CHAINS = ("scan_chain", "fold_chain")
"""Names of the chains, whose registers have the names of the ports that they stand for."""

CLOCK = "aclk"
"""The clock's port, of design and harness."""


@dataclass(frozen=True)
class Harness:
    """Verilog around or inside a design, and the resources that are not the design's.

    Parameters
    ----------
    name : str
        The module.
    verilog : str
        Its text, without the design.
    flip_flops, luts : int
        Its own.
    """

    name: str
    verilog: str
    flip_flops: int
    luts: int


def harness(top: str, ports: Sequence[Port], clock: str = CLOCK) -> Harness:
    """The harness for a design.

    Parameters
    ----------
    top : str
        The design's top module.
    ports : sequence of Port
        Its ports.
    clock : str
        The port for the clock.

    Raises
    ------
    ValueError
        If there is no such clock, or no input or output besides.
    """
    chains = _Chains(top, ports, clock)
    name = f"{chains.name}_harness"
    pins = [*(f".{each}({clock})" for each in chains.clocks), *chains.pins("scan", chains.inputs),
            *chains.pins("seen", chains.outputs)]
    verilog = f"""\
{chains.scan(chains.inputs)}
{chains.fold(chains.outputs)}
module {name} (input {clock}, input scan_in, output scan_out);
  wire [{_width(chains.inputs) - 1}:0] scan;
  wire [{_width(chains.outputs) - 1}:0] seen;
  {chains.instances("scan_in", "scan_out")}
  {_named(top)} {INSTANCE} (
    {("," + chr(10) + "    ").join(pins)}
  );
endmodule
"""
    return Harness(name, verilog, _width(chains.inputs) + 2 * _width(chains.outputs), _width(chains.outputs) - 1)


def stand_in(module: str, ports: Sequence[Port], clock: str) -> Harness:
    """Replacement of a module: captures and folds its inputs, and drives its outputs from a scan chain.

    Parameters
    ----------
    module : str
        The module's name.
    ports : sequence of Port
        Its ports.
    clock : str
        The port for the clock.

    Raises
    ------
    ValueError
        As :func:`harness`.
    """
    chains = _Chains(module, ports, clock)
    taken, given = ([_named(port.name) for port in reversed(of)] for of in (chains.inputs, chains.outputs))
    verilog = f"""\
{chains.scan(chains.outputs)}
{chains.fold(chains.inputs)}
module {_named(module)} ({", ".join(_named(port.name) for port in ports)});
  input {", ".join(chains.clocks)};
  {_declared("input", chains.inputs)};
  {_declared("output", chains.outputs)};
  wire [{_width(chains.outputs) - 1}:0] scan;
  wire [{_width(chains.inputs) - 1}:0] seen = {{{", ".join(taken)}}};
  wire folded;
  assign {{{", ".join(given)}}} = scan;
  {chains.instances("folded", "folded")}
endmodule
"""
    return Harness(module, verilog, _width(chains.outputs) + 2 * _width(chains.inputs), _width(chains.inputs) - 1)


class _Chains:
    """The chains for the ports of a module, as Verilog.

    Each stays a module: its registers would otherwise be merged with equal ones of the design.
    """

    def __init__(self, module: str, ports: Sequence[Port], clock: str) -> None:
        self.clocks = [port.name for port in ports if port.name in (clock, f"link_{clock}")]
        self.inputs = [port for port in ports if port.direction == "input" and port.name not in self.clocks]
        self.outputs = [port for port in ports if port.direction == "output"]
        if clock not in self.clocks or not self.inputs or not self.outputs:
            raise ValueError(f"{module} needs a clock {clock}, an input and an output to be placed and routed, not the "
                             f"ports {', '.join(port.name for port in ports)}")
        self.name = re.sub(r"\W", "_", module)
        self._clock = clock

    def scan(self, ports: Sequence[Port]) -> str:
        """Shifts values into ports, one bit per cycle."""
        bits = ", ".join(_named(port.name) for port in reversed(ports))
        return f"""\
(* keep_hierarchy *)
module {self.name}_scan (input {self._clock}, input scan_in, output [{_width(ports) - 1}:0] scan);
  {_declared("reg", ports)};
  assign scan = {{{bits}}};
  always @(posedge {self._clock}) {{{bits}}} <= {{{bits}, scan_in}};
endmodule
"""

    def fold(self, ports: Sequence[Port]) -> str:
        """Captures the values of ports, and folds them into one bit."""
        bits, last = ", ".join(_named(port.name) for port in reversed(ports)), _width(ports) - 1
        return f"""\
(* keep_hierarchy *)
module {self.name}_fold (input {self._clock}, input [{last}:0] seen, output scan_out);
  {_declared("reg", ports)};
  reg [{last}:0] scan_fold;
  assign scan_out = scan_fold[{last}];
  always @(posedge {self._clock}) begin
    {{{bits}}} <= seen;
    scan_fold <= {{{bits}}} ^ {{scan_fold, 1'b0}};
  end
endmodule
"""

    def instances(self, scan_in: str, scan_out: str) -> str:
        """Both chains, between the wires ``scan`` and ``seen`` of the module that they are in."""
        clock, (scan, fold) = f".{self._clock}({self._clock})", CHAINS
        return (f"{self.name}_scan {scan} ({clock}, .scan_in({scan_in}), .scan(scan));\n"
                f"  {self.name}_fold {fold} ({clock}, .seen(seen), .scan_out({scan_out}));")

    @staticmethod
    def pins(wire: str, ports: Sequence[Port]) -> list[str]:
        """Connections of ports to the bits of a wire."""
        pins, first = [], 0
        for port in ports:
            pins.append(f".{_named(port.name)}({wire}[{first + port.width - 1}:{first}])")
            first += port.width
        return pins


def _width(ports: Sequence[Port]) -> int:
    return sum(port.width for port in ports)


def _declared(kind: str, ports: Sequence[Port]) -> str:
    return "; ".join(f"{kind} [{port.width - 1}:0] {_named(port.name)}" for port in ports)


def _named(name: str) -> str:
    """A name escaped for Verilog, so that any characters and keywords are allowed."""
    return f"\\{name} "
