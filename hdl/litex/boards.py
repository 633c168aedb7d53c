"""The SoC for an FPGA board with SDRAM: LiteX's project, with the firmware in the ROM."""

# The extra [soc] brings LiteX; types are checked without it as well.
# pyright: reportMissingImports=false

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from litedram.modules import MT48LC16M16
from litedram.phy import GENSDRPHY
from litex.build.io import DDROutput
from litex.gen import LiteXModule
from litex.soc.cores.clock import ECP5PLL
from litex_boards.platforms import radiona_ulx3s
from migen import ClockDomain, ClockSignal, Signal

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.litex.firmware import compiler, firmware
from cdma.hdl.litex.layout import fpga
from cdma.hdl.litex.soc import TOP, CdmaSoC, plain_errors

__all__ = ["CLOCK_HZ", "write_board"]

CLOCK_HZ = 25_000_000
"""The clock of SoC and SDRAM: half of what the engine's self-test reaches on this FPGA."""

_OSCILLATOR_HZ = 25e6


class _Clocks(LiteXModule):
    """``sys``, and the clock of the SDRAM, which is a quarter of a period behind, so that its inputs are stable."""

    def __init__(self, platform: Any) -> None:
        self.rst = Signal()
        self.cd_sys = ClockDomain()
        self.cd_sdram = ClockDomain()
        self.pll = pll = ECP5PLL()
        self.comb += pll.reset.eq(platform.request("rst") | self.rst)    # type: ignore[operator]
        pll.register_clkin(platform.request("clk25"), _OSCILLATOR_HZ)
        pll.create_clkout(self.cd_sys, CLOCK_HZ)
        pll.create_clkout(self.cd_sdram, CLOCK_HZ, phase=90)
        self.specials += DDROutput(1, 0, platform.request("sdram_clock"), ClockSignal("sdram"))  # type: ignore[operator]


def write_board(board: str, config: EngineConfig, tensor: bytes, coding: int, folder: Path) -> list[str]:
    """Write the project of a board: Verilog, content of the memories, pins, and LiteX's scripts for Yosys and nextpnr.

    Parameters
    ----------
    board : str
        One of :data:`cdma.hdl.litex.layout.BOARDS`.
    config : EngineConfig
        The engine.
    tensor : bytes
        What the firmware moves; it is in the ROM.
    coding : int
        Number of the coding of its blocks.
    folder : Path
        Where it goes.

    Returns
    -------
    list of str
        Names of the files.

    Raises
    ------
    ValueError
        If there is no such board, or the tensor or the engine does not fit; or as
        :func:`cdma.hdl.litex.firmware.firmware`.
    """
    device = fpga(board)
    compiler()
    folder.mkdir(parents=True, exist_ok=True)
    verilog = folder / f"{config.name}.v"
    verilog.unlink(missing_ok=True)     # of a project that was there before, with other parameters
    platform = radiona_ulx3s.Platform(device=device, toolchain="trellis")
    module = MT48LC16M16(CLOCK_HZ, "1:1")
    with plain_errors():
        phy = GENSDRPHY(platform.request("sdram"), CLOCK_HZ)
        soc = CdmaSoC(platform, CLOCK_HZ, config, crg=_Clocks(platform), uart_name="serial",
                      verilog=verilog, dram=(phy, module))
        rom = firmware(soc, tensor, coding, folder / "firmware")
        soc.rom.mem.init = soc.words(rom)
        soc.rom.mem.depth = len(soc.rom.mem.init)
        platform.sources = [_beside(path, folder, *rest) for path, *rest in platform.sources]
        platform.build(soc, build_dir=str(folder), build_name=TOP, run=False)
    # LiteX names its own Verilog by the whole path, and the folder may be moved.
    script = folder / f"{TOP}.ys"
    script.write_text(script.read_text(encoding="utf-8").replace(f"{folder.resolve()}/", ""), encoding="utf-8")
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def _beside(path: str, folder: Path, *rest: str) -> tuple[str, ...]:
    """A source of the SoC, by its name, in the folder of the project."""
    name = Path(path).name
    if Path(path).resolve() != (folder / name).resolve():
        shutil.copyfile(path, folder / name)
    return (name, *rest)
