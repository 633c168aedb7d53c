"""Bus interfaces of a module: which port is which signal of which bus.

FPGA tools connect whole buses. They read what belongs together from attributes of the ports, in the Verilog, or from a
description of the module, in IP-XACT; both are made from what is here.

Source: AMD UG994, "Inferring AXI interfaces", "Inferring control signals" (attributes); the bus definitions that Vivado
comes with (names of signals and parameters).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cdma.hdl.config.catalog import Design
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.bursts import burst_beats

__all__ = ["AXI", "CLOCK", "INTERRUPT", "RESET", "STREAM", "Bus", "Interface", "Port", "attributes", "interfaces"]


@dataclass(frozen=True)
class Port:
    """A port of a module: its name, its direction (``input``, ``output`` or ``inout``) and its width in bits."""

    name: str
    direction: str
    width: int


@dataclass(frozen=True)
class Bus:
    """A kind of bus, by the names that Vivado has for it; vendor ``xilinx.com`` and version 1.0 are those of all."""

    library: str
    name: str

    @property
    def vlnv(self) -> str:
        """Vendor, library, name and version."""
        return f"xilinx.com:{self.library}:{self.name}:1.0"


AXI = Bus("interface", "aximm")
STREAM = Bus("interface", "axis")
CLOCK = Bus("signal", "clock")
RESET = Bus("signal", "reset")
INTERRUPT = Bus("signal", "interrupt")


@dataclass(frozen=True)
class Interface:
    """Ports that are one bus: by the names of their signals in the bus, and what the bus is like, as parameters."""

    name: str
    bus: Bus
    master: bool
    ports: Mapping[str, Port]
    parameters: Mapping[str, str]

    @property
    def address_bits(self) -> int:
        """Bits of an address, of an AXI bus."""
        return self.ports["ARADDR"].width

    @property
    def data_bits(self) -> int:
        """Bits of a beat, of an AXI bus or a stream."""
        return self.ports["TDATA" if self.bus == STREAM else "RDATA"].width


_SIGNALS = (
    # What a port is called, the bus, the signal of the bus; a bus of several signals is named by what is before them.
    (re.compile(r"([sm]_axil?(?:_\w+)?)_((?:aw|ar|w|r|b)(?:id|addr|len|size|burst|lock|cache|prot|qos|region|user|data"
                r"|strb|last|resp|valid|ready))"), AXI, None),
    (re.compile(r"([sm]_axis(?:_\w+)?)_(t(?:data|strb|keep|last|id|dest|user|valid|ready))"), STREAM, None),
    (re.compile(r"((?:\w+_)?aclk)"), CLOCK, "CLK"),
    (re.compile(r"((?:\w+_)?aresetn)"), RESET, "RST"),
    (re.compile(r"(irq(?:_pulse)?)"), INTERRUPT, "INTERRUPT"),
)


def interfaces(config: Design, ports: Iterable[Port]) -> tuple[Interface, ...]:
    """The bus interfaces of a module.

    Ports of AXI and of streams are grouped by the part of their names before the signal's. ``aclk`` and ``aresetn`` are
    the clock and reset of all of them, but of those that have their own: ``link_aclk`` is the clock of ``m_axi_link``.
    A port that is none of these is in no interface.

    Parameters
    ----------
    config : CoreConfig, BlockCoreConfig or EngineConfig
        What the module was made from.
    ports : iterable of Port
        All ports of the module.
    """
    groups: dict[str, tuple[Bus, dict[str, Port]]] = {}
    for port in ports:
        for pattern, bus, signal in _SIGNALS:
            if found := pattern.fullmatch(port.name):
                groups.setdefault(found[1], (bus, {}))[1][signal or found[2].upper()] = port
                break
    return tuple(Interface(name, bus, _is_master(name, bus), signals, {
        key: str(value) for key, value in _parameters(config, name, bus, signals, groups).items()})
        for name, (bus, signals) in groups.items())


def attributes(buses: Iterable[Interface]) -> dict[str, dict[str, str]]:
    """The attributes by which Vivado knows the interfaces, of each port that is in one.

    The parameters are with the first port of an interface.
    """
    found: dict[str, dict[str, str]] = {}
    for interface in buses:
        for signal, port in interface.ports.items():
            found[port.name] = {"X_INTERFACE_INFO": f"{interface.bus.vlnv} {interface.name} {signal}"}
        first = next(iter(interface.ports.values()))
        parameters = {"XIL_INTERFACENAME": interface.name, **interface.parameters}
        found[first.name]["X_INTERFACE_PARAMETER"] = ", ".join(f"{key} {value}" for key, value in parameters.items())
    return found


def _is_master(name: str, bus: Bus) -> bool:
    return name.startswith("m_") if bus in (AXI, STREAM) else bus == INTERRUPT


def _parameters(config: Design, name: str, bus: Bus, signals: Mapping[str, Port],
                groups: Mapping[str, tuple[Bus, dict[str, Port]]]) -> Mapping[str, object]:
    if bus == AXI:
        return _axi(config, name, signals)
    if bus == STREAM:
        return _stream(signals)
    if bus == CLOCK:
        reset = name.replace("aclk", "aresetn")
        buses = [other for other, (kind, _) in groups.items()
                 if kind in (AXI, STREAM) and _clock_of(other, groups) == name]
        return {"ASSOCIATED_BUSIF": ":".join(buses), "ASSOCIATED_RESET": reset if reset in groups else "aresetn"}
    sensitivity = "EDGE_RISING" if name.endswith("_pulse") else "LEVEL_HIGH"
    return {"POLARITY": "ACTIVE_LOW"} if bus == RESET else {"SENSITIVITY": sensitivity, "PortWidth": 1}


def _clock_of(name: str, groups: Iterable[str]) -> str:
    """The clock of a bus: the one that is named after it, or ``aclk``."""
    own = (clock for clock in groups if clock.endswith("_aclk") and name.endswith("_" + clock.removesuffix("_aclk")))
    return next(own, "aclk")


def _width(signals: Mapping[str, Port], signal: str) -> int:
    return signals[signal].width if signal in signals else 0


def _axi(config: Design, name: str, signals: Mapping[str, Port]) -> dict[str, object]:
    full = "ARLEN" in signals
    data_bits = _width(signals, "RDATA")
    engine = full and isinstance(config, EngineConfig)
    open_bursts = open_reads = config.outstanding_reads if engine else 1
    threads: dict[str, int] = {}
    if engine and name == "m_axi_link":
        open_bursts = config.outstanding_link_writes
        if config.link_read_ids > 1:
            open_reads = threads["NUM_READ_THREADS"] = config.link_reads
    return {
        "PROTOCOL": "AXI4" if full else "AXI4LITE",
        "ADDR_WIDTH": _width(signals, "ARADDR"), "DATA_WIDTH": data_bits, "ID_WIDTH": _width(signals, "ARID"),
        **{f"{user}_WIDTH": _width(signals, user) for user in ("ARUSER", "AWUSER", "RUSER", "WUSER", "BUSER")},
        "READ_WRITE_MODE": "READ_WRITE",
        **{f"HAS_{key}": int(signal in signals) for key, signal in (
            ("BURST", "ARBURST"), ("LOCK", "ARLOCK"), ("PROT", "ARPROT"), ("CACHE", "ARCACHE"), ("QOS", "ARQOS"),
            ("REGION", "ARREGION"), ("WSTRB", "WSTRB"), ("BRESP", "BRESP"), ("RRESP", "RRESP"))},
        # All beats of a burst are whole.
        "SUPPORTS_NARROW_BURST": 0,
        "NUM_READ_OUTSTANDING": open_reads, "NUM_WRITE_OUTSTANDING": open_bursts,
        **threads,
        "MAX_BURST_LENGTH": burst_beats(data_bits // 8, config.burst_beats) if engine else 1,
    }


def _stream(signals: Mapping[str, Port]) -> dict[str, object]:
    return {
        "TDATA_NUM_BYTES": _width(signals, "TDATA") // 8,
        **{f"{signal}_WIDTH": _width(signals, signal) for signal in ("TDEST", "TID", "TUSER")},
        **{f"HAS_{signal}": int(signal in signals) for signal in ("TREADY", "TSTRB", "TKEEP", "TLAST")},
    }
