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

from litex.build.generic_platform import Pins, Subsignal
from litex.build.io import CRG
from litex.build.sim import SimPlatform
from litex.soc.integration.export import get_csr_header, get_linker_regions, get_mem_header, get_soc_header
from litex.soc.integration.soc import SoCError
from litex.soc.integration.soc_core import SoCCore

from hdl.config.engine import EngineConfig
from hdl.litex.module import add_cdma, write_headers

__all__ = ["ROM_BYTES", "TOP", "CdmaSoC", "plain_errors", "simulation_soc"]

TOP = "cdma_soc"
"""Name of the module that :func:`simulation_soc` makes."""

ROM_BYTES = 1 << 18
"""Size of the ROM: the firmware, and the tensor that it moves."""

_SRAM_BYTES = 0x2000


class CdmaSoC(SoCCore):
    """VexRiscv, memories of block RAM, a UART, a timer and the engine on one Wishbone bus.

    ::

        VexRiscv --+-- ROM: firmware, dump         bus: Wishbone, as wide as the engine's beats
                   +-- SRAM: stack
                   +-- main RAM: tensors, streams, ring  <--+
                   +-- UART, timer                          |
                   +-- registers of the engine              |
        engine ====+==== its masters: lanes and link -------+

    The variant ``lite`` of VexRiscv has no data cache, so what the engine writes is what the processor reads.

    Parameters
    ----------
    platform
        Its clock is ``sys_clk``.
    clk_freq : int
        In Hz.
    config : EngineConfig
        The engine.
    main_ram_bytes : int
        Size of the main RAM.
    uart_name : str
        As LiteX names them: ``serial``, or ``sim`` in a simulation.
    verilog : Path
        As for :class:`hdl.litex.module.CDMA`.
    """

    def __init__(self, platform: Any, clk_freq: int, config: EngineConfig, *, main_ram_bytes: int, uart_name: str,
                 verilog: Path) -> None:
        super().__init__(platform, clk_freq, cpu_type="vexriscv", cpu_variant="lite",
                         bus_data_width=8 * config.beat_bytes, uart_name=uart_name, integrated_rom_size=ROM_BYTES,
                         integrated_sram_size=_SRAM_BYTES, integrated_main_ram_size=main_ram_bytes)
        self.crg = CRG(platform.request("sys_clk"))
        self.engine_config = config
        add_cdma(self, config, verilog=verilog)

    def write_software(self, folder: Path) -> None:
        """Write what firmware includes: addresses, registers and sizes of the SoC, and the driver of the engine.

        Files: ``generated/csr.h``, ``generated/mem.h``, ``generated/soc.h``, ``generated/regions.ld``, and those of
        :func:`hdl.litex.module.write_headers`. The SoC is complete after it.
        """
        self.finalize()
        generated = folder / "generated"
        generated.mkdir(parents=True, exist_ok=True)
        for name, text in {
            "csr.h": get_csr_header(self.csr.regions, self.constants, with_access_functions=False),
            "mem.h": get_mem_header(self.bus.regions),
            "soc.h": get_soc_header(self.constants, with_access_functions=False),
            "regions.ld": get_linker_regions(self.bus.regions),
        }.items():
            generated.joinpath(name).write_text(text, encoding="utf-8")
        write_headers(self.engine_config, folder)

    def write_rom(self, content: bytes, folder: Path) -> None:
        """Write what the ROM holds where the simulated Verilog reads it."""
        size = self.bus.data_width // 8
        padded = content + bytes(-len(content) % size)
        words = (padded[at:at + size][::-1].hex() for at in range(0, len(padded), size))
        folder.joinpath(f"{TOP}_rom.init").write_text("\n".join(words) + "\n", encoding="ascii")


def simulation_soc(config: EngineConfig, main_ram_bytes: int, verilog: Path) -> CdmaSoC:
    """The SoC for a simulation: the bytes that it prints leave at ``serial_source``, one in each cycle."""
    pins = [("source_valid", 1), ("source_ready", 1), ("source_data", 8),
            ("sink_valid", 1), ("sink_ready", 1), ("sink_data", 8)]
    platform = SimPlatform("SIM", [("sys_clk", 0, Pins(1)),
                                   ("serial", 0, *(Subsignal(name, Pins(width)) for name, width in pins))])
    with plain_errors():
        return CdmaSoC(platform, int(100e6), config, main_ram_bytes=main_ram_bytes, uart_name="sim", verilog=verilog)


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
