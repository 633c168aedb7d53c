"""Writes Verilog-2005 that has the same meaning in every simulator and synthesis tool."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil
from amaranth.hdl import Fragment, Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from cdma.hdl.common.modules import SharedModule
from cdma.hdl.common.sram import SHALLOW_ROWS

__all__ = ["convert", "mark_memories", "mark_ports", "verilog_text"]

_SCRIPT = (
    # A memory that is written starts without contents; only a ROM keeps its words.
    "delete t:$memwr_v2 %m t:$meminit_v2 %i",
    # Processes become multiplexers.
    "proc -norom",
    "memory_collect",
    # Registers start without a value.
    "attrmap -remove init",
    *(f"attrmap {where} -remove {name}" for where in ("", "-modattr")
      for name in ("full_case", "generator", "top", "src", "amaranth.hierarchy", "amaranth.decoding")),
    "write_verilog",
)
_FUNCTION = re.compile(r"^  function \S+ (_\d+_);.*?^  endfunction\n  assign [^;]*? = \1\(", re.MULTILINE | re.DOTALL)
_MEMORY = re.compile(r"^( *)(?=memory width (\d+) size (\d+) )", re.MULTILINE)
_PORT = re.compile(r"^  wire (?:width \d+ )?(?:input|output) \d+ +\\(\S+)$", re.MULTILINE)
_EMPTY = re.compile(r"^ *(wire|reg) \[-1:0\] \S+ ?;\n", re.MULTILINE)

_STYLE = 'attribute \\ram_style "distributed"\n'
_LARGE_BITS = 4096      # of a memory; above, it should be in block RAM


def mark_memories(netlist: str) -> str:
    """RTLIL whose memories have the attributes that help synthesis; :func:`verilog_text` does this for every design.

    ``no_rw_check``: it does not matter what is read of a row in the cycle in which it is written; Yosys then builds
    nothing for it. ``ram_style``: above 4096 bits, an FPGA shall use block RAM, unless the design says otherwise. Up to
    32 rows, only Lattice's tools are asked, by ``syn_ramstyle``: 256 bits wide, these take 1,200 LUTs of an ECP5, but
    152 of a Xilinx part, where they are also faster than block RAM. Yosys reads both attributes.
    """
    def mark(memory: re.Match[str]) -> str:
        width, rows = int(memory[2]), int(memory[3])
        style = 'ram_style "block"' if rows > SHALLOW_ROWS else 'syn_ramstyle "block_ram"'
        large = width * rows > _LARGE_BITS and not netlist.endswith(_STYLE, 0, memory.start())
        return f"{memory[1]}attribute \\no_rw_check 1\n{memory[1]}" + f"attribute \\{style}\n{memory[1]}" * large

    return _MEMORY.sub(mark, netlist)


def mark_ports(netlist: str, module: str, attributes: Mapping[str, Mapping[str, str]]) -> str:
    """RTLIL in which the ports of a module have these attributes.

    An attribute of an Amaranth signal would be on every signal that it is connected to, in every module.
    """
    def mark(wire: re.Match[str]) -> str:
        return "".join(f'  attribute \\{key} "{value}"\n'
                       for key, value in attributes.get(wire[1], {}).items()) + wire[0]

    begin = netlist.index(f"\nmodule \\{module}\n")
    end = netlist.index("\nend\n", begin)
    return netlist[:begin] + _PORT.sub(mark, netlist[begin:end]) + netlist[end:]


def verilog_text(top: wiring.Component | Fragment, name: str,
                 ports: Mapping[str, tuple[Value, PortDirection]] | None = None,
                 shared: Iterable[SharedModule] = (),
                 attributes: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """The Verilog of a design: registers, memories and continuous assignments.

    Amaranth's own writer gives registers initial values and puts logic into ``always @*``. Simulators treat both
    differently. An ``always @*`` runs when an input changes, but a register that starts with its reset value does not
    change during reset. In an event-driven simulator under the rules of SystemVerilog, the logic that depends on it
    therefore never runs and stays X. Every simulator evaluates a continuous assignment at time 0. Without initial
    values, a simulation shows whether anything depends on more than the reset. ROMs keep their contents.

    No design depends on what a memory shows of a row that is written in the same cycle; memories say so in the
    attribute ``no_rw_check``. Without it, Yosys has to give block RAMs registers and multiplexers for the old value.
    Large memories ask for block RAM, as :func:`mark_memories` says.

    The text depends only on the design and the tool versions: it has no path and no date, and the Yosys is always the
    one that the project pins.

    Parameters
    ----------
    top : wiring.Component or Fragment
        The design.
    name : str
        Name of the top module.
    ports : mapping, optional
        The top's ports by name: value and direction. When not given, the members of a component by Amaranth's names,
        and ``clk`` and ``rst``.
    shared : iterable of SharedModule
        Modules that the design instantiates.
    attributes : mapping, optional
        Attributes of the top's ports, by the port's name: value by name.

    Returns
    -------
    str
        Verilog-2005, all modules.

    Source: IEEE 1364-2005, 5.6.1 (continuous assignments are evaluated at time zero); IEEE 1800-2012, 6.8 (initial
    values of variables are set before any process starts, without an event).
    """
    netlist = mark_ports(rtlil.convert(top, name=name, ports=ports, emit_src=False), name, attributes or {})
    netlist += "".join(rtlil.convert(each.design, name=each.name, ports=each.ports, emit_src=False) for each in shared)
    return convert(netlist)


def convert(netlist: str) -> str:
    """The Verilog of a netlist in Amaranth's RTLIL, as :func:`verilog_text` describes it."""
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"
    script = "\n".join([f"read_rtlil <<rtlil\n{mark_memories(netlist)}\nrtlil", *_SCRIPT])
    text = find_yosys(lambda version: version >= (0, 40)).run(["-q", "-"], script, ignore_warnings=True)
    # Yosys numbers functions and signals alike, and Verilator warns if a function has the name of a signal further up.
    text = _FUNCTION.sub(lambda function: function[0].replace(function[1], f"select{function[1]}"), text)
    # Yosys declares signals of width zero as [-1:0], which is two bits; they are never used.
    return _EMPTY.sub("", text)
