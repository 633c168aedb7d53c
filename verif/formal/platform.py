"""What components are elaborated for in proofs: memories become registers that invariants can name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib.memory import Memory

__all__ = ["FormalPlatform"]


class FormalPlatform:
    """Takes the place of a platform while a harness is elaborated.

    A row of a memory is a register without a reset. What a read finds of a part that is written in the same cycle is
    free, unless the port is transparent for that write: a design that uses it fails its proof. Synchronisers take, of
    each bit that changes while it is sampled, the old value or the new one.

    Attributes
    ----------
    memories : list of list of Signal
        The rows of each memory, in the order of elaboration.
    """

    def __init__(self, free: Callable[[int, str], Any]) -> None:
        self._free = free
        self.memories: list[list[Signal]] = []

    def get_memory(self, memory: Memory) -> Module:
        """The module built for a memory; Amaranth calls this method by its name."""
        m = Module()
        number = len(self.memories)
        width = len(Value.cast(memory.read_ports[0].data))
        rows = [Signal(width, name=f"row_{row}", reset_less=True) for row in range(memory.depth)]
        self.memories.append(rows)
        writes = [(write, Cat(bit.replicate(width // len(write.en)) for bit in write.en))
                  for write in memory.write_ports]
        if not writes:
            given = [int(value) for value in memory.data.init]
            m.d.comb += [row.eq(value) for row, value in zip(rows, given, strict=True)]
        for write, mask in writes:
            for row, value in enumerate(rows):
                with m.If(write.addr == row):
                    m.d[write.domain] += value.eq((Value.cast(write.data) & mask) | (value & ~mask))
        for place, read in enumerate(memory.read_ports):
            found = Array(rows)[read.addr] if memory.depth > 1 else rows[0]
            if read.domain == "comb":
                m.d.comb += Value.cast(read.data).eq(found)
                continue
            for write, mask in writes:
                met = (write.addr == read.addr).replicate(width) & mask
                other = (Value.cast(write.data) if write in read.transparent_for
                         else self._free(width, f"collision_{number}_{place}"))
                found = (found & ~met) | (other & met)
            shown = Signal(width, name=f"shown_{place}", reset_less=True)
            m.d.comb += Value.cast(read.data).eq(shown)
            with m.If(read.en):
                m.d[read.domain] += shown.eq(found)
        return m

    def get_synchronizer(self, synchronizer: Any) -> Module:
        """The module built for a synchroniser; :class:`cdma.hdl.common.synchronizer.Synchronizer` calls it by its
        name."""
        m = Module()
        width = len(synchronizer.i)
        before = Signal(width, name="before", reset_less=True)
        late = self._free(width, "late")
        m.d.sync += before.eq(synchronizer.i)
        m.submodules.stages = synchronizer.stages((synchronizer.i & ~late) | (before & late))
        return m
