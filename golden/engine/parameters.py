"""The parameters of an engine, and which descriptors it refuses because of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from cdma.golden.codec.blocks import check_block_bytes
from cdma.golden.codec.coding import Coding, check_coding, coding_name
from cdma.golden.codec.narrowing import NARROWED_CODINGS, WIDE_BYTES, Narrowing
from cdma.golden.engine.pages import ENTRY_BYTES, PAGE_SIZES
from cdma.golden.engine.records import RECORD_BYTES, Descriptor
from cdma.golden.engine.status import Operation, Status
from cdma.golden.engine.windows import OPEN, Window, Windows

__all__ = ["LENGTH_BITS", "MOST_PAGES", "RING_ENTRIES", "Parameters"]

LENGTH_BITS = 40
"""Bits of every length in bytes."""

MOST_PAGES = 1 << LENGTH_BITS - PAGE_SIZES[0]
"""Entries of a page list are fewer than this."""

RING_ENTRIES = tuple(1 << power for power in range(1, 17))
"""Allowed sizes of a ring, in descriptors."""

_UNDEFINED_FLAGS = 0xFF80
_BEAT_BYTES = (16, 32, 64)
_BURST_BEATS = (16, 32, 64, 128, 256)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of an engine; the fields are those of its configuration.

    Parameters
    ----------
    lanes
        Memory controllers.
    block_bytes
        Raw bytes of a block.
    beat_bytes, link_beat_bytes
        Bytes of a transfer at a lane, and at the link.
    address_bits
        Bits of an address.
    codings
        Codings that were built: those whose short blocks have a length field.
    crc
        Whether the CRC is computed; if not, it is 0 in completions.
    narrowing
        Whether float32 values can be rounded to 16 bits. Blocks then have 1024 bytes or more, as the 16-bit values of
        a block must fill the smallest block.
    burst_beats
        Beats of the longest burst: a failed access is reported with the first address of its burst.
    page_lists
        Whether streams can be in pages.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.
    """

    lanes: int
    block_bytes: int
    beat_bytes: int
    link_beat_bytes: int
    address_bits: int
    codings: tuple[Coding, ...]
    crc: bool = True
    narrowing: bool = False
    burst_beats: int = 256
    page_lists: bool = False

    def __post_init__(self) -> None:
        check_block_bytes(self.block_bytes)
        for each in self.codings:
            if not (coding := check_coding(each)).sized:
                raise ValueError(f"codings must be among {', '.join(coding_name(c) for c in Coding if c.sized)}, "
                                 f"not {coding_name(coding)}")
        for name in ("beat_bytes", "link_beat_bytes"):
            if getattr(self, name) not in _BEAT_BYTES:
                raise ValueError(f"{name} must be 16, 32 or 64, not {getattr(self, name)}")
        if self.burst_beats not in _BURST_BEATS:
            raise ValueError(f"burst_beats must be 16, 32, 64, 128 or 256, not {self.burst_beats}")
        if self.narrowing:
            check_block_bytes(self.block_bytes // 2)
        if not 1 <= self.lanes <= 16:
            raise ValueError(f"lanes must be 1 to 16, not {self.lanes}")
        if not 32 <= self.address_bits <= 64:
            raise ValueError(f"address_bits must be 32 to 64, not {self.address_bits}")

    @classmethod
    def of(cls, config: Any) -> Self:
        """Those of a configuration: its attributes of the same names; the numbers of its codings are ``numbers``."""
        names = (field.name for field in fields(cls) if field.name != "codings")
        return cls(codings=tuple(map(Coding, config.numbers)), **{name: getattr(config, name) for name in names})

    def refusal(self, asked: Descriptor, channel: Operation | None = None, windows: Windows = OPEN) -> Status | None:
        """Why a descriptor is refused before anything is read or written: the first check that fails, or None.

        Parameters
        ----------
        channel
            The direction of the queue it is in; its own when not given.
        windows
            The address windows; source and destination lie inside, the latter with its whole capacity (offload) or
            raw length (prefetch). With a page list, the list lies inside; its pages are checked one by one.
        """
        offload = asked.operation == Operation.OFFLOAD
        most = 1 << LENGTH_BITS
        if asked.operation not in ((channel,) if channel is not None else tuple(Operation)):
            return Status.BAD_OPERATION
        if asked.coding not in self.codings:
            return Status.CODING_NOT_BUILT
        if asked.flags & _UNDEFINED_FLAGS or self._misplaced(asked, offload):
            return Status.BAD_FLAGS
        if any(asked.reserved) or (not asked.page_list and (asked.pages or asked.page_size)):
            return Status.BAD_RESERVED
        if not 0 < asked.raw_bytes < most or asked.raw_bytes % (
                WIDE_BYTES if asked.narrow else Coding(asked.coding).element_bytes):
            return Status.BAD_RAW_BYTES
        if asked.packed_bytes if offload else not 0 < asked.packed_bytes < most or asked.packed_bytes % 4:
            return Status.BAD_PACKED_BYTES
        if asked.page_list and not (0 < asked.pages < MOST_PAGES and asked.page_size in PAGE_SIZES):
            return Status.BAD_PAGE_LIST
        linked = asked.capacity if offload else asked.packed_bytes
        if asked.page_list:
            linked = asked.pages * ENTRY_BYTES
        source, target = (self.block_bytes, asked.raw_bytes), (self.link_beat_bytes, linked)
        if not offload:
            source, target = target, source
        for address, (grain, size), status in ((asked.source, source, Status.BAD_SOURCE),
                                               (asked.destination, target, Status.BAD_DESTINATION)):
            # An address behind the last one is none, even of nothing.
            if address % grain or address + max(size, 1) > 1 << self.address_bits:
                return status
        of_source, of_target = (windows.device, windows.link) if offload else (windows.link, windows.device)
        if not of_source.holds(asked.source, source[1], self.address_bits):
            return Status.SOURCE_OUTSIDE_WINDOW
        if not of_target.holds(asked.destination, target[1], self.address_bits):
            return Status.DESTINATION_OUTSIDE_WINDOW
        return Status.DESTINATION_TOO_SMALL if not offload and asked.capacity < asked.raw_bytes else None

    def takes_ring(self, address: int, entries: int, window: Window = OPEN.link) -> bool:
        """Whether a ring of descriptors can be enabled: it is aligned, its size is allowed, and it lies within the
        addresses and inside the link's window.

        Parameters
        ----------
        address
            Link address of its first entry.
        entries
            Descriptors of 64 bytes that it holds.
        window
            The link's window.
        """
        size = entries * RECORD_BYTES
        return (address >= 0 and address % RECORD_BYTES == 0 and entries in RING_ENTRIES
                and address + size <= 1 << self.address_bits and window.holds(address, size, self.address_bits))

    def _misplaced(self, asked: Descriptor, offload: bool) -> bool:
        """Whether a flag is set that belongs to the other direction, contradicts another flag, or was not built."""
        return ((asked.check_crc and (offload or not self.crc))
                or (not asked.fallback and not offload)
                or (asked.leave_raw and not (offload and asked.fallback))
                or (asked.page_list and not self.page_lists)
                or (asked.narrow != Narrowing.NONE and not (
                    self.narrowing and asked.coding in NARROWED_CODINGS.get(asked.narrow, ()))))
