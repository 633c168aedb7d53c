"""Registers of a write-back ring: a part of the register map."""

from __future__ import annotations

from collections.abc import Iterator

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.register import Access, Field, Register, register_of

__all__ = ["COALESCE_BITS", "RING_INDEX_BITS", "TIME_BITS", "upper_address", "write_back_registers"]

RING_INDEX_BITS = 16
"""Bits of an index into a ring."""

COALESCE_BITS = 16
"""Bits of the number of records that are reported together."""

TIME_BITS = 24
"""Bits of the number of cycles after which records are reported: 16 ms at 1 GHz."""


def upper_address(config: EngineConfig) -> Field:
    """The upper half of an address as the field of a register."""
    if config.address_bits > 32:
        return Field("ADDRESS", 0, config.address_bits - 32, Access.RW, 0, "Bits from 32 on.")
    return Field("ADDRESS", 0, 32, Access.RO, 0, "Bits from 32 on: none was built, so writes change nothing.")


def write_back_registers(config: EngineConfig) -> Iterator[Register]:
    """The registers of a direction's write-back ring."""
    ro, rw = Access.RO, Access.RW
    base = "Link address of the write-back ring. A write is refused while CONTROL.ENABLE reads 1."
    yield register_of("BASE_LO", 0x00, rw, base,
                      Field("ADDRESS", 6, 26, rw, 0, "Bits 31 to 6; the ring begins at a multiple of 64."))
    yield register_of("BASE_HI", 0x04, rw, base, upper_address(config))
    yield register_of(
        "SIZE", 0x08, rw,
        "A write empties the ring: HEAD and TAIL become 0, the phase 1. It is refused while CONTROL.ENABLE reads 1, "
        "and for a size that is not allowed.",
        Field("RECORDS", 0, RING_INDEX_BITS + 1, rw, 2, "Records of 64 bytes: a power of two from 2 to 65536."))
    yield register_of(
        "HEAD", 0x0C, rw, "Written by the driver. An index that is not below the size is refused.",
        Field("INDEX", 0, RING_INDEX_BITS, rw, 0,
              "The record that the driver reads next. The engine may write the records before it again."))
    yield register_of(
        "TAIL", 0x10, ro, "Counted by the engine.",
        Field("INDEX", 0, RING_INDEX_BITS, ro, 0,
              "The record that the engine writes next. The ring is empty when it equals HEAD, and full when HEAD is "
              "the index after it."))
    yield register_of(
        "CONTROL", 0x14, rw,
        "Lets the engine write the ring. Enabling is refused when the ring ends beyond the last address, or is not "
        "inside the link's window.",
        Field("ENABLE", 0, 1, rw, 0,
              "1: completions are written to the ring, and are not in the register window. After a write of 0 it still "
              "reads 1 while a record is being written. It becomes 0 when a write fails: the completion is in the "
              "register window then."))
    yield register_of(
        "STATUS", 0x18, ro, "What the ring is doing.",
        Field("WAITING", 0, 8, ro, 0, "Completions in the queue. No descriptor is started while it is full."),
        Field("PHASE", 16, 1, ro, 1, "Phase of the record that is written next."),
        Field("FULL", 17, 1, ro, 0, "No place is free: HEAD is the index after TAIL."))
    yield register_of(
        "COALESCE", 0x1C, rw, "When IRQ_STATUS gets the completion bit.",
        Field("COUNT", 0, COALESCE_BITS, rw, 1,
              "As soon as so many records are written whose descriptors have the flag 'interrupt'; 0 is taken as 1."))
    yield register_of(
        "TIME", 0x20, rw, "When IRQ_STATUS gets the completion bit at the latest.",
        Field("CYCLES", 0, TIME_BITS, rw, 0,
              "So many cycles after the first such record that was not reported; 0: however long it takes. A write "
              "applies to times that begin after it."))
