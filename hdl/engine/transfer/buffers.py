"""The memories of a lane that have parity, and how an error is injected into one of them."""

from __future__ import annotations

from amaranth.lib import data, enum

from cdma.hdl.config.engine import EngineConfig

__all__ = ["OFFLOAD_MEMORIES", "PREFETCH_MEMORIES", "LaneMemory", "inject_layout"]

_PREFETCH = 8       # number of the first memory of prefetch


class LaneMemory(enum.Enum, shape=4):
    """The memories of a lane, those of both directions."""

    RAW_BEATS = 0
    """Offload: raw beats of blocks whose lengths are looked for."""
    DATA_ROWS = 1
    """Offload: packed rows that wait while the metadata of their block leave."""
    TAG_ROWS = 2
    """Offload: rows of tags."""
    LINE_RECORDS = 3
    """Offload, with exponents: what is known of each line."""
    FACT_BYTES = 4
    """Offload, with exponents: line headers, bases and widths."""
    METADATA_ROWS = 5
    """Offload, with exponents: rows of metadata."""
    FRAMED_ROWS = 6
    """Offload: framed blocks that wait for the link."""
    PAYLOAD_ROWS = 8
    """Prefetch: payloads that came over the link."""
    METADATA_WORDS = 9
    """Prefetch: metadata of these payloads."""
    BURST_BEATS = 10
    """Prefetch, with safe_writes: raw beats of bursts that are not complete."""


OFFLOAD_MEMORIES = sum(each.value < _PREFETCH for each in LaneMemory)
"""Memories of an offload lane, by their numbers from 0 on."""

PREFETCH_MEMORIES = len(LaneMemory) - OFFLOAD_MEMORIES
"""Memories of a prefetch lane, by their numbers from 8 on."""


def inject_layout(config: EngineConfig) -> data.StructLayout:
    """Errors to inject into a lane of a direction: a bit for each of its memories, high for one cycle."""
    return data.StructLayout({"lane": range(max(config.lanes, 2)),
                              "memories": max(OFFLOAD_MEMORIES, PREFETCH_MEMORIES)})
