"""IP-XACT: a description of a design that Vivado takes as an IP, and other tools as a component.

Source: IEEE 1685-2009, the edition that Vivado reads; AMD UG1118 (views, file groups and vendor extensions of its IP
catalog).
"""

from __future__ import annotations

from importlib.metadata import version
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.register import Access
from cdma.hdl.engine.control.table import ADDRESS_BITS, registers
from cdma.hdl.generate.handover.constraints import crossings
from cdma.hdl.generate.interfaces import AXI, Interface, Port
from cdma.hdl.generate.verilog import Verilog

__all__ = ["ACCESS", "BLOCK", "FAMILIES", "FORM", "LIBRARY", "VENDOR", "WRITES", "component", "ip_version"]

VENDOR, LIBRARY = "cdma-rtl", "ip"
"""What tools call a design by, beside its name and version."""

ACCESS = {Access.RO: "read-only", Access.RW: "read-write", Access.WO: "write-only", Access.W1C: "read-write",
          Access.W1S: "read-write"}
"""What the bus may do, in the words of IP-XACT."""

WRITES = {Access.W1C: "oneToClear", Access.W1S: "oneToSet"}
"""What writing a 1 does, where it does not write a 1."""

FORM = "form.tcl"
"""Name of the file with the form that Vivado shows for the IP, in the same folder as the description."""

BLOCK = "reg0"
"""Name of the block of registers: the one that Vivado gives."""

FAMILIES = ("artix7", "kintex7", "spartan7", "virtex7", "zynq", "kintexu", "virtexu", "artixuplus", "kintexuplus",
            "virtexuplus", "virtexuplusHBM", "zynquplus", "zynquplusRFSOC", "versal")
"""Devices that Vivado offers the IP for. The Verilog names nothing of any device."""

_SYNTHESIS, _SIMULATION = "xilinx_verilogsynthesis", "xilinx_verilogbehavioralsimulation"
_VIEWS = (
    # Name, what users see, the tool, and whether it is of the Verilog.
    (_SYNTHESIS, "Verilog Synthesis", "verilogSource:vivado.xilinx.com:synthesis", True),
    (_SIMULATION, "Verilog Simulation", "verilogSource:vivado.xilinx.com:simulation", True),
    ("xilinx_xpgui", "UI Layout", ":vivado.xilinx.com:xgui.ui", False),
    ("xilinx_miscfiles", "Miscellaneous", ":vivado.xilinx.com:misc.files", False),
)
_CONSTRAINTS = ("xdc", "USED_IN_out_of_context", "USED_IN_synthesis", "USED_IN_implementation")
"""Types of the constraints: they have the module's clock, which comes from outside wherever it is not alone."""

_CROSSINGS = ("xdc", "USED_IN_synthesis", "USED_IN_implementation")
"""Types of the constraints of clock crossings, which hold wherever the module is."""

_STANDARD_TYPES = ("verilogSource", "tclSource", "cSource", "unknown")
"""Types of files that IP-XACT knows; others are the tool's own."""

_SUFFIXES = ("", "K", "M", "G", "T")


def ip_version() -> str:
    """Version of an IP for Vivado, which takes two numbers: the first two of this package's."""
    return ".".join(version("cdma-rtl").split(".")[:2])


def component(design: Verilog, beside: tuple[str, ...]) -> str:
    """``component.xml``: interfaces, address spaces, registers, ports and files of a design.

    Parameters
    ----------
    design : Verilog
        What is described; its text is not read.
    beside : tuple of str
        Files for drivers, which are in the folder above that of the description.
    """
    config = design.config
    top = Element("spirit:component", {
        "xmlns:spirit": "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009",
        "xmlns:xilinx": "http://www.xilinx.com"})
    _leaves(top, vendor=VENDOR, library=LIBRARY, name=design.name, version=ip_version())
    buses = _add(top, "busInterfaces")
    for interface in design.interfaces:
        _interface(buses, interface)
    masters = [each for each in design.interfaces if each.bus == AXI and each.master]
    if masters:
        spaces = _add(top, "addressSpaces")
        for each in masters:
            _address_space(spaces, each)
    if isinstance(config, EngineConfig):
        _memory_map(_add(top, "memoryMaps"), config)
    model = _add(top, "model")
    _views(_add(model, "views"), design.name, bool(beside))
    ports = _add(model, "ports")
    for port in design.ports:
        _port(ports, port)
    _file_sets(_add(top, "fileSets"), design, beside)
    _add(top, "description", config.about or design.name)
    _parameter(_add(top, "parameters"), "Component_Name", f"{design.name}_0", "PARAM_VALUE.Component_Name",
               {"spirit:resolve": "user", "spirit:order": "1"})
    _extensions(top, design.name)
    ElementTree.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(top, encoding="unicode") + "\n"


def _add(parent: Element, tag: str, text: object = None, /, **attributes: object) -> Element:
    """An element of IP-XACT."""
    child = SubElement(parent, f"spirit:{tag}", {f"spirit:{key}": str(value) for key, value in attributes.items()})
    child.text = None if text is None else str(text)
    return child


def _leaves(parent: Element, **texts: object) -> None:
    """Elements that are a text each."""
    for tag, text in texts.items():
        _add(parent, tag, text)


def _parameter(parent: Element, name: str, value: str, identifier: str, how: dict[str, str] | None = None) -> None:
    parameter = _add(parent, "parameter")
    _add(parameter, "name", name)
    _add(parameter, "value", value, id=identifier).attrib.update(how or {})


def _interface(parent: Element, interface: Interface) -> None:
    bus = _add(parent, "busInterface")
    _add(bus, "name", interface.name)
    for kind, suffix in (("busType", ""), ("abstractionType", "_rtl")):
        _add(bus, kind, vendor="xilinx.com", library=interface.bus.library, name=interface.bus.name + suffix,
             version="1.0")
    mode = _add(bus, "master" if interface.master else "slave")
    if interface.bus == AXI:
        place = "addressSpaceRef" if interface.master else "memoryMapRef"
        _add(mode, place, **{place: interface.name})
    maps = _add(bus, "portMaps")
    for signal, port in interface.ports.items():
        each = _add(maps, "portMap")
        _add(_add(each, "logicalPort"), "name", signal)
        _add(_add(each, "physicalPort"), "name", port.name)
    parameters = _add(bus, "parameters")
    for name, value in interface.parameters.items():
        _parameter(parameters, name, value, f"BUSIFPARAM_VALUE.{interface.name.upper()}.{name}")


def _address_space(parent: Element, interface: Interface) -> None:
    space = _add(parent, "addressSpace")
    # 2 to the power of 64 is more than fits the number in front of the suffix; every space is a whole number of GiB.
    bits = interface.address_bits
    tens = min(bits // 10, len(_SUFFIXES) - 1)
    _leaves(space, name=interface.name, range=f"{1 << bits - 10 * tens}{_SUFFIXES[tens]}", width=interface.data_bits)


def _memory_map(parent: Element, config: EngineConfig) -> None:
    memory_map = _add(parent, "memoryMap")
    _add(memory_map, "name", "s_axil")
    block = _add(memory_map, "addressBlock")
    _leaves(block, name=BLOCK, baseAddress="0x0", range=1 << ADDRESS_BITS, width=32, usage="register")
    # Vivado knows no groups of registers: those of the channels carry the channel's name.
    for register in registers(config):
        element = _add(block, "register")
        _leaves(element, name=register.name, description=register.description,
                addressOffset=f"{register.offset:#x}", size=32, access=ACCESS[register.access])
        _add(_add(element, "reset"), "value", f"{register.reset:#x}")
        for field in register.fields:
            inside = _add(element, "field")
            _leaves(inside, name=field.name, description=field.description, bitOffset=field.lsb, bitWidth=field.width,
                    access=ACCESS[field.access])
            if field.access in WRITES:
                _add(inside, "modifiedWriteValue", WRITES[field.access])


def _views(parent: Element, module: str, misc: bool) -> None:
    for name, title, tool, of_verilog in _VIEWS if misc else _VIEWS[:-1]:
        view = _add(parent, "view")
        _leaves(view, name=name, displayName=title, envIdentifier=tool)
        if of_verilog:
            _leaves(view, language="verilog", modelName=module)
        _add(_add(view, "fileSetRef"), "localName", f"{name}_view_fileset")


def _port(parent: Element, port: Port) -> None:
    element = _add(parent, "port")
    _add(element, "name", port.name)
    wire = _add(element, "wire")
    _add(wire, "direction", {"input": "in", "output": "out"}.get(port.direction, port.direction))
    if port.width > 1:
        _leaves(_add(wire, "vector"), left=port.width - 1, right=0)
    kind = _add(_add(wire, "wireTypeDefs"), "wireTypeDef")
    _add(kind, "typeName", "wire")
    _add(kind, "viewNameRef", _SYNTHESIS)
    _add(kind, "viewNameRef", _SIMULATION)


def _file_sets(parent: Element, design: Verilog, beside: tuple[str, ...]) -> None:
    verilog = {f"../{name}": ("verilogSource",) for name in design.sources}
    constraints = {f"../{design.name}.xdc": _CONSTRAINTS} | {f"../{name}": _CROSSINGS for name in crossings(design)}
    sets = (verilog | constraints, verilog, {FORM: ("tclSource", "XGUI_VERSION_2")},
            {f"../{name}": ("cSource" if name.endswith((".c", ".h")) else "unknown",) for name in beside})
    for (name, *_), files in zip(_VIEWS, sets, strict=True):
        if files:
            element = _add(parent, "fileSet")
            _add(element, "name", f"{name}_view_fileset")
            for path, types in files.items():
                _file(element, path, types)


def _file(parent: Element, path: str, types: tuple[str, ...]) -> None:
    element = _add(parent, "file")
    _add(element, "name", path)
    for each in types:
        _add(element, "fileType" if each in _STANDARD_TYPES else "userFileType", each)
    if path.endswith(".h"):
        _add(element, "isIncludeFile", "true")


def _extensions(top: Element, name: str) -> None:
    core = SubElement(_add(top, "vendorExtensions"), "xilinx:coreExtensions")
    families = SubElement(core, "xilinx:supportedFamilies")
    for family in FAMILIES:
        SubElement(families, "xilinx:family", {"xilinx:lifeCycle": "Pre-Production"}).text = family
    SubElement(SubElement(core, "xilinx:taxonomies"), "xilinx:taxonomy").text = "/UserIP"
    for key, value in (("displayName", name), ("vendorDisplayName", VENDOR), ("coreRevision", "1")):
        SubElement(core, f"xilinx:{key}").text = value
