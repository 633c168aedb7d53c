"""Timing constraints: SDC for ASIC flows and most FPGA tools, XDC for Vivado."""

from __future__ import annotations

from hdl.generate.verilog import Verilog

__all__ = ["sdc", "xdc"]


def sdc(design: Verilog, mhz: float = 500.0) -> str:
    """``NAME.sdc``: the clock, and input and output delays of a third of its period.

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


def xdc(design: Verilog, mhz: float = 200.0) -> str:
    """``NAME.xdc``: what the SDC says, in the commands and without the variables that Vivado reads from such a file.

    Parameters
    ----------
    mhz : float
        A clock to start from; set it to the clock of the system.

    Source: AMD UG903 (commands of an XDC file); answer record 45751 (no variables).
    """
    period = 1000 / mhz
    delay = period / 3
    return f"""\
# Timing constraints of {design.name} for Vivado: one clock; set period and delays to yours.
# They are for the module alone: where it is the top, or is synthesised out of context. Inside a design its clock comes
# from there.
create_clock -name aclk -period {period:.3f} [get_ports aclk]
set_input_delay -clock aclk {delay:.3f} [get_ports -filter {{DIRECTION == IN && NAME != aclk}}]
set_output_delay -clock aclk {delay:.3f} [get_ports -filter {{DIRECTION == OUT}}]
"""
