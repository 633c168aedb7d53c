"""The records that :mod:`cdma.verif.core.blocks.simulate` exchanges with its bench, as JSON."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.hdl.config.block_core import BlockCoreConfig

__all__ = ["ArrayFiles", "BlockJob", "BlockReport"]


@dataclass(frozen=True)
class ArrayFiles:
    """An array: files of its raw bytes and of its block stream, and the coding of its blocks."""

    raw: str
    stream: str
    coding: int


@dataclass(frozen=True)
class BlockJob:
    """What to send.

    Parameters
    ----------
    config
        The block core. A decompressor gets the blocks of the streams that are not raw.
    arrays
        In their order.
    stalls
        Share of the cycles that either side pauses.
    """

    config: BlockCoreConfig
    arrays: tuple[ArrayFiles, ...]
    stalls: float


@dataclass(frozen=True)
class BlockReport:
    """What was seen, array by array.

    Parameters
    ----------
    taken, given
        The cycles of the first and the last beat that went in and that came out, and the number of beats. Empty where
        there was none.
    differences
        The first block that was wrong, or None.
    failed
        Why the bench ended early, or None.
    """

    taken: tuple[list[int], ...]
    given: tuple[list[int], ...]
    differences: tuple[str | None, ...]
    failed: str | None
