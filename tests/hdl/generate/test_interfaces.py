"""Buses that a module's ports make up, and the attributes of the ports that say so in the Verilog."""

from __future__ import annotations

import json
import re

import pytest

from cdma.hdl.config.catalog import Design
from cdma.hdl.config.core import load
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.hdl.engine.axi.signature import axi_full, axi_lite
from cdma.hdl.generate import verilog
from cdma.hdl.generate.interfaces import (
    AXI,
    CLOCK,
    INTERRUPT,
    RESET,
    STREAM,
    Interface,
    Port,
    attributes,
    interfaces,
)
from cdma.synth.tools.yosys import find
from tests.hdl.generate.designs import FAR, PRESETS, described

_each = pytest.mark.parametrize("config", [*PRESETS.values(), FAR], ids=lambda config: config.name)


def _by_name(config: Design) -> dict[str, Interface]:
    return {each.name: each for each in described(config).interfaces}


@_each
def test_every_port_is_in_one_bus_or_is_plain(config: Design) -> None:
    design = described(config)
    grouped = [port for each in design.interfaces for port in each.ports.values()]
    assert len(grouped) == len(set(grouped))
    # Result of a packet: a bus of its own would be no bus that tools know.
    plain = set() if isinstance(config, EngineConfig) else {"error_code", "error_line"}
    assert {port.name for port in set(design.ports) - set(grouped)} <= plain
    assert {*grouped} <= {*design.ports}


def test_buses_of_an_engine() -> None:
    config = load_engine("engine")
    found = _by_name(config)
    lanes = [f"m_axi_lane{lane}" for lane in range(config.lanes)]
    assert {name: (each.bus, each.master) for name, each in found.items()} == {
        "aclk": (CLOCK, False), "aresetn": (RESET, False), "s_axil": (AXI, False), "irq": (INTERRUPT, True),
        **dict.fromkeys([*lanes, "m_axi_link"], (AXI, True))}
    # All signals of a bus are in it, under the specification's names.
    for name in (*lanes, "m_axi_link"):
        assert list(found[name].ports) == [signal.upper() for signal in axi_full(40, 32).members]
        assert [port.name for port in found[name].ports.values()] == [
            f"{name}_{signal}" for signal in axi_full(40, 32).members]
    assert list(found["s_axil"].ports) == [signal.upper() for signal in axi_lite(12).members]
    assert found["aclk"].parameters == {
        "ASSOCIATED_BUSIF": ":".join(["s_axil", *lanes, "m_axi_link"]), "ASSOCIATED_RESET": "aresetn"}
    assert found["aresetn"].parameters == {"POLARITY": "ACTIVE_LOW"}
    assert found["irq"].parameters["SENSITIVITY"] == "LEVEL_HIGH"


def test_the_interrupt_of_one_cycle() -> None:
    found = _by_name(FAR)
    assert {name: each.parameters["SENSITIVITY"] for name, each in found.items() if each.bus == INTERRUPT} == {
        "irq": "LEVEL_HIGH", "irq_pulse": "EDGE_RISING"}


@_each
def test_parameters_are_what_was_built(config: Design) -> None:
    for each in _by_name(config).values():
        numbers = {key: int(value) for key, value in each.parameters.items() if value.isdigit()}
        if each.bus == STREAM:
            assert numbers["TDATA_NUM_BYTES"] * 8 == each.data_bits == each.ports["TKEEP"].width * 8
            assert numbers["TUSER_WIDTH"] == (each.ports["TUSER"].width if "TUSER" in each.ports else 0)
            assert [numbers[f"HAS_{signal}"] for signal in ("TREADY", "TKEEP", "TLAST", "TSTRB")] == [1, 1, 1, 0]
        elif each.bus == AXI:
            assert isinstance(config, EngineConfig)
            assert numbers["DATA_WIDTH"] == each.ports["WDATA"].width == each.ports["WSTRB"].width * 8
            assert numbers["ADDR_WIDTH"] == each.ports["AWADDR"].width == each.address_bits
            assert numbers["SUPPORTS_NARROW_BURST"] == 0
            if each.master:
                assert each.parameters["PROTOCOL"] == "AXI4"
                ids = config.link_read_ids if each.name == "m_axi_link" else 1
                # Records of write-back are single bursts beside those of streams, of which there are 7 at most.
                records = 7 if config.write_back and each.name == "m_axi_link" else 0
                assert numbers["NUM_WRITE_OUTSTANDING"] == config.outstanding_reads + records
                assert numbers["NUM_READ_OUTSTANDING"] == (ids if ids > 1 else config.outstanding_reads)
                assert numbers.get("NUM_READ_THREADS", 1) == ids
                # A burst is at most a page of 4 KiB, and at most what was asked for.
                assert numbers["MAX_BURST_LENGTH"] == min(config.burst_beats, 4096 // (numbers["DATA_WIDTH"] // 8))
                assert numbers["ID_WIDTH"] == each.ports["RID"].width == each.ports["AWID"].width == (
                    4 if ids == 16 else 1)
            else:
                assert each.parameters["PROTOCOL"] == "AXI4LITE"
                assert (numbers["MAX_BURST_LENGTH"], numbers["ID_WIDTH"]) == (1, 0)


def test_a_clock_of_its_own() -> None:
    """A clock that is named after a bus is its clock, and that of no other bus."""
    link = tuple(Port(f"m_axi_link_{name}", "output", 8) for name in ("araddr", "rdata"))
    lane = tuple(Port(f"m_axi_lane0_{name}", "output", 8) for name in ("araddr", "rdata"))
    clocks = tuple(Port(name, "input", 1) for name in ("aclk", "aresetn", "link_aclk", "link_aresetn"))
    found = {each.name: each for each in interfaces(load_engine("tiny"), (*clocks, *link, *lane))}
    assert found["aclk"].parameters == {"ASSOCIATED_BUSIF": "m_axi_lane0", "ASSOCIATED_RESET": "aresetn"}
    assert found["link_aclk"].parameters == {"ASSOCIATED_BUSIF": "m_axi_link", "ASSOCIATED_RESET": "link_aresetn"}
    without = {each.name: each for each in interfaces(load_engine("tiny"), (*clocks[:3], *link, *lane))}
    assert without["link_aclk"].parameters["ASSOCIATED_RESET"] == "aresetn"


def test_attributes_name_each_bus_once() -> None:
    found = attributes(described(load_engine("tiny")).interfaces)
    named = [re.match(r"XIL_INTERFACENAME (\w+), ", each["X_INTERFACE_PARAMETER"])
             for each in found.values() if "X_INTERFACE_PARAMETER" in each]
    assert [match[1] for match in named if match] == [
        "aclk", "aresetn", "s_axil", "m_axi_lane0", "m_axi_link", "irq"] and all(named)
    assert found["m_axi_link_arvalid"] == {"X_INTERFACE_INFO": "xilinx.com:interface:aximm:1.0 m_axi_link ARVALID"}


def test_verilog_has_the_attributes_and_nothing_else_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    config = load("decompressor").replace(beat_bytes=16)
    text = verilog.emit(config).text
    monkeypatch.setattr(verilog, "attributes", lambda buses: {})
    assert "".join(line for line in text.splitlines(keepends=True) if "X_INTERFACE_" not in line) == (
        verilog.emit(config).text)


@pytest.mark.parametrize("preset", ["compressor", "decompressor"])
def test_a_reader_finds_the_attributes_on_the_ports(preset: str) -> None:
    """Yosys, which keeps attributes, has them on all ports of the top and on no other signal."""
    design = verilog.emit(load(preset))
    script = "read_verilog core.v\nproc\nwrite_json core.json\n"
    (text,) = find().run(script, {"core.v": design.text}, ["core.json"], "check").values()
    modules = json.loads(text)["modules"]
    read = {(module, name): {key: value for key, value in net["attributes"].items() if key.startswith("X_")}
            for module, each in modules.items() for name, net in each["netnames"].items()}
    assert {key: each for key, each in read.items() if each} == {
        (design.name, name): each for name, each in attributes(design.interfaces).items()}
