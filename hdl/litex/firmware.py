"""Compiles the firmware of the SoC, with the tensor that it moves."""

# The extra [soc] brings LiteX; types are checked without it as well.
# pyright: reportMissingImports=false

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hdl.config.engine import EngineConfig
from hdl.engine.control.descriptor import RECORD_BYTES
from hdl.litex.soc import ROM_BYTES, CdmaSoC

__all__ = ["PARTS", "FirmwareError", "Layout", "compiler", "firmware"]

PARTS = 8
"""Descriptors that the firmware puts into a ring at most; each moves a part of the tensor."""

_PROGRAM = Path(__file__).parent / "program"
_COMPILERS = ("riscv64-unknown-elf-gcc", "riscv32-unknown-elf-gcc", "riscv-none-elf-gcc")
_RING_ENTRIES = 16
_CODE_BYTES = 1 << 14


class FirmwareError(ValueError):
    """The compiler is missing or refuses the firmware; the message is one line."""


@dataclass(frozen=True)
class Layout:
    """Where the firmware keeps things in main RAM.

    ::

        0          stream_at             back_at              ring_at          main_ram_bytes
        | tensor   | streams, by parts   | what comes back    | ring           |

    Parameters
    ----------
    config : EngineConfig
        The engine; all places are multiples of its blocks.
    tensor_bytes : int
        A multiple of 4.

    Raises
    ------
    ValueError
        If the tensor is empty, has a wrong length, or does not fit the ROM beside the code.
    """

    config: EngineConfig
    tensor_bytes: int

    def __post_init__(self) -> None:
        most = ROM_BYTES - _CODE_BYTES
        if self.tensor_bytes % 4 or not 4 <= self.tensor_bytes <= most:
            raise ValueError(f"the tensor must have 4 to {most} bytes, a multiple of 4, not {self.tensor_bytes}")

    @property
    def part_bytes(self) -> int:
        """Bytes of a part; the last may be shorter."""
        return self._whole(-(-self.tensor_bytes // PARTS))

    @property
    def parts(self) -> int:
        """How many there are."""
        return -(-self.tensor_bytes // self.part_bytes)

    @property
    def part_stream_bytes(self) -> int:
        """Room for the stream of a part, whatever it holds."""
        return self._whole(self.part_bytes + 4 * (self.part_bytes // self.config.block_bytes))

    @property
    def stream_bytes(self) -> int:
        """Room for all streams, or for that of the whole tensor."""
        return self.parts * self.part_stream_bytes

    @property
    def stream_at(self) -> int:
        """Place of the streams."""
        return self._whole(self.tensor_bytes)

    @property
    def back_at(self) -> int:
        """Place of what comes back."""
        return self.stream_at + self.stream_bytes

    @property
    def ring_at(self) -> int:
        """Place of the ring."""
        return self.back_at + self._whole(self.tensor_bytes)

    @property
    def main_ram_bytes(self) -> int:
        """Bytes of main RAM that hold it all: a power of two."""
        return 1 << (self.ring_at + _RING_ENTRIES * RECORD_BYTES - 1).bit_length()

    def header(self, coding: int) -> str:
        """``engine.h``: the engine's registers, the tensor and these places, for C."""
        values = {
            "TENSOR_BYTES": self.tensor_bytes, "TENSOR_CODING": coding, "TENSOR_PARTS": self.parts,
            "PART_BYTES": self.part_bytes, "PART_STREAM_BYTES": self.part_stream_bytes, "TENSOR_AT": 0,
            "STREAM_AT": self.stream_at, "STREAM_BYTES": self.stream_bytes, "BACK_AT": self.back_at,
            "RING_AT": self.ring_at,
        }
        lines = (f"#define {name} {value}u" for name, value in values.items())
        return "\n".join([f'#include "{self.config.name}_regs.h"', *lines, ""])

    def _whole(self, length: int) -> int:
        """A length rounded up to whole blocks."""
        size = self.config.block_bytes
        return -(-length // size) * size


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
