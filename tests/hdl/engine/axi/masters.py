"""A reader and a writer at one port, as the engine has them: transfers, faults, and what follows a fault."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Elaboratable, Module, ResetInserter, Signal
from amaranth.lib.wiring import Out

from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.writer import AxiWriter
from tests.hdl.engine.axi.traffic import beats_of
from tests.hdl.ports import Source

__all__ = ["Done", "Masters"]

_LENGTH_BITS = 16


@dataclass
class Done:
    """A read and a write that ran together: the bytes that were read, or None after a fault; whether the write failed;
    the responses of the faults; and the cycles."""

    read: bytes | None
    written: bool
    responses: set[int]
    cycles: int


class Masters(Elaboratable):
    """Both masters in front of a design with the port ``i``.

    Parameters
    ----------
    dut
        The design.
    rng
        Source of every pause.
    beat_bytes, outstanding, most_beats
        Of the masters.
    whole
        Whether addresses of writes wait for their data.
    """

    def __init__(self, dut: Any, rng: random.Random, *, beat_bytes: int, outstanding: int, most_beats: int,
                 whole: bool = False):
        self.dut, self._rng, self._beat_bytes = dut, rng, beat_bytes
        self.reader = AxiReader(32, beat_bytes, _LENGTH_BITS, outstanding, most_beats)
        self.writer = AxiWriter(32, beat_bytes, _LENGTH_BITS, outstanding, most_beats, most_beats * whole)
        self.clear = Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = self.dut
        for name, master in (("reader", self.reader), ("writer", self.writer)):
            m.submodules[name] = ResetInserter(self.clear)(master)
            for each, member in master.axi.signature.members.items():
                outside, inside = getattr(self.dut.i, each), getattr(master.axi, each)
                m.d.comb += outside.eq(inside) if member.flow is Out else inside.eq(outside)
        return m

    async def run(self, ctx: Any, read: tuple[int, int], write: tuple[int, bytes], busy: float = 1.0,
                  stop: int | None = None) -> Done:
        """Reads and writes, address and bytes each, at the same time, until both are done or have failed; then stops
        the masters, waits until they are idle, and clears them.

        Parameters
        ----------
        busy
            Share of the cycles without a pause, at all streams.
        stop
            Cycles after which both are stopped.
        """
        reader, writer, rng = self.reader, self.writer, self._rng
        data = write[1] + bytes(-len(write[1]) % self._beat_bytes)
        sources = [Source(reader.i, [{"address": read[0], "bytes": read[1]}], rng, busy),
                   Source(writer.i, [{"address": write[0], "bytes": len(write[1])}], rng, busy),
                   Source(writer.data, beats_of(data, self._beat_bytes), rng, busy)]
        found, cycles, ended = b"", 0, False
        faults: dict[str, int] = {}
        stopped = False
        while not stopped:
            for source in sources:
                source.offer(ctx)
            ctx.set(reader.o.ready, rng.random() < busy)
            for source in sources:
                source.settle(ctx)
            if ctx.get(reader.o.valid) and ctx.get(reader.o.ready):
                beat = ctx.get(reader.o.payload)
                found += beat.data.to_bytes(self._beat_bytes, "little")[:beat.keep.bit_count()]
                ended = ended or bool(beat.last)
            for name, master in (("read", reader), ("write", writer)):
                if ctx.get(master.fault.valid):
                    faults[name] = ctx.get(master.fault.resp)
            written = not sources[1].left and not sources[2].left and ctx.get(writer.idle)
            stopped = bool((ended or "read" in faults) and (written or "write" in faults)) or cycles == stop
            await ctx.tick()
            cycles += 1
        for source in sources:
            ctx.set(source.port.valid, 0)
        await self._end(ctx)
        good = ended and "read" not in faults
        return Done(found if good else None, bool(written) and "write" not in faults, set(faults.values()), cycles)

    async def _end(self, ctx: Any) -> None:
        """As the supervisor of a path ends a transfer."""
        units = self.reader, self.writer
        for unit in units:
            ctx.set(unit.stop, 1)
        await ctx.tick()
        while not all(ctx.get(unit.idle) for unit in units):
            await ctx.tick()
        ctx.set(self.clear, 1)
        await ctx.tick()
        ctx.set(self.clear, 0)
        for unit in units:
            ctx.set(unit.stop, 0)
