"""Files for tools: a FuseSoC core, a file list, and timing constraints."""

from __future__ import annotations

from importlib.metadata import version

from hdl.generate.verilog import Verilog

__all__ = ["constraints", "core_file", "file_list"]


def core_file(design: Verilog) -> str:
    """A FuseSoC core (CAPI 2, ``flow:`` form) with a lint target; named ``cdma-rtl:ip:NAME``."""
    name = design.name
    return f"""\
CAPI=2:
name: cdma-rtl:ip:{name}:{version("cdma-rtl")}
description: "{design.config.about or name}"

filesets:
  rtl:
    files: [{", ".join(design.sources)}]
    file_type: verilogSource
  constraints:
    files:
      - {name}.sdc
    file_type: SDC
  waivers:
    files:
      - {name}.vlt
    file_type: vlt

targets:
  default: &default
    filesets: [rtl, constraints]
    toplevel: {name}
  lint:
    <<: *default
    description: Verilator's lint rules, with the waivers that are explained in {name}.vlt
    filesets: [waivers, rtl]
    flow: lint
    flow_options:
      tool: verilator
      verilator_options: [-Wall]
"""


def file_list(design: Verilog) -> str:
    """A command file for simulators and synthesisers (``-f``): the sources, relative to the folder they are in."""
    return "".join(f"{name}\n" for name in design.sources)


def constraints(design: Verilog, mhz: float = 500.0) -> str:
    """Timing constraints (SDC): the clock, and input and output delays of a third of its period.

    Parameters
    ----------
    mhz : float
        A clock to start from; set it to the clock of the system.
    """
    period = 1000 / mhz
    return f"""\
# Timing constraints of {design.name}: one clock; set the period to yours.
set period {period:.3f}
create_clock -name aclk -period $period [get_ports aclk]
set_input_delay  [expr $period / 3] -clock aclk [remove_from_collection [all_inputs] [get_ports aclk]]
set_output_delay [expr $period / 3] -clock aclk [all_outputs]
"""
