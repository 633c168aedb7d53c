"""Timing constraints: SDC for ASIC flows and most FPGA tools, XDC for Vivado."""

from __future__ import annotations

from collections.abc import Iterator

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.generate.verilog import Verilog

__all__ = ["CROSSINGS", "crossings", "sdc", "xdc"]

CROSSINGS = "crossings.xdc"
"""How the name of the XDC of a design's clock crossings ends."""

_LEVELS = ("asked", "opened", "was_lost", "in_reset")
_CODES = (("written", "to_read"), ("taken", "to_write"))


def sdc(design: Verilog, mhz: float = 500.0) -> str:
    """``NAME.sdc``: the clock, and input and output delays of a third of its period; of a design with two clocks both
    of them, and limits for all paths between them.

    Parameters
    ----------
    mhz : float
        A clock to start from; set it to the clock of the system.
    """
    period = 1000 / mhz
    if _crosses(design):
        return f"""\
# Timing constraints of {design.name}: two clocks; set the periods to yours.
set period {period:.3f}
set link_period {period:.3f}
create_clock -name aclk -period $period [get_ports aclk]
create_clock -name link_aclk -period $link_period [get_ports link_aclk]
set_input_delay  [expr $period / 3] -clock aclk [remove_from_collection [all_inputs] \
    [get_ports {{aclk link_aclk link_aresetn m_axi_link_*}}]]
set_output_delay [expr $period / 3] -clock aclk [remove_from_collection [all_outputs] [get_ports m_axi_link_*]]
set_input_delay  [expr $link_period / 3] -clock link_aclk [remove_from_collection \
    [get_ports {{link_aresetn m_axi_link_*}}] [all_outputs]]
set_output_delay [expr $link_period / 3] -clock link_aclk [remove_from_collection [get_ports m_axi_link_*] \
    [all_inputs]]
# Every path between the clocks ends in the first register of a synchroniser (crossing/*/to_*/stage0 and
# crossing/resets/*/stage0), or in the register that takes a row of a FIFO (crossing/*/out/row), which has been there
# for two cycles then. The bits of a Gray code may not come apart by more than a period.
set crossing [expr min($period, $link_period)]
set_max_delay -ignore_clock_latency $crossing -from [get_clocks aclk] -to [get_clocks link_aclk]
set_max_delay -ignore_clock_latency $crossing -from [get_clocks link_aclk] -to [get_clocks aclk]
set_false_path -hold -from [get_clocks aclk] -to [get_clocks link_aclk]
set_false_path -hold -from [get_clocks link_aclk] -to [get_clocks aclk]
"""
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
    if _crosses(design):
        return f"""\
# Timing constraints of {design.name} for Vivado: two clocks; set periods and delays to yours.
# They are for the module alone: where it is the top, or is synthesised out of context. Inside a design its clocks come
# from there. What holds everywhere, the limits of the paths between them, is in {design.name}_{CROSSINGS}.
create_clock -name aclk -period {period:.3f} [get_ports aclk]
create_clock -name link_aclk -period {period:.3f} [get_ports link_aclk]
set_input_delay -clock aclk {delay:.3f} [get_ports -filter {{DIRECTION == IN && NAME != aclk && NAME !~ *link_*}}]
set_output_delay -clock aclk {delay:.3f} [get_ports -filter {{DIRECTION == OUT && NAME !~ *link_*}}]
set_input_delay -clock link_aclk {delay:.3f} [get_ports -filter {{DIRECTION == IN && NAME == link_aresetn}}]
set_input_delay -clock link_aclk {delay:.3f} [get_ports -filter {{DIRECTION == IN && NAME =~ m_axi_link_*}}]
set_output_delay -clock link_aclk {delay:.3f} [get_ports -filter {{DIRECTION == OUT && NAME =~ m_axi_link_*}}]
"""
    return f"""\
# Timing constraints of {design.name} for Vivado: one clock; set period and delays to yours.
# They are for the module alone: where it is the top, or is synthesised out of context. Inside a design its clock comes
# from there.
create_clock -name aclk -period {period:.3f} [get_ports aclk]
set_input_delay -clock aclk {delay:.3f} [get_ports -filter {{DIRECTION == IN && NAME != aclk}}]
set_output_delay -clock aclk {delay:.3f} [get_ports -filter {{DIRECTION == OUT}}]
"""


def crossings(design: Verilog, mhz: float = 200.0) -> dict[str, str]:
    """``NAME_crossings.xdc`` by its name, of a design with two clocks: a limit for every path between them, by the
    names of registers in the Verilog. Nothing for other designs.

    Parameters
    ----------
    mhz : float
        The faster clock.
    """
    if not _crosses(design):
        return {}
    return {f"{design.name}_{CROSSINGS}": f"""\
# Clock crossings of {design.name} for Vivado. They hold inside a design too: paths are relative to the module.
# Without the packaged IP: read_xdc -ref {design.name} {design.name}_{CROSSINGS}
# A limit is a period of the faster clock; set it to yours.
{"".join(f"{line}{chr(10)}" for line in _limits(design, 1000 / mhz))}"""}


def _crosses(design: Verilog) -> bool:
    return isinstance(design.config, EngineConfig) and design.config.link_clock == "separate"


def _limits(design: Verilog, period: float) -> Iterator[str]:
    """The commands for each crossing."""
    limit = f"set_max_delay -datapath_only {period:.3f}"
    for level in _LEVELS:
        yield f"set_false_path -to [get_cells crossing/resets/{level}/stage0_reg*]"
    for channel in ("ar", "aw", "w", "r", "b"):
        for sender, receiver in _CODES:
            yield (f"{limit} -from [get_cells crossing/{channel}/{sender}/gray_reg*] "
                   f"-to [get_cells crossing/{channel}/{receiver}/stage0_reg*]")
        # A row is taken by the register in `out`, or by that of the memory's read port, which has no name of its own
        # and is no path where it became part of a block RAM.
        yield (f"{limit} -from [get_cells crossing/{channel}/rows_reg*] "
               f"-to [get_cells -quiet {{crossing/{channel}/out/row_reg* crossing/{channel}/*_reg*}}]")
