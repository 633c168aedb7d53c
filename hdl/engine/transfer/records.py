"""What control and the data paths exchange: requests, results with their status codes, and events to count."""

from __future__ import annotations

from amaranth.lib import data, enum

from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.pages import PAGE_SIZE_BITS, PAGES_BITS

__all__ = ["BLOCK_BITS", "LENGTH_BITS", "Status", "axi_fault_layout", "events_layout", "request_layout",
           "result_layout"]

LENGTH_BITS = 40
"""Bits of every length in bytes: tensors are shorter than 1 TiB."""

BLOCK_BITS = LENGTH_BITS - 8
"""Bits of a number of blocks, up to 2^31: the smallest ones have 512 bytes."""


class Status(enum.Enum, shape=8):
    """How a descriptor ended; one code per cause."""

    OK = 0x00
    """Done."""
    BAD_OPERATION = 0x01
    """Bad descriptor: the operation is not the one of this queue."""
    CODING_NOT_BUILT = 0x02
    """Bad descriptor: its coding was not built."""
    BAD_FLAGS = 0x03
    """Bad descriptor: a flag that is not defined, contradicts another field, or whose hardware was not built."""
    BAD_SOURCE = 0x04
    """Bad descriptor: the source is not aligned, or ends beyond the addresses that were built."""
    BAD_DESTINATION = 0x05
    """Bad descriptor: the destination is not aligned, or ends beyond the addresses that were built."""
    BAD_RAW_BYTES = 0x06
    """Bad descriptor: raw length zero, too large, or not a multiple of the coding's element size (of 4 with
    narrowing)."""
    BAD_PACKED_BYTES = 0x07
    """Bad descriptor: packed length zero, too large or not a multiple of 4 (prefetch), or not zero (offload)."""
    BAD_RESERVED = 0x08
    """Bad descriptor: a reserved bit is not zero, or a field of a page list without the flag PAGE_LIST."""
    SOURCE_OUTSIDE_WINDOW = 0x09
    """Bad descriptor: the source is not inside the address window of its memory."""
    DESTINATION_OUTSIDE_WINDOW = 0x0A
    """Bad descriptor: the destination, with its whole capacity (offload) or the raw length (prefetch), is not inside
    the address window of its memory."""
    BAD_PAGE_LIST = 0x0D
    """Bad descriptor: the page size is not 2^12 to 2^21 bytes, or the list has no entry or too many."""
    DESTINATION_TOO_SMALL = 0x10
    """The destination's capacity does not hold the result; nothing was written beyond it."""
    PAGE_MISALIGNED = 0x18
    """An entry of the page list is not a multiple of the page size; nothing was read or written there."""
    PAGE_OUTSIDE = 0x19
    """An entry of the page list is beyond the addresses that were built, or its page is not inside the link's window;
    nothing was read or written there."""
    PAGE_LIST_TOO_SHORT = 0x1A
    """The block stream needs more pages than the page list has."""
    LANE_READ_ERROR = 0x20
    """A memory controller answered a read with an error."""
    LANE_WRITE_ERROR = 0x21
    """A memory controller answered a write with an error."""
    LINK_READ_ERROR = 0x22
    """The link answered a read of the block stream with an error."""
    LINK_WRITE_ERROR = 0x23
    """The link answered a write of the block stream with an error."""
    DESCRIPTOR_READ_ERROR = 0x24
    """The link answered the read of a descriptor with an error."""
    PAGE_LIST_READ_ERROR = 0x25
    """The link answered the read of a page list with an error."""
    LANE_READ_TIMEOUT = 0x28
    """A memory controller did not answer reads within the time limit."""
    LANE_WRITE_TIMEOUT = 0x29
    """A memory controller did not answer writes within the time limit."""
    LINK_READ_TIMEOUT = 0x2A
    """The link did not answer reads within the time limit."""
    LINK_WRITE_TIMEOUT = 0x2B
    """The link did not answer writes within the time limit."""
    DESCRIPTOR_READ_TIMEOUT = 0x2C
    """The link did not answer reads within the time limit, so that a descriptor could not be read."""
    PAGE_LIST_READ_TIMEOUT = 0x2D
    """Offload: the link did not answer reads within the time limit, so that a page list could not be read."""
    BAD_CODING = 0x30
    """Malformed stream: a block's coding is neither raw nor the descriptor's, or marks a whole block as short or a
    short one as whole."""
    BAD_SEQUENCE = 0x31
    """Malformed stream: a block's sequence number is not the next one."""
    BAD_LENGTH = 0x32
    """Malformed stream: a block's payload length is impossible for its coding and raw length, or the length field of
    its short block is not its raw length."""
    TRUNCATED = 0x33
    """Malformed stream: it ends before its last block does."""
    TRAILING = 0x34
    """Malformed stream: bytes follow its last block."""
    BAD_PADDING = 0x35
    """Malformed stream: the bytes that pad a block are not zero."""
    BAD_PAYLOAD = 0x36
    """Malformed stream: the payload of a block contradicts itself, or does not expand to its raw length."""
    CRC_MISMATCH = 0x40
    """The CRC-32C of the stream is not the expected one."""
    BUFFER_PARITY = 0x41
    """A memory of a lane had an error of parity."""
    ABORTED = 0x50
    """Stopped by the abort register."""


def request_layout(config: EngineConfig) -> data.StructLayout:
    """A checked transfer, offload or prefetch.

    ``source`` and ``destination`` are byte addresses. The address in device memory is a multiple of ``block_bytes``,
    the address at the link a multiple of ``link_beat_bytes``. ``element`` is the element size of the coding in bytes
    (1, 2 or 4); ``exponents``: it is exponent coding, otherwise zero-value coding. ``fallback``: blocks may stay raw;
    ``leave_raw``: all stay raw (offload). ``narrow``: the format to which float32 values are rounded in the stream; the
    elements of the stream then have 2 bytes. ``raw_bytes`` is the raw length. ``capacity`` is the size of the
    destination in bytes. ``packed_bytes`` is the length of the stream (prefetch). ``check_crc``: compare the stream's
    CRC with ``crc`` (prefetch). ``listed``: the address at the link is that of a list of ``pages`` entries, whose pages
    have ``4 KiB << page_size``; only with ``page_lists``.
    """
    lists = {"listed": 1, "page_size": PAGE_SIZE_BITS, "pages": PAGES_BITS}
    return data.StructLayout({
        "source": config.address_bits, "destination": config.address_bits, "element": 3, "exponents": 1,
        "fallback": 1, "leave_raw": 1, "narrow": Narrowing,
        "raw_bytes": LENGTH_BITS, "capacity": LENGTH_BITS, "packed_bytes": LENGTH_BITS, "check_crc": 1, "crc": 32,
        **(lists if config.page_lists else {}),
    })


def axi_fault_layout(config: EngineConfig) -> data.StructLayout:
    """The first error response an AXI master got: ``resp``, and the first ``address`` of the burst it belongs to."""
    return data.StructLayout({"valid": 1, "resp": 2, "address": config.address_bits})


def result_layout(config: EngineConfig) -> data.StructLayout:
    """The result of a transfer.

    ``lane`` and ``resp`` are set for AXI errors, ``lane`` also for a lane's timeout and for an error of parity.
    ``place`` is the address of the failing burst for AXI errors, the block's number for malformed streams and for a
    destination that is too small, the number of blocks for TRAILING, otherwise 0.
    ``bytes`` counts what was written: the stream (offload) or the raw bytes (prefetch). ``nonzero`` counts non-zero
    elements (offload; 0 for prefetch), ``raw_blocks`` the blocks that were left raw; ``crc`` is the CRC-32C of the
    stream. These four are 0 on an error, except ``crc`` for CRC_MISMATCH.
    """
    return data.StructLayout({
        "status": Status, "lane": 4, "resp": 2, "place": max(config.address_bits, BLOCK_BITS),
        "bytes": LENGTH_BITS, "nonzero": LENGTH_BITS, "raw_blocks": BLOCK_BITS, "crc": 32,
    })


def events_layout(config: EngineConfig) -> data.StructLayout:
    """Events of a cycle: a beat on the link; the numbers of lanes that wait for memory and for a buffer; and with
    ``buffer_parity``, of those that found an error in one of their memories."""
    return data.StructLayout({"link_busy": 1, "memory_stalls": range(config.lanes + 1),
                              "buffer_stalls": range(config.lanes + 1),
                              **({"buffer_errors": range(config.lanes + 1)} if config.buffer_parity else {})})
