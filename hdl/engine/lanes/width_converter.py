"""Converts rows as wide as the link into packets of lane beats."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.beat import beat_stream
from hdl.config.engine import EngineConfig

__all__ = ["WidthConverter", "payload_layout"]


def payload_layout(config: EngineConfig) -> data.StructLayout:
    """A block's payload: place of its last byte, and whether it is raw."""
    return data.StructLayout({"end": range(config.largest_payload), "raw": 1})


class WidthConverter(wiring.Component):
    """Makes a packet of each block: one lane beat per cycle, with no idle cycle between blocks.

    ::

        rows ----> [part of the row] --> o
        payloads -> [beats to go]   ---> last, keep, raw

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    rows : In(stream.Signature(8 * link_beat_bytes))
        Rows; every block begins with a new row.
    payloads : In(stream.Signature(payload_layout(config)))
        Blocks, in the order of their rows.
    o : Out(beat_stream(beat_bytes))
        Their payloads, without padding; combinational from ``rows``.
    raw : Out(1)
        With a beat of ``o``: it belongs to a raw block.
    """

    rows: stream.Interface
    payloads: stream.Interface
    o: stream.Interface

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({
            "rows": In(stream.Signature(8 * config.link_beat_bytes)),
            "payloads": In(stream.Signature(payload_layout(config))),
            "o": Out(beat_stream(config.beat_bytes)), "raw": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self._config.beat_bytes
        shift = exact_log2(size)
        parts = self._config.link_beat_bytes // size
        end = self.payloads.payload.end
        busy = Signal()
        raw = Signal(reset_less=True)
        behind = Signal(len(end) - shift, reset_less=True)      # beats of the block after this one
        tail = Signal(shift, reset_less=True)                   # place of the last byte in the last beat
        part = Signal(range(parts))
        last = Signal()
        moves = Signal()
        m.d.comb += [
            last.eq(behind == 0),
            moves.eq(self.o.valid & self.o.ready),
            self.o.valid.eq(busy & self.rows.valid),
            self.o.payload.data.eq(self.rows.payload.word_select(part, 8 * size)),
            self.o.payload.last.eq(last),
            self.o.payload.keep.eq(Cat(Const(1), *(tail >= byte for byte in range(1, size))) | ~last.replicate(size)),
            self.raw.eq(raw),
            self.rows.ready.eq(moves & (last | (part == parts - 1))),
            self.payloads.ready.eq(~busy | (moves & last)),
        ]
        with m.If(moves):
            m.d.sync += [behind.eq(behind - 1), part.eq(Mux(last, 0, part + 1))]
        with m.If(self.payloads.ready):
            m.d.sync += [busy.eq(self.payloads.valid), raw.eq(self.payloads.payload.raw), behind.eq(end[shift:]),
                         tail.eq(end[:shift])]
        return m
