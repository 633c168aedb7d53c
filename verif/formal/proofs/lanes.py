"""Proofs of lanes: what a lane of prefetch asks to be written is its blocks, each at its place."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import Flow

from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.writer import AxiWriter
from cdma.hdl.engine.lanes import prefetch
from cdma.hdl.engine.lanes.prefetch import PrefetchLane
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.buffers import Watch
from cdma.verif.formal.proofs.parts import FifoInside, choose, moves

__all__ = ["PROOFS"]

_CONFIG = EngineConfig(lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=1024, buffer_bytes=1280,
                       address_bits=32, narrowing=True)
_OPEN = 4       # requests that a lane holds


def _free(h: Harness, real: Any, made: dict[str, Any]) -> Any:
    """A class with the ports of a component, whose outputs are free; what is made of it is kept by its name."""
    class Free(real):
        def elaborate(self, platform: object) -> Module:
            m, name = Module(), real.__name__
            made[name] = self
            m.d.comb += [Value.cast(value).eq(h.free(len(Value.cast(value)), f"{name}_{'_'.join(map(str, path))}"))
                         for path, member, value in self.signature.flatten(self) if member.flow is Flow.Out]
            return m

    return Free


def _requests(h: Harness) -> None:
    """The writer of a lane of prefetch is asked for each block that begins, in order, for its address and its raw
    bytes, twice as many where values are widened, and for nothing else, whatever decompressor and writer do; none is
    lost, and what the lane discards is not asked for."""
    made: dict[str, Any] = {}
    with (patch.object(prefetch, "BlockDecompressor", _free(h, BlockDecompressor, made)),
          patch.object(prefetch, "AxiWriter", _free(h, AxiWriter, made))):
        dut = h.add("dut", PrefetchLane(_CONFIG))
    h.drive(dut.i, "i")
    stop, = choose(h, dut, ("stop",))
    row, block, writer = dut.i.payload, dut.i.payload.block, made["AxiWriter"]
    begins = h.named("begins", dut.i.valid & row.first)
    h.assume("block_is_some", ~begins | ((block.raw_bytes != 0) & (block.raw_bytes <= Mux(
        block.narrow == Narrowing.NONE, _CONFIG.block_bytes, _CONFIG.block_bytes // 2))))
    h.assume("block_is_aligned", ~begins | (block.address % _CONFIG.beat_bytes == 0))

    enters = h.named("enters", begins & dut.i.ready & ~stop & ~h.inner("dut.bad"))
    leaves, asked = h.named("leaves", moves(writer.i)), writer.i.payload
    wide = Mux(block.narrow == Narrowing.NONE, block.raw_bytes, block.raw_bytes << 1)[:len(asked.bytes)]
    level = Signal(range(_OPEN + 3), name="level")
    h.m.d.sync += level.eq(level + enters - leaves)
    h.check("only_what_entered", ~writer.i.valid | (level != 0))
    watched = Watch(h, enters, Cat(block.address, wide), leaves, Cat(asked.address, asked.bytes), level)
    inside, blocks = FifoInside(h, "dut.requests", _OPEN), FifoInside(h, "dut.blocks", _OPEN, 1)
    h.check("level_is_told", (level == inside.level) & (level <= _OPEN + 1))
    room = h.inner("dut.room")
    h.check("there_is_room", ~room | ((inside.level < _OPEN) & (blocks.level < _OPEN)))
    held = [inside.transfer(number) for number in range(_OPEN + 1)]
    h.check("watched_is_stored", ~watched.held | (Array(held)[watched.ahead] == watched.payload))
    bits = len(block.address)
    for number, each in enumerate(held):
        h.check(f"request_{number}_is_good", (number >= inside.level) | (each[bits:].any() & (
            each[:bits] % _CONFIG.beat_bytes == 0) & (each[bits:] <= _CONFIG.block_bytes)))
    h.check("request_has_bytes", ~writer.i.valid | (asked.bytes != 0))
    h.check("request_is_aligned", ~writer.i.valid | (asked.address % _CONFIG.beat_bytes == 0))
    h.cover("widened", leaves & (asked.bytes == 68) & (asked.address != 0))


PROOFS = (Proof("lane_requests", "hdl/engine/lanes/prefetch.py", _requests, cover_depth=14),)
"""Proofs of lanes."""
