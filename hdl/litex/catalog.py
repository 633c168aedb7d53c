"""The boards for which a SoC can be written. Nothing here needs LiteX."""

from __future__ import annotations

__all__ = ["BOARDS", "fpga"]

BOARDS = {"ulx3s-85f": "LFE5U-85F"}
"""FPGAs of the boards by their names."""


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
