"""What the data paths let control count."""

from __future__ import annotations

from amaranth.lib import data

from hdl.config.engine import EngineConfig

__all__ = ["events_layout"]


def events_layout(config: EngineConfig) -> data.StructLayout:
    """What counters count, in each cycle: a beat on the link, and lanes that wait for memory and for a buffer."""
    return data.StructLayout({"link_busy": 1, "memory_stalls": range(config.lanes + 1),
                              "buffer_stalls": range(config.lanes + 1)})
