"""Events of the data paths that control counts."""

from __future__ import annotations

from amaranth.lib import data

from cdma.hdl.config.engine import EngineConfig

__all__ = ["events_layout"]


def events_layout(config: EngineConfig) -> data.StructLayout:
    """Events of a cycle: a beat on the link; the numbers of lanes that wait for memory and for a buffer; and with
    ``buffer_parity``, of those that found an error in one of their memories."""
    return data.StructLayout({"link_busy": 1, "memory_stalls": range(config.lanes + 1),
                              "buffer_stalls": range(config.lanes + 1),
                              **({"buffer_errors": range(config.lanes + 1)} if config.buffer_parity else {})})
