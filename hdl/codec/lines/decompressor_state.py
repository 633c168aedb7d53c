"""The registers and signals that the steps of the decompressor share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Signal
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES, element_layout, tag_bytes
from cdma.hdl.codec.lines.expander import slot_layout
from cdma.hdl.codec.lines.row_buffer import ROWS

__all__ = ["DecompressorState"]


@dataclass(frozen=True)
class DecompressorState:
    """Registers and signals that the steps of the decompressor share.

    ``row`` and ``lane`` are where data is read; ``row_0`` and ``lane_0`` are the same before the ``more`` units of the
    last slot are added; ``passes``: this addition moves to the next row; ``beyond``: the place is after the packet's
    last row, ``beyond_0`` the same before the addition. ``held``: there is a current tag, in ``tag``, shifted so that
    the next beat's slice comes first; ``size`` is its element size, ``mask`` the mask of the next beat, ``index`` that
    beat's number in the line. ``after`` is the row in which the next packet begins, ``stop_row`` the same for the slot
    in the expander. ``slot_free``: a slot can be taken; ``slot_valid``: there is one; ``turns``: the reader moves to
    the next packet in this cycle. The other flags are decisions of the cycle: see ``Decompressor._decide``.
    """

    units: int
    position: int
    beats: int
    many: bool
    row_0: Signal
    lane_0: Signal
    more: Signal
    beyond_0: Signal
    row: Signal
    lane: Signal
    beyond: Signal
    passes: Signal
    held: Signal
    tag: Signal
    index: Signal
    size: Any
    slot: Any
    mask: Signal
    after: Signal
    slot_free: Signal
    slot_valid: Signal
    go: Signal
    fetch: Signal
    bare: Signal
    drop: Signal
    turns: Signal
    stop_row: Signal

    @classmethod
    def of(cls, beat_bytes: int, sizes: tuple[int, ...], pipeline: str) -> DecompressorState:
        """The state for a beat, a set of element sizes and ``small`` or ``fast``."""
        units, beats = beat_bytes // min(sizes), LINE_BYTES // beat_bytes
        position = exact_log2(units)
        flags = ("beyond_0", "beyond", "passes", "held", "slot_free", "slot_valid", "go", "fetch", "bare", "drop",
                 "turns")
        return cls(
            units=units, position=position, beats=beats, many=units > 8 and pipeline == "fast",
            row_0=Signal(ROWS, init=1, name="row_0"), lane_0=Signal(position, name="lane_0"),
            more=Signal(position + 1, name="more"), row=Signal(ROWS, name="row"), lane=Signal(position, name="lane"),
            tag=Signal(8 * tag_bytes(min(sizes)), name="tag", reset_less=True),
            index=Signal(exact_log2(beats), name="index"),
            size=Signal(element_layout(sizes), name="size", reset_less=True),
            slot=Signal(slot_layout(beat_bytes, sizes), name="slot"),
            mask=Signal(units, name="mask", reset_less=True), after=Signal(ROWS, name="after"),
            stop_row=Signal(ROWS, name="stop_row"), **{name: Signal(name=name) for name in flags})
