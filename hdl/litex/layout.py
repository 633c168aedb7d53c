"""What is known of a SoC before it is made: the boards, and where the firmware keeps things in main RAM.

Nothing here needs LiteX, so that a mistake in a call is found without it.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.descriptor import RECORD_BYTES

__all__ = ["ADDRESS_BITS", "BOARDS", "PARTS", "ROM_BYTES", "Layout", "fpga"]

BOARDS = {"ulx3s-85f": "LFE5U-85F"}
"""FPGAs of the boards by their names."""

ADDRESS_BITS = 32
"""Bits of an address on the bus."""

ROM_BYTES = 1 << 18
"""Size of the ROM: the firmware, and the tensor that it moves."""

PARTS = 8
"""Descriptors that the firmware puts into a ring at most; each moves a part of the tensor."""

_RING_BYTES = 16 * RECORD_BYTES
_CODE_BYTES = 1 << 14


def fpga(board: str) -> str:
    """The FPGA of a board.

    Raises
    ------
    ValueError
        If there is no such board.
    """
    if board not in BOARDS:
        raise ValueError(f"no board {board!r} for a SoC: there are {', '.join(BOARDS)}")
    return BOARDS[board]


@dataclass(frozen=True)
class Layout:
    """Where the firmware keeps things in main RAM.

    ::

        0          stream_at             back_at              ring_at   records_at   main_ram_bytes
        | tensor   | streams, by parts   | what comes back    | ring    | records  | ... |

    Parameters
    ----------
    config : EngineConfig
        The engine; all places are multiples of its blocks.
    tensor_bytes : int
        A multiple of 4.

    Raises
    ------
    ValueError
        If the tensor is empty, has a wrong length, or does not fit the ROM beside the code; or if the engine has
        addresses of other lengths than the bus.
    """

    config: EngineConfig
    tensor_bytes: int

    def __post_init__(self) -> None:
        if self.config.address_bits != ADDRESS_BITS:
            raise ValueError(f"address_bits must be {ADDRESS_BITS} in a SoC, as on its bus, not "
                             f"{self.config.address_bits}: set it")
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
        """Place of the ring of descriptors."""
        return self.back_at + self._whole(self.tensor_bytes)

    @property
    def records_at(self) -> int:
        """Place of the ring of records."""
        return self.ring_at + _RING_BYTES

    @property
    def main_ram_bytes(self) -> int:
        """Bytes of main RAM that hold it all: a power of two."""
        return 1 << (self.records_at + _RING_BYTES - 1).bit_length()

    def header(self, coding: int) -> str:
        """``engine.h``: the engine's registers, the tensor and these places, for C."""
        values = {
            "TENSOR_BYTES": self.tensor_bytes, "TENSOR_CODING": coding, "TENSOR_PARTS": self.parts,
            "PART_BYTES": self.part_bytes, "PART_STREAM_BYTES": self.part_stream_bytes, "TENSOR_AT": 0,
            "STREAM_AT": self.stream_at, "STREAM_BYTES": self.stream_bytes, "BACK_AT": self.back_at,
            "RING_AT": self.ring_at, "RECORDS_AT": self.records_at,
        }
        lines = (f"#define {name} {value}u" for name, value in values.items())
        return "\n".join([f'#include "{self.config.name}_regs.h"', *lines, ""])

    def _whole(self, length: int) -> int:
        """A length rounded up to whole blocks."""
        size = self.config.block_bytes
        return -(-length // size) * size
