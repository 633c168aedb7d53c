"""The stages of the compressor and the registers of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Signal
from amaranth.lib import data

from cdma.hdl.codec.coding import LINE_BYTES, element_layout

__all__ = ["CompressorStages"]


@dataclass(frozen=True)
class CompressorStages:
    """The stages of a build and the registers that every stage has.

    ``counted``, ``routed``, ``gathered``, ``waits`` and ``final`` are numbers of stages: stage ``counted`` holds the
    counts, ``routed`` the swap bits, ``gathered`` the bytes on their lanes; in ``waits`` the first beat of a line
    waits for its tag; ``final`` is the last stage. With ``many`` units, counts and the tag are registered separately,
    which adds a stage.
    """

    units: int
    beats: int
    many: bool
    counted: int
    routed: int
    gathered: int
    waits: int
    final: int
    valid: list[Signal]
    free: list[Signal]
    body: list[Signal]
    mark: list[Any]
    tags: list[Signal]

    @classmethod
    def of(cls, beat_bytes: int, sizes: tuple[int, ...], pipeline: str) -> CompressorStages:
        """The stages for a beat, a set of element sizes and ``small`` or ``fast``."""
        units, beats = beat_bytes // min(sizes), LINE_BYTES // beat_bytes
        many = units > 8 and pipeline == "fast"
        counted, routed, gathered = (2, 3, 4) if many else (1, 2, 3)
        final = max(gathered, beats if many else beats - 1)
        marks = data.StructLayout({"element": element_layout(sizes), "closes": 1, "last": 1})
        stages = range(final + 1)
        return cls(
            units, beats, many, counted, routed, gathered, final - 1 if many else final, final,
            valid=[Signal(name=f"valid_{k}") for k in stages],
            free=[Signal(name=f"free_{k}") for k in stages],
            body=[Signal(8 * beat_bytes, name=f"body_{k}", reset_less=True) for k in stages],
            mark=[Signal(marks, name=f"mark_{k}", reset_less=True) for k in stages],
            tags=[Signal(units, name=f"tags_{k}", reset_less=True) for k in stages])
