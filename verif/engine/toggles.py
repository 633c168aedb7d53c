"""Switching activity of a bus: bits that change from one transferred beat to the next."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cdma.verif.common.stream import Bytes

__all__ = ["bus_beats", "toggles"]


def bus_beats(pieces: Iterable[Bytes], beat_bytes: int) -> np.ndarray:
    """The beats in which byte strings pass a bus one after the other, one row per beat; each begins a new beat.

    Parameters
    ----------
    pieces
        Byte strings. In a last beat that is not full, the wires of the missing bytes keep their values.
    beat_bytes
        Width of the bus.
    """
    rows = np.zeros((0, beat_bytes), np.uint8)
    for piece in pieces:
        whole, rest = divmod(piece.size, beat_bytes)
        rows = np.concatenate([rows, piece[:whole * beat_bytes].reshape(whole, beat_bytes)])
        if rest:
            before = rows[-1] if len(rows) else np.zeros(beat_bytes, np.uint8)
            rows = np.vstack([rows, np.concatenate([piece[-rest:], before[rest:]])])
    return rows


def toggles(beats: np.ndarray) -> int:
    """Number of bits that change between consecutive beats; the change to the first beat is not counted."""
    return int(np.bitwise_count(beats[1:] ^ beats[:-1]).sum(dtype=np.int64))
