"""The engine as a module of LiteX, connected to the bus of a SoC."""

# The extra [soc] brings LiteX; types are checked without it as well.
# pyright: reportMissingImports=false

from __future__ import annotations

from pathlib import Path
from typing import Any

from litedram.frontend.axi import LiteDRAMAXI2Native
from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import axi, wishbone
from litex.soc.interconnect.csr_eventmanager import SharedIRQ
from migen import ClockSignal, Instance, ResetSignal, Signal

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.config.files import write_file
from cdma.hdl.engine.axi.bursts import burst_beats
from cdma.hdl.generate.handover.c_header import c_header
from cdma.hdl.generate.handover.files import DRIVER, driver
from cdma.hdl.generate.interfaces import AXI, Interface, interfaces
from cdma.hdl.generate.verilog import emit, ports

__all__ = ["CDMA", "add_cdma", "write_headers"]

_REGISTER_BYTES = 0x1000
_MOST_BEATS = 256
"""The longest burst of AXI4."""


class CDMA(LiteXModule):
    """An engine with the interfaces of LiteX; :func:`add_cdma` makes one and connects it.

    ::

        registers (AXI-Lite, 32 bits) --> +--------+ --> lanes[0], lanes[1], ... (AXI, beat_bytes)
                 irq_pulse, for MSI <---- | engine |
                             ev.irq <---- +--------+ --> link (AXI, link_beat_bytes)

    The clock is ``sys``, and its reset is that of the engine. The engine has registers of its own for the interrupt, so
    ``ev`` has no others: it is the signal alone.

    Parameters
    ----------
    platform
        Gets the Verilog as a source.
    config : EngineConfig
        What to build.
    verilog : Path
        File of the engine's Verilog; it is generated when the file is not there.

    Members
    -------
    registers : axi.AXILiteInterface
        The register window.
    lanes : list of axi.AXIInterface
        The port of each lane, into device memory.
    link : axi.AXIInterface
        The port to the link.
    irq : Signal
        The interrupt, high until its causes are cleared.
    irq_pulse : Signal
        High for a cycle for each event, for a bridge that sends messages; only with ``write_back``.
    """

    def __init__(self, platform: Any, config: EngineConfig, verilog: Path) -> None:
        self.config = config
        self.irq = Signal()
        self.ev = SharedIRQ(self)
        pins: dict[str, Any] = {"i_aclk": ClockSignal("sys"), "i_aresetn": ~ResetSignal("sys"), "o_irq": self.irq}
        if config.link_clock == "separate":
            # The bus of a SoC has one clock.
            pins |= {"i_link_aclk": ClockSignal("sys"), "i_link_aresetn": ~ResetSignal("sys")}
        if config.write_back:
            self.irq_pulse = Signal()
            pins["o_irq_pulse"] = self.irq_pulse
        buses = {}
        for bus in interfaces(config, ports(config)):
            if bus.bus == AXI:
                buses[bus.name] = _endpoint(bus)
                pins |= _pins(bus, buses[bus.name])
        self.registers = buses["s_axil"]
        self.lanes = [buses[f"m_axi_lane{number}"] for number in range(config.lanes)]
        self.link = buses["m_axi_link"]
        self.specials += Instance(config.name, **pins)    # type: ignore[operator]
        if not verilog.exists():
            verilog.parent.mkdir(parents=True, exist_ok=True)
            write_file(verilog, "".join(emit(config).sources.values()))
        platform.add_source(str(verilog))

    @property
    def masters(self) -> dict[str, Any]:
        """Its AXI masters by name."""
        return {**{f"lane{number}": lane for number, lane in enumerate(self.lanes)}, "link": self.link}


def _endpoint(bus: Interface) -> Any:
    """An interface of LiteX that fits a bus of the engine."""
    if bus.parameters["PROTOCOL"] == "AXI4LITE":
        return axi.AXILiteInterface(data_width=bus.data_bits, address_width=32)
    return axi.AXIInterface(
        data_width=bus.data_bits, address_width=bus.address_bits, id_width=bus.ports["ARID"].width,
        ar_user_width=int(bus.parameters["ARUSER_WIDTH"]), aw_user_width=int(bus.parameters["AWUSER_WIDTH"]))


def _pins(bus: Interface, endpoint: Any) -> dict[str, Any]:
    """What the ports of a bus are connected to."""
    pins = {}
    for signal, port in bus.ports.items():
        channel = signal[:2].lower() if signal[:2] in ("AR", "AW") else signal[0].lower()
        wire = getattr(getattr(endpoint, channel), signal[len(channel):].lower())
        # Masters on the bus have all bits of an address; the window takes those within it.
        pins[f"{port.direction[0]}_{port.name}"] = wire[:port.width] if port.direction == "input" else wire
    return pins


def add_cdma(soc: Any, config: EngineConfig, *, name: str = "dma", origin: int | None = None,
             verilog: Path | None = None, crossbar: Any = None) -> CDMA:
    """Put an engine into a SoC: registers and masters on its bus, the interrupt at its processor.

    With a crossbar of LiteDRAM, each master has a port of its own at the DRAM instead, past the bus::

        bus <--> registers +--------+ lanes[0] <--> LiteDRAMAXI2Native <--> port +----------+
                           | engine | lanes[1] <--> LiteDRAMAXI2Native <--> port | crossbar | <--> DRAM
                           +--------+ link     <--> LiteDRAMAXI2Native <--> port +----------+

    The headers of the SoC then have ``DMA_BASE``, the address of the registers, and ``DMA_INTERRUPT``, the number of
    the interrupt; :func:`write_headers` writes what the driver needs besides.

    Parameters
    ----------
    soc
        The SoC; it already has its processor.
    config : EngineConfig
        What to build.
    name : str
        Name of the module in the SoC.
    origin : int, optional
        Address of the registers; LiteX chooses one when not given.
    verilog : Path, optional
        As for :class:`CDMA`; when not given, ``build/NAME.v``, which is generated each time.
    crossbar : optional
        ``soc.sdram.crossbar``, where the main RAM is DRAM. The processor must see that memory without the L2 cache of
        LiteX (``l2_cache_size=0``), which knows nothing of the engine's writes.

    Returns
    -------
    CDMA
        The module.

    Raises
    ------
    ValueError
        If the engine's addresses or bursts do not fit the bus, or the name would hide names of the driver.
    """
    _check(soc, config, name, crossbar)
    if verilog is None:
        verilog = Path("build") / f"{config.name}.v"
        verilog.unlink(missing_ok=True)     # that of another configuration may have the same name
    module = CDMA(soc.platform, config, verilog)
    soc.add_module(name=name, module=module)
    registers = module.registers
    if soc.bus.standard == "wishbone":
        # LiteX would convert AXI-Lite to the width of the bus first, and read registers that nobody asked for.
        registers = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        module.bridge = axi.Wishbone2AXILite(registers, module.registers)
    soc.bus.add_slave(name, registers, SoCRegion(origin=origin, size=_REGISTER_BYTES, cached=False))
    for port, master in module.masters.items():
        if crossbar is None:
            soc.bus.add_master(f"{name}_{port}", master)
        else:
            native = crossbar.get_port(data_width=master.data_width)
            bridge = LiteDRAMAXI2Native(master, native, base_address=soc.bus.regions["main_ram"].origin)
            module.add_module(name=f"{port}_bridge", module=bridge)
    soc.irq.add(name, use_loc_if_exists=True)
    return module


def _check(soc: Any, config: EngineConfig, name: str, crossbar: Any) -> None:
    if name.lower() == "cdma":
        raise ValueError("name must not be cdma: the SoC's constant CDMA_INTERRUPT would hide the driver's flag; "
                         "take dma")
    if config.address_bits != soc.bus.address_width:
        raise ValueError(f"address_bits must be {soc.bus.address_width}, as on the bus of the SoC, not "
                         f"{config.address_bits}")
    if crossbar is not None:
        if hasattr(soc, "l2_cache"):
            raise ValueError("the processor's L2 cache knows nothing of the engine's writes: give add_sdram an "
                             "l2_cache_size of 0")
        return
    for port, beat_bytes in (("lanes", config.beat_bytes), ("link", config.link_beat_bytes)):
        ratio = max(1, 8 * beat_bytes // soc.bus.data_width)
        beats = burst_beats(beat_bytes, config.burst_beats)
        if ratio * beats > _MOST_BEATS:
            # The converter of LiteX 2024.12 computes the length in 8 bits, and the transfer would hang.
            raise ValueError(f"bursts of {beats} beats at the {port} become {ratio * beats} on a bus of "
                             f"{soc.bus.data_width} bits, and AXI has {_MOST_BEATS} at most: set burst_beats to "
                             f"{_MOST_BEATS // ratio} or less, or give the SoC a bus_data_width of {8 * beat_bytes}")


def write_headers(config: EngineConfig, folder: Path) -> None:
    """Write what C code includes to drive an engine: ``NAME_regs.h`` and ``cdma_driver.h``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {f"{config.name}_regs.h": c_header(config), DRIVER: driver()}.items():
        folder.joinpath(name).write_text(text, encoding="utf-8")
