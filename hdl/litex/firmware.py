"""Compiles the firmware of the SoC, with the tensor that it moves."""

# The extra [soc] brings LiteX; types are checked without it as well.
# pyright: reportMissingImports=false

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from cdma.hdl.litex.layout import Layout
from cdma.hdl.litex.soc import CdmaSoC

__all__ = ["FirmwareError", "compiler", "firmware"]

_PROGRAM = Path(__file__).parent / "program"
_COMPILERS = ("riscv64-unknown-elf-gcc", "riscv32-unknown-elf-gcc", "riscv-none-elf-gcc")


class FirmwareError(ValueError):
    """The compiler is missing or refuses the firmware; the message is one line."""


def compiler() -> str:
    """The path of a compiler for RISC-V without an operating system.

    Raises
    ------
    FirmwareError
        If there is none.
    """
    for name in _COMPILERS:
        if path := shutil.which(name):
            return path
    raise FirmwareError(f"the firmware needs a compiler for RISC-V, but none of {', '.join(_COMPILERS)} is on PATH: "
                        "install one (Debian and Ubuntu: apt install gcc-riscv64-unknown-elf)")


def firmware(soc: CdmaSoC, tensor: bytes, coding: int, folder: Path) -> bytes:
    """Compile the firmware in a folder.

    Parameters
    ----------
    soc : CdmaSoC
        What it runs on.
    tensor : bytes
        What it moves.
    coding : int
        Number of the coding of its blocks.
    folder : Path
        Gets the headers, the tensor, and ``firmware.elf``.

    Returns
    -------
    bytes
        What the ROM holds.

    Raises
    ------
    FirmwareError
        If there is no compiler, or it refuses the firmware.
    ValueError
        If the length of the tensor is not allowed.
    """
    gcc = compiler()
    layout = Layout(soc.engine_config, len(tensor))
    soc.write_software(folder)
    folder.joinpath("engine.h").write_text(layout.header(coding), encoding="utf-8")
    folder.joinpath("dump.bin").write_bytes(tensor)
    _run([gcc, *soc.cpu.gcc_flags.split(), "-std=c99", "-O2", "-Wall", "-Wextra", "-ffreestanding", "-nostdlib",
          "-static", "-I.", "-T", str(_PROGRAM / "link.ld"), str(_PROGRAM / "start.S"), str(_PROGRAM / "main.c"),
          "-lgcc", "-o", "firmware.elf"], folder)
    _run([gcc.removesuffix("gcc") + "objcopy", "-O", "binary", "firmware.elf", "firmware.bin"], folder)
    return folder.joinpath("firmware.bin").read_bytes()


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line] or [f"exit code {done.returncode}"]
        raise FirmwareError(f"{Path(command[0]).name} does not make the firmware: {said[0].strip()}")
