"""Merges coded and raw blocks into one stream, and checks their raw lengths."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.packets import ErrorCode
from hdl.common.beat import beat_stream
from hdl.config.engine import EngineConfig

__all__ = ["BlockMerger", "order_layout"]


def order_layout() -> data.StructLayout:
    """A block in the order of the stream: whether it is raw, and whether it is shorter than the others."""
    return data.StructLayout({"raw": 1, "short": 1})


class BlockMerger(wiring.Component):
    """Merges coded and raw blocks into one stream, in order, and checks that each has exactly its raw length.

    ::

        decompressor --> coded --\\
                                  +--> [beats to go] --> o
        raw blocks ----> bypass -/          |
        order ----------------------------->+--> done, bad

    A block that expands to too many bytes is cut off at its raw length; one that expands to too few ends early. The
    output therefore never exceeds the block's place in memory. A wrong length or a decoding error is reported with the
    last beat of ``coded``; after that nothing moves until reset.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    order : In(stream.Signature(order_layout()))
        The blocks, in order; one is taken ahead.
    short_bytes : In(range(block_bytes + 1))
        Raw bytes of the block that is short.
    halved : In(1)
        Blocks that are not short have half of ``block_bytes``; used only in builds with ``narrowing``.
    coded, bypass : In(beat_stream(beat_bytes))
        Packets: coded blocks after the decompressor, and raw blocks.
    code : In(ErrorCode)
        With the last beat of a packet of ``coded``: its result.
    o : Out(beat_stream(beat_bytes))
        As many beats as the raw bytes of a block take. Combinational from the packets, except ``keep``.
    done : Out(1)
        In this cycle a block ended without a fault.
    bad : Out(1)
        A block had a fault; stays until reset.
    """

    order: stream.Interface
    coded: stream.Interface
    bypass: stream.Interface
    o: stream.Interface

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({
            "order": In(stream.Signature(order_layout())), "short_bytes": In(range(config.block_bytes + 1)),
            "halved": In(1), "coded": In(beat_stream(config.beat_bytes)), "bypass": In(beat_stream(config.beat_bytes)),
            "code": In(ErrorCode), "o": Out(beat_stream(config.beat_bytes)), "done": Out(1), "bad": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self._config.beat_bytes
        shift = exact_log2(size)
        beats = self._config.block_bytes // size
        ahead, busy = Signal(), Signal()
        coming = Signal(order_layout(), reset_less=True)
        raw, short = Signal(reset_less=True), Signal(reset_less=True)
        behind = Signal(range(beats), reset_less=True)      # beats of the block after this one
        over = Signal()                                     # the block has all its beats, but its packet continues
        excess = Signal()                                   # and one more beat has come that was not the last
        beat = Signal.like(self.coded.payload, name="beat")
        valid, ready, moves, full, fits = (Signal(name=name) for name in ("valid", "ready", "moves", "full", "fits"))
        most = Mux(self.halved, beats // 2 - 1, beats - 1) if self._config.narrowing else beats - 1
        end = Signal(range(self._config.block_bytes))
        kept = Signal(size)
        m.d.comb += [
            beat.eq(Mux(raw, self.bypass.payload.as_value(), self.coded.payload.as_value())),
            valid.eq(busy & Mux(raw, self.bypass.valid, self.coded.valid)),
            self.o.valid.eq(valid & ~over),
            self.o.payload.data.eq(beat.data),
            self.o.payload.keep.eq(kept),
            self.o.payload.last.eq(full),
            ready.eq(busy & (over | self.o.ready)),
            self.coded.ready.eq(ready & ~raw),
            self.bypass.ready.eq(ready & raw),
            moves.eq(valid & (over | self.o.ready)),
            full.eq(behind == 0),
            end.eq(self.short_bytes - 1),
            kept.eq(Cat(Const(1), *(end[:shift] >= byte for byte in range(1, size))) | ~short.replicate(size)),
            fits.eq((raw | (self.code == ErrorCode.OK))
                    & Mux(over, ~excess & ~beat.keep.any(), full & (beat.keep == kept))),
            self.done.eq(moves & beat.last & fits),
            self.order.ready.eq(~ahead),
        ]
        with m.If(moves):
            m.d.sync += [behind.eq(behind - 1), over.eq(~beat.last & (over | full)),
                         excess.eq(~beat.last & over)]
            with m.If(beat.last):
                m.d.sync += [busy.eq(0), self.bad.eq(~fits)]
        with m.If(self.order.valid & ~ahead):
            m.d.sync += [ahead.eq(1), coming.eq(self.order.payload)]
        with m.If(ahead & ~self.bad & (~busy | self.done)):
            m.d.sync += [
                ahead.eq(0), busy.eq(1), raw.eq(coming.raw), short.eq(coming.short),
                behind.eq(Mux(coming.short, end[shift:], most)),
            ]
        return m
