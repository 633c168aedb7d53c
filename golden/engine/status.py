"""What becomes of a descriptor: one code for each cause."""

from __future__ import annotations

from enum import IntEnum

from golden.errors import Reason

__all__ = ["Operation", "Response", "Status", "status_of"]


class Operation(IntEnum):
    """What a descriptor asks for."""

    OFFLOAD = 1
    PREFETCH = 2


class Response(IntEnum):
    """Response of an AXI transaction that failed."""

    SLVERR = 2
    DECERR = 3


class Status(IntEnum):
    """Status of a completion. See docs/errors.md for what to do about each."""

    OK = 0x00
    BAD_OPERATION = 0x01
    BAD_ELEMENT = 0x02
    BAD_FLAGS = 0x03
    BAD_SOURCE = 0x04
    BAD_DESTINATION = 0x05
    BAD_RAW_BYTES = 0x06
    BAD_PACKED_BYTES = 0x07
    BAD_RESERVED = 0x08
    DESTINATION_TOO_SMALL = 0x10
    LANE_READ_ERROR = 0x20
    LANE_WRITE_ERROR = 0x21
    LINK_READ_ERROR = 0x22
    LINK_WRITE_ERROR = 0x23
    DESCRIPTOR_READ_ERROR = 0x24
    BAD_CODING = 0x30
    BAD_SEQUENCE = 0x31
    BAD_LENGTH = 0x32
    TRUNCATED = 0x33
    TRAILING = 0x34
    BAD_PADDING = 0x35
    BAD_PAYLOAD = 0x36
    CRC_MISMATCH = 0x40
    ABORTED = 0x50


_OF_HEADERS = {
    Reason.BAD_CODING: Status.BAD_CODING,
    Reason.WRONG_SEQUENCE: Status.BAD_SEQUENCE,
    Reason.BAD_LENGTH: Status.BAD_LENGTH,
    Reason.BAD_PADDING: Status.BAD_PADDING,
    Reason.TRUNCATED_HEADER: Status.TRUNCATED,
    Reason.CRC_MISMATCH: Status.CRC_MISMATCH,
}


def status_of(reason: Reason, in_lines: bool) -> Status:
    """The status of a malformed stream; ``in_lines`` says that the fault is in the lines of a block's payload."""
    if in_lines:
        return Status.BAD_PAYLOAD
    if reason is Reason.TRUNCATED_DATA:
        return Status.TRUNCATED
    if reason is Reason.TRAILING_BYTES:
        return Status.TRAILING
    return _OF_HEADERS[reason]
