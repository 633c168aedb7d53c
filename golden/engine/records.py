"""Descriptors and completions as a driver writes and reads them: 64 bytes, little-endian."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from cdma.golden.engine.status import Status

__all__ = ["RECORD_BYTES", "Completion", "Descriptor"]

RECORD_BYTES = 64
"""Bytes of a descriptor, and of a completion."""

_DESCRIPTOR = struct.Struct("<BBHIQQQQQI3I")
_COMPLETION = struct.Struct("<IBBBBIIQQQQI3I")
_INTERRUPT, _CHECK_CRC, _NO_FALLBACK, _LEAVE_RAW = 1, 2, 4, 8
_NARROW_LSB, _NARROW_BITS = 4, 2
_NARROW = ((1 << _NARROW_BITS) - 1) << _NARROW_LSB
_PAGE_LIST = 1 << 6
_PAGE_SIZE_BITS = 8
_DEFINED_FLAGS = _INTERRUPT | _CHECK_CRC | _NO_FALLBACK | _LEAVE_RAW | _NARROW | _PAGE_LIST
_BITS = {"operation": 8, "coding": 8, "tag": 32, "source": 64, "destination": 64, "raw_bytes": 64,
         "capacity": 64, "packed_bytes": 64, "crc": 32, "narrow": _NARROW_BITS, "other_flags": 16,
         "pages": 32, "page_size": _PAGE_SIZE_BITS}
_RESERVED_BITS = (32 - _PAGE_SIZE_BITS, 32)


@dataclass(frozen=True, kw_only=True)
class Descriptor:
    """A request for a transfer; fields are not checked here, the engine checks them.

    Parameters
    ----------
    operation
        1 offload, 2 prefetch.
    coding
        Number of the :class:`cdma.golden.codec.coding.Coding` that every block has which is not raw.
    source, destination
        Byte addresses.
    raw_bytes
        Raw length.
    capacity
        Bytes the destination has room for.
    packed_bytes
        Length of the block stream (prefetch).
    crc
        Expected CRC-32C, for ``check_crc``.
    tag
        A number of the driver's own.
    interrupt, check_crc, fallback, leave_raw
        Flags; ``fallback`` False forbids raw blocks, ``leave_raw`` makes every block raw.
    narrow
        Format that float32 values are rounded to before they are coded: 0 for none, or one of
        :class:`cdma.golden.codec.narrowing.Narrowing`.
    page_list
        Flag: the address at the link is that of a list of pages.
    pages, page_size
        Entries of the page list, and the logarithm of the bytes of a page.
    other_flags
        Undefined bits of the flags.
    reserved
        The reserved bits, which must be zero: those above ``page_size``, and the last word.
    """

    operation: int
    coding: int
    source: int
    destination: int
    raw_bytes: int
    capacity: int
    packed_bytes: int = 0
    crc: int = 0
    tag: int = 0
    interrupt: bool = False
    check_crc: bool = False
    fallback: bool = True
    leave_raw: bool = False
    narrow: int = 0
    page_list: bool = False
    pages: int = 0
    page_size: int = 0
    other_flags: int = 0
    reserved: tuple[int, int] = (0, 0)

    @property
    def flags(self) -> int:
        """The 16 bits of the flags."""
        return (_INTERRUPT * self.interrupt | _CHECK_CRC * self.check_crc | _NO_FALLBACK * (not self.fallback)
                | _LEAVE_RAW * self.leave_raw | self.narrow << _NARROW_LSB | _PAGE_LIST * self.page_list
                | self.other_flags)

    def pack(self) -> bytes:
        """The 64 bytes.

        Raises
        ------
        ValueError
            If a field does not fit into its bits.
        """
        for name, bits in _BITS.items():
            _check(name, getattr(self, name), bits)
        for word, bits in zip(self.reserved, _RESERVED_BITS, strict=True):
            _check("reserved", word, bits)
        if self.other_flags & _DEFINED_FLAGS:
            raise ValueError(f"other_flags must leave bits {_DEFINED_FLAGS:#x} clear, which have names, not "
                             f"{self.other_flags:#x}")
        return _DESCRIPTOR.pack(self.operation, self.coding, self.flags, self.tag, self.source,
                                self.destination, self.raw_bytes, self.capacity, self.packed_bytes, self.crc,
                                self.pages, self.page_size | self.reserved[0] << _PAGE_SIZE_BITS, self.reserved[1])

    @classmethod
    def unpack(cls, record: bytes) -> Descriptor:
        """The descriptor in 64 bytes.

        Raises
        ------
        ValueError
            If there are not 64.
        """
        (operation, coding, flags, tag, source, destination, raw_bytes, capacity, packed_bytes, crc,
         pages, sizes, last) = _DESCRIPTOR.unpack(_whole(record, "descriptor"))
        return cls(operation=operation, coding=coding, source=source, destination=destination,
                   raw_bytes=raw_bytes, capacity=capacity, packed_bytes=packed_bytes, crc=crc, tag=tag,
                   interrupt=bool(flags & _INTERRUPT), check_crc=bool(flags & _CHECK_CRC),
                   fallback=not flags & _NO_FALLBACK, leave_raw=bool(flags & _LEAVE_RAW),
                   narrow=(flags & _NARROW) >> _NARROW_LSB, other_flags=flags & ~_DEFINED_FLAGS,
                   page_list=bool(flags & _PAGE_LIST), pages=pages, page_size=sizes % (1 << _PAGE_SIZE_BITS),
                   reserved=(sizes >> _PAGE_SIZE_BITS, last))


@dataclass(frozen=True, kw_only=True)
class Completion:
    """The result of a descriptor.

    Parameters
    ----------
    tag, operation
        Copied from the descriptor.
    status
        Success, or the cause of the failure.
    lane, response
        AXI errors: the lane (0 for the link) and the response.
    crc
        CRC-32C of the block stream; 0 after an error, except after CRC_MISMATCH.
    raw_blocks
        Blocks that were left raw.
    bytes_written
        Bytes of the stream (offload) or of the tensor (prefetch); 0 after an error.
    nonzero
        Non-zero elements (offload).
    place
        AXI errors: first address of the burst. Malformed streams and small destinations: number of the block, from 0;
        TRAILING: number of blocks. Bad pages: byte of the stream at which the page begins.
    pages
        Pages that the stream takes; 0 after an error, and for streams that are not in pages.
    cycles
        From the start of the descriptor to its completion; ignored in comparisons.
    """

    tag: int
    status: Status
    operation: int
    lane: int = 0
    response: int = 0
    crc: int = 0
    raw_blocks: int = 0
    bytes_written: int = 0
    nonzero: int = 0
    place: int = 0
    pages: int = 0
    cycles: int = field(default=0, compare=False)

    def pack(self) -> bytes:
        """The 64 bytes."""
        return _COMPLETION.pack(self.tag, self.status, self.lane, self.response, self.operation, self.crc,
                                self.raw_blocks, self.bytes_written, self.nonzero, self.cycles, self.place, self.pages,
                                0, 0, 0)

    @classmethod
    def unpack(cls, record: bytes) -> Completion:
        """The completion in 64 bytes, as the engine wrote them.

        Raises
        ------
        ValueError
            If there are not 64, the status is unknown, or a bit is set that has no meaning.
        """
        (tag, status, lane, response, operation, crc, raw_blocks, bytes_written, nonzero, cycles, place,
         pages, *reserved) = _COMPLETION.unpack(_whole(record, "completion"))
        if any(reserved) or response > 3:
            raise ValueError(f"a completion has bits that must be zero: {bytes(record).hex()}")
        return cls(tag=tag, status=Status(status), operation=operation, lane=lane, response=response, crc=crc,
                   raw_blocks=raw_blocks, bytes_written=bytes_written, nonzero=nonzero,
                   place=place, pages=pages, cycles=cycles)


def _check(name: str, value: int, bits: int) -> None:
    if not 0 <= value < 1 << bits:
        raise ValueError(f"{name} must be a number of {bits} bits, not {value}")


def _whole(record: bytes, kind: str) -> bytes:
    if len(record) != RECORD_BYTES:
        raise ValueError(f"a {kind} has {RECORD_BYTES} bytes, not {len(record)}")
    return bytes(record)
