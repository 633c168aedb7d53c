"""Tcl for Vivado: the form of an IP, and scripts that package a design as an IP, and that place and route it alone.

Source: AMD UG1118 (IP packager), UG835 (commands).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.table import ADDRESS_BITS, registers
from cdma.hdl.generate.handover.constraints import crossings
from cdma.hdl.generate.handover.ipxact import ACCESS, BLOCK, FAMILIES, LIBRARY, VENDOR, WRITES, ip_version
from cdma.hdl.generate.verilog import Verilog

__all__ = ["form", "packaging", "routing"]

_PACKAGE = """\
# Packages {name} as an IP of Vivado.
#
#   vivado -mode batch -source package_{name}.tcl
#   vivado -mode batch -source package_{name}.tcl -tclargs FOLDER PART
#
# Vivado makes the interfaces from the attributes of the ports; registers are added here. The IP and copies of its files
# go into FOLDER, which is {name}_vivado beside this file unless given.
#
# The IP in {name}_ip has the same name and needs no packaging: a project's ip_repo_paths shall have one of them.

set here [file dirname [file normalize [info script]]]
set folder [file join $here {name}_vivado]
set options [list]
if {{[info exists argv] && [llength $argv] > 0}} {{
    set folder [file normalize [lindex $argv 0]]
}}
if {{[info exists argv] && [llength $argv] > 1}} {{
    set options [list -part [lindex $argv 1]]
}}

set project [file join $folder project]
create_project -force {{*}}$options package_{name} $project
foreach source {{{sources}}} {{
    add_files -norecurse [list [file join $here $source]]
}}
set_property top {name} [current_fileset]
update_compile_order -fileset sources_1
add_files -fileset constrs_1 -norecurse [list [file join $here {name}.xdc]]
# The constraints have the clock of the module, which comes from outside wherever the module is not alone.
set_property USED_IN {{synthesis implementation out_of_context}} [get_files {name}.xdc]
{crossings}
ipx::package_project -root_dir $folder -vendor {vendor} -library {library} -taxonomy /UserIP -import_files \\
    -set_current true -force
set core [ipx::current_core]
set_property name {name} $core
set_property version {version} $core
set_property display_name {name} $core
set_property description {description} $core
set_property supported_families {{{families}}} $core

foreach bus {{{buses}}} {{
    if {{[llength [ipx::get_bus_interfaces $bus -of_objects $core]] == 0}} {{
        error "Vivado made no interface $bus of the ports: see their attributes in {top}"
    }}
}}
{engine}
ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::check_integrity $core
ipx::save_core $core
close_project
file delete -force $project
puts "wrote $folder: add it to ip_repo_paths"
"""

_ENGINE = """
# Files for drivers.
ipx::add_file_group -type misc {{}} $core
file mkdir [file join $folder driver]
foreach source {{{drivers}}} {{
    file copy -force [file join $here $source] [file join $folder driver $source]
    ipx::add_file [file join driver $source] [ipx::get_file_groups xilinx_miscfiles -of_objects $core]
}}

# Registers: name, offset, access, value after reset, description, and fields: name, lowest bit, bits, access, what
# writing does, description.
set map [ipx::add_memory_map -quiet s_axil $core]
set_property slave_memory_map_ref s_axil [ipx::get_bus_interfaces s_axil -of_objects $core]
set block [ipx::add_address_block -quiet {block} $map]
set_property range {range} $block
set_property width 32 $block
set_property usage register $block
foreach entry {{
{registers}
}} {{
    lassign $entry name offset access reset description fields
    set register [ipx::add_register $name $block]
    set_property address_offset $offset $register
    set_property size 32 $register
    set_property access $access $register
    set_property reset_value $reset $register
    set_property description $description $register
    foreach entry $fields {{
        lassign $entry name bit width access writes description
        set field [ipx::add_field $name $register]
        set_property bit_offset $bit $field
        set_property bit_width $width $field
        set_property access $access $field
        if {{$writes ne ""}} {{
            set_property modified_write_value $writes $field
        }}
        set_property description $description $field
    }}
}}
"""

_ROUTE = """\
# Synthesises, places and routes {name} by itself, out of context, and says which clock it reaches.
#
#   vivado -mode batch -source route_{name}.tcl -tclargs PART
#   vivado -mode batch -source route_{name}.tcl -tclargs PART MHZ FOLDER
#
# MHZ is the clock that is asked for, 250 unless given: that of PCI Express. FOLDER is {name}_routed beside this file
# unless given. Ports have no delays here: only paths from register to register count.
#
# To report back: the last line that this prints, and the files in FOLDER: utilization.rpt, paths.rpt.

set here [file dirname [file normalize [info script]]]
if {{![info exists argv] || [llength $argv] < 1}} {{
    error "name a part: vivado -mode batch -source route_{name}.tcl -tclargs PART"
}}
set part [lindex $argv 0]
set mhz [expr {{[llength $argv] > 1 ? [lindex $argv 1] : 250}}]
set folder [file normalize [expr {{[llength $argv] > 2 ? [lindex $argv 2] : [file join $here {name}_routed]}}]]
set period [expr {{1000.0 / $mhz}}]

file mkdir $folder
set clocks [open [file join $folder clocks.xdc] w]
foreach clock {{{clocks}}} {{
    puts $clocks "create_clock -name $clock -period [format %.3f $period] \\[get_ports $clock\\]"
}}
close $clocks
foreach source {{{sources}}} {{
    read_verilog [file join $here $source]
}}
read_xdc -mode out_of_context [file join $folder clocks.xdc]
{crossings}synth_design -top {name} -part $part -mode out_of_context
opt_design
place_design
phys_opt_design
route_design
report_utilization -hierarchical -file [file join $folder utilization.rpt]
report_timing -max_paths 50 -nworst 1 -unique_pins -file [file join $folder paths.rpt]
set slack [get_property SLACK [get_timing_paths -max_paths 1 -nworst 1]]
puts [format "{name} on %s, Vivado %s, %s MHz asked for: slack %s ns, %.1f MHz" \
    $part [version -short] $mhz $slack [expr {{1000.0 / ($period - $slack)}}]]
"""

_LIMITS = """\
# A limit of a crossing is a period of the clock that is asked for.
set limits [open [file join $here {file}]]
set text [read $limits]
close $limits
set limits [open [file join $folder {file}] w]
puts -nonewline $limits [regsub -all {{datapath_only \\S+}} $text "datapath_only [format %.3f $period]"]
close $limits
read_xdc [file join $folder {file}]
"""


def form(design: Verilog) -> str:
    """The form that Vivado shows for the IP: its name alone, since a generated module has no parameters."""
    return f"""\
# The form of {design.name} in Vivado: there is nothing to set, since every parameter was set when it was generated.
proc init_gui {{instance}} {{
    ipgui::add_param $instance -name Component_Name
}}
"""


def packaging(design: Verilog, beside: tuple[str, ...]) -> str:
    """``package_NAME.tcl``: packages a design as an IP, with the interfaces as Vivado reads them from the Verilog.

    Parameters
    ----------
    design : Verilog
        What is packaged; its text is not read.
    beside : tuple of str
        Files for drivers.
    """
    config = design.config
    engine = _ENGINE.format(
        drivers=" ".join(beside), block=BLOCK, range=1 << ADDRESS_BITS,
        registers="\n".join(_registers(config))) if isinstance(config, EngineConfig) else ""
    return _PACKAGE.format(
        name=design.name, top=design.top_file, sources=" ".join(design.sources), vendor=VENDOR, library=LIBRARY,
        version=ip_version(),
        description=_word(config.about or design.name),
        crossings="".join(f"add_files -fileset constrs_1 -norecurse [list [file join $here {name}]]\n"
                          for name in crossings(design)),
        families=" ".join(f"{each} Pre-Production" for each in FAMILIES),
        buses=" ".join(each.name for each in design.interfaces), engine=engine)


def routing(design: Verilog) -> str:
    """``route_NAME.tcl``: synthesises, places and routes a design out of context, and says which clock it reaches."""
    limits = crossings(design)
    return _ROUTE.format(
        name=design.name, sources=" ".join(design.sources), clocks=" ".join(["aclk", *["link_aclk"] * bool(limits)]),
        crossings="".join(_LIMITS.format(file=file) for file in limits))


def _registers(config: EngineConfig) -> Iterator[str]:
    for register in registers(config):
        yield (f"    {{{register.name} {register.offset:#05x} {ACCESS[register.access]} {register.reset} "
               f"{_word(register.description)} {{")
        for field in register.fields:
            yield (f"        {{{field.name} {field.lsb} {field.width} {ACCESS[field.access]} "
                   f"{WRITES.get(field.access, '{}')} {_word(field.description)}}}")
        yield "    }}"


def _word(text: str) -> str:
    """A text as one word of Tcl."""
    return '"' + re.sub(r'([\\"$\[\]{}])', r"\\\1", text) + '"'
