"""Memories for tests: what is read of a row in the cycle in which it is written is wrong, and bits can be flipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from amaranth.hdl import Cat, Const, MemoryInstance, Module, Shape, Signal, Value
from amaranth.lib.memory import Memory

__all__ = ["WrongCollisions"]


class WrongCollisions:
    """A platform for designs that must not depend on what a read finds where a write goes on in the same cycle.

    Synthesis is told that it does not matter, so it does not build it. Here, parts of a row that are written while the
    row is read come out inverted, and stay so until the next read.

    Parameters
    ----------
    flips
        By the width of a memory: for each one so wide, in the order in which they are built, a value with a one for
        each bit that is shown inverted.
    """

    def __init__(self, flips: Mapping[int, Iterator[Value]] | None = None) -> None:
        self._flips = flips or {}

    def get_memory(self, memory: Memory) -> Module:
        """The module built for a memory; Amaranth calls this method by its name."""
        m = Module()
        m.submodules.rows = rows = cast(Any, MemoryInstance)(data=memory.data, attrs=memory.attrs)
        flips = next(self._flips.get(Shape.cast(memory.shape).width, iter(())), Const(0))
        for write in memory.write_ports:
            rows.write_port(domain=write.domain, addr=write.addr, data=write.data, en=write.en)
        for number, read in enumerate(memory.read_ports):
            if read.domain == "comb":
                # Shows what the row held before the clock edge that writes it: no collision.
                rows.read_port(domain="comb", addr=read.addr, data=read.data, en=read.en, transparent_for=())
                continue
            width = len(Value.cast(read.data))
            found, wrong = Signal(width, name=f"found_{number}"), Signal(width, name=f"wrong_{number}")
            rows.read_port(domain=read.domain, addr=read.addr, data=found, en=read.en, transparent_for=())
            collided: Value = Const(0, width)
            for write in memory.write_ports:
                part = width // len(write.en)
                written = Cat(bit.replicate(part) for bit in write.en)
                collided = collided | (written & (write.addr == read.addr).replicate(width))
            with m.If(read.en):
                m.d[read.domain] += wrong.eq(collided)
            m.d.comb += Value.cast(read.data).eq(found ^ wrong ^ flips)
        return m
