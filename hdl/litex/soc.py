"""A SoC with a RISC-V core and the engine on its bus, made with LiteX."""

# The extra [soc] brings LiteX; types are checked without it as well.
# pyright: reportMissingImports=false

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from litedram.init import get_sdram_phy_init_sequence
from litedram.modules import MT48LC16M16
from litedram.phy.model import SDRAMPHYModel
from litex.build.generic_platform import Pins, Subsignal
from litex.build.io import CRG
from litex.build.sim import SimPlatform
from litex.soc.integration.export import get_csr_header, get_linker_regions, get_mem_header, get_soc_header
from litex.soc.integration.soc import SoCError
from litex.soc.integration.soc_core import SoCCore

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.litex.layout import ROM_BYTES
from cdma.hdl.litex.module import add_cdma, write_headers

__all__ = ["TOP", "CdmaSoC", "plain_errors", "simulation_soc"]

TOP = "cdma_soc"
"""Name of the module that :func:`simulation_soc` makes."""

_SRAM_BYTES = 0x2000
_SIMULATED_HZ = 50_000_000
"""The clock of a simulation counts in cycles alone; LiteDRAM computes from it how often it refreshes."""

_DFII = {
    "DFII_CONTROL_CKE": 2, "DFII_CONTROL_ODT": 4, "DFII_CONTROL_RESET_N": 8,
    "DFII_COMMAND_CS": 1, "DFII_COMMAND_WE": 2, "DFII_COMMAND_CAS": 4, "DFII_COMMAND_RAS": 8,
}
"""Bits of LiteDRAM's registers by which a processor drives the DRAM's pins."""


class CdmaSoC(SoCCore):
    """VexRiscv, memories of block RAM, a UART, a timer and the engine on one Wishbone bus.

    ::

        VexRiscv --+-- ROM: firmware, dump         bus: Wishbone, as wide as the engine's beats
                   +-- SRAM: stack
                   +-- main RAM: tensors, streams, ring  <--+
                   +-- UART, timer                          |
                   +-- registers of the engine              |
        engine ====+==== its masters: lanes and link -------+

    With DRAM, the main RAM is LiteDRAM's, and each master has a port of its own there. The variant ``lite`` of VexRiscv
    has no data cache, so what the engine writes is what the processor reads.

    Parameters
    ----------
    platform
        What it is built for.
    clk_freq : int
        In Hz.
    config : EngineConfig
        The engine.
    crg
        The module that makes the clock ``sys``.
    main_ram_bytes : int
        Size of a main RAM of block RAM; 0 with DRAM.
    dram : tuple, optional
        LiteDRAM's PHY and module, where the main RAM is DRAM that needs no training, as SDR SDRAM.
    uart_name : str
        As LiteX names them: ``serial``, or ``sim`` in a simulation.
    verilog : Path
        As for :class:`cdma.hdl.litex.module.CDMA`.
    """

    def __init__(self, platform: Any, clk_freq: int, config: EngineConfig, *, crg: Any, uart_name: str, verilog: Path,
                 main_ram_bytes: int = 0, dram: tuple[Any, Any] | None = None) -> None:
        super().__init__(platform, clk_freq, cpu_type="vexriscv", cpu_variant="lite",
                         bus_data_width=8 * config.beat_bytes, uart_name=uart_name, integrated_rom_size=ROM_BYTES,
                         integrated_sram_size=_SRAM_BYTES, integrated_main_ram_size=main_ram_bytes)
        self.crg = crg
        self.engine_config = config
        crossbar = None
        if dram is not None:
            self.sdrphy, module = dram
            self.add_sdram("sdram", phy=self.sdrphy, module=module, l2_cache_size=0)
            crossbar = self.sdram.crossbar
        add_cdma(self, config, verilog=verilog, crossbar=crossbar)

    def write_software(self, folder: Path) -> None:
        """Write what firmware includes: addresses, registers and sizes of the SoC, and the driver of the engine.

        Files: ``generated/csr.h``, ``mem.h``, ``soc.h`` and ``regions.ld`` of LiteX; ``generated/dram.h``, which starts
        the DRAM; and those of :func:`cdma.hdl.litex.module.write_headers`. The SoC is complete after it.
        """
        self.finalize()
        generated = folder / "generated"
        generated.mkdir(parents=True, exist_ok=True)
        for name, text in {
            "csr.h": get_csr_header(self.csr.regions, self.constants, with_access_functions=False),
            "mem.h": get_mem_header(self.bus.regions),
            "soc.h": get_soc_header(self.constants, with_access_functions=False),
            "regions.ld": get_linker_regions(self.bus.regions),
            "dram.h": self._dram_header(),
        }.items():
            generated.joinpath(name).write_text(text, encoding="utf-8")
        write_headers(self.engine_config, folder)

    def _dram_header(self) -> str:
        """``dram.h``: what is written to LiteDRAM's registers, one after the other, before the DRAM can be used."""
        steps = []
        if hasattr(self, "sdram"):
            sequence, _ = get_sdram_phy_init_sequence(self.sdrphy.settings, self.sdram.controller.settings.timing)
            for about, address, bank, command, cycles in sequence:
                bits = sum(_DFII[name] for name in command.split("|"))
                steps.append(f"    X({int('CONTROL' in command)}, {bits}, {address}, {bank}, {cycles}) /* {about} */")
        head = "/* X(control, bits, address, bank, cycles to wait) */\n#define DRAM_STEPS(X)"
        return " \\\n".join([head, *steps]) + "\n"

    def words(self, content: bytes) -> list[int]:
        """What a memory on the bus holds, as words of the bus."""
        size = self.bus.data_width // 8
        return [int.from_bytes(content[at:at + size], "little") for at in range(0, len(content), size)]

    def write_rom(self, content: bytes, folder: Path) -> None:
        """Write what the ROM holds where the simulated Verilog reads it."""
        digits = self.bus.data_width // 4
        text = "".join(f"{word:0{digits}x}\n" for word in self.words(content))
        folder.joinpath(f"{TOP}_rom.init").write_text(text, encoding="ascii")


def simulation_soc(config: EngineConfig, main_ram_bytes: int, verilog: Path, *, dram: bool = False) -> CdmaSoC:
    """The SoC for a simulation: the bytes that it prints leave at ``serial_source``, one in each cycle.

    With ``dram``, the main RAM is LiteDRAM with its model of the SDR SDRAM of the ULX3S: 32 MiB, 16 bits wide.
    """
    pins = [("source_valid", 1), ("source_ready", 1), ("source_data", 8),
            ("sink_valid", 1), ("sink_ready", 1), ("sink_data", 8)]
    platform = SimPlatform("SIM", [("sys_clk", 0, Pins(1)),
                                   ("serial", 0, *(Subsignal(name, Pins(width)) for name, width in pins))])
    memory = None
    if dram:
        module = MT48LC16M16(_SIMULATED_HZ, "1:1")
        memory = SDRAMPHYModel(module=module, data_width=16, clk_freq=_SIMULATED_HZ), module
    with plain_errors():
        return CdmaSoC(platform, _SIMULATED_HZ, config, crg=CRG(platform.request("sys_clk")), uart_name="sim",
                       verilog=verilog, main_ram_bytes=0 if dram else main_ram_bytes, dram=memory)


@contextmanager
def plain_errors() -> Iterator[None]:
    """While entered, LiteX logs nothing, and what it finds wrong with a SoC is a ValueError of one line.

    LiteX describes a mistake in its log, with colours and over several lines, and then closes the standard error.

    Raises
    ------
    ValueError
        If LiteX refuses the SoC.
    """
    said: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno >= logging.ERROR:
                said.append(record.getMessage())

    root, collector, errors = logging.getLogger(), Collector(), sys.stderr
    # LiteX sets up a log of its own unless there is one.
    before, root.handlers = root.handlers, [collector]
    try:
        yield
    except SoCError as error:
        text = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", " ".join(said[:1])).split())
        raise ValueError(f"LiteX refuses the SoC: {text}") from error
    finally:
        root.handlers, sys.stderr = before, errors
