"""Status codes of completions: one for each cause."""

from __future__ import annotations

from enum import IntEnum

from cdma.golden.codec.errors import Reason, StreamError

__all__ = ["Operation", "Response", "Status", "status_of"]


class Operation(IntEnum):
    """The operation of a descriptor."""

    OFFLOAD = 1
    """From device memory, compressed, over the link."""
    PREFETCH = 2
    """Over the link, expanded, to device memory."""


class Response(IntEnum):
    """Response of an AXI transaction that failed."""

    SLVERR = 2
    DECERR = 3


class Status(IntEnum):
    """Status of a completion."""

    OK = 0x00
    """Done."""
    BAD_OPERATION = 0x01
    """The operation is neither offload nor prefetch, or belongs to the other queue."""
    CODING_NOT_BUILT = 0x02
    """The coding was not built."""
    BAD_FLAGS = 0x03
    """A flag is undefined, has no meaning for this operation, or needs a feature that was not built."""
    BAD_SOURCE = 0x04
    """The source is not aligned, or ends beyond the last address."""
    BAD_DESTINATION = 0x05
    """The destination is not aligned, or ends beyond the last address."""
    BAD_RAW_BYTES = 0x06
    """The raw length is zero, too large, or not a whole number of elements of the coding."""
    BAD_PACKED_BYTES = 0x07
    """The packed length of a prefetch is zero, too large or not a multiple of 4, or that of an offload is not zero."""
    BAD_RESERVED = 0x08
    """A reserved bit is not zero, or a field of a page list in a descriptor without one."""
    SOURCE_OUTSIDE_WINDOW = 0x09
    """The source is not inside the window of its memory; with a page list, the list."""
    DESTINATION_OUTSIDE_WINDOW = 0x0A
    """The destination is not inside the window of its memory, with its whole capacity (offload) or the raw length
    (prefetch); with a page list, the list."""
    BAD_PAGE_LIST = 0x0D
    """The page size or the number of entries of a page list is not allowed."""
    DESTINATION_TOO_SMALL = 0x10
    """The capacity is too small, for a block of an offload or for the raw length of a prefetch."""
    PAGE_MISALIGNED = 0x18
    """An entry of the page list is not a multiple of the page size."""
    PAGE_OUTSIDE = 0x19
    """An entry of the page list is beyond the last address, or its page is not inside the link's window."""
    PAGE_LIST_TOO_SHORT = 0x1A
    """The stream needs more pages than the page list has."""
    LANE_READ_ERROR = 0x20
    """Device memory answered a read with an error."""
    LANE_WRITE_ERROR = 0x21
    """Device memory answered a write with an error."""
    LINK_READ_ERROR = 0x22
    """The far side answered a read with an error."""
    LINK_WRITE_ERROR = 0x23
    """The far side answered a write with an error."""
    DESCRIPTOR_READ_ERROR = 0x24
    """The far side answered the read of a ring's entry with an error."""
    PAGE_LIST_READ_ERROR = 0x25
    """The far side answered the read of a page list with an error."""
    LANE_READ_TIMEOUT = 0x28
    """Device memory answered no read within the time limit."""
    LANE_WRITE_TIMEOUT = 0x29
    """Device memory answered no write within the time limit."""
    LINK_READ_TIMEOUT = 0x2A
    """The far side answered no read within the time limit."""
    LINK_WRITE_TIMEOUT = 0x2B
    """The far side answered no write within the time limit."""
    DESCRIPTOR_READ_TIMEOUT = 0x2C
    """The far side answered no read within the time limit while a ring's entry was being read or waited to be read."""
    PAGE_LIST_READ_TIMEOUT = 0x2D
    """The far side answered no read within the time limit, so that an offload could not read its page list, or the next
    one's, which is read ahead."""
    BAD_CODING = 0x30
    """A block's coding is neither raw nor the descriptor's, or marks a whole block as short or a short one as whole."""
    BAD_SEQUENCE = 0x31
    """A block's sequence is not its number modulo 256."""
    BAD_LENGTH = 0x32
    """A block's payload is longer or shorter than its raw length allows, or the length field of a short block is not
    its raw length."""
    TRUNCATED = 0x33
    """The stream ends before the end of its last block."""
    TRAILING = 0x34
    """The stream continues after its last block."""
    BAD_PADDING = 0x35
    """A byte of a block's padding is not zero."""
    BAD_PAYLOAD = 0x36
    """A block's payload contradicts itself, or does not expand to exactly its raw length."""
    CRC_MISMATCH = 0x40
    """The CRC-32C of the stream differs from the expected one."""
    BUFFER_PARITY = 0x41
    """A memory of a lane had an error of parity."""
    ABORTED = 0x50
    """The driver ended the transfer."""


# Reasons for which no line is at fault; all others are faults of a payload.
_OF_FRAMES = {
    Reason.BAD_CODING: Status.BAD_CODING,
    Reason.WRONG_SEQUENCE: Status.BAD_SEQUENCE,
    Reason.BAD_LENGTH: Status.BAD_LENGTH,
    Reason.TRUNCATED_HEADER: Status.TRUNCATED,
    Reason.TRUNCATED_DATA: Status.TRUNCATED,
    Reason.BAD_PADDING: Status.BAD_PADDING,
    Reason.TRAILING_BYTES: Status.TRAILING,
}


def status_of(fault: StreamError) -> tuple[Status, int]:
    """Status of a malformed stream, and its place: the number of the block, or the count of blocks for TRAILING."""
    assert fault.block is not None
    status = _OF_FRAMES.get(fault.reason) if fault.line is None else None
    if status is None:
        return Status.BAD_PAYLOAD, fault.block
    return status, fault.block + (status is Status.TRAILING)
