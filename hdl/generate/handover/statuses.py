"""What each status means and what a driver does about it: the texts of the C header and of the documentation."""

from __future__ import annotations

from cdma.hdl.engine.transfer.records import Status

__all__ = ["ADVICE", "MEANINGS"]

MEANINGS: dict[Status, str] = {
    Status.OK: "done",
    Status.BAD_OPERATION: "bad descriptor: the operation is not that of this channel",
    Status.CODING_NOT_BUILT: "bad descriptor: its coding was not built",
    Status.BAD_FLAGS: "bad descriptor: a flag is undefined or not for this operation, contradicts another field, or "
                      "needs hardware that was not built",
    Status.BAD_SOURCE: "bad descriptor: the source is not aligned, or ends beyond the addresses that were built",
    Status.BAD_DESTINATION:
        "bad descriptor: the destination is not aligned, or ends beyond the addresses that were built",
    Status.BAD_RAW_BYTES: "bad descriptor: the raw length is zero, too large, or not a multiple of the coding's "
                          "element size (of 4 with narrowing)",
    Status.BAD_PACKED_BYTES:
        "bad descriptor: the packed length is zero, too large or not a multiple of 4; or not zero for an offload",
    Status.BAD_RESERVED: "bad descriptor: a reserved bit is not zero, or a field of a page list without its flag",
    Status.SOURCE_OUTSIDE_WINDOW: "refused descriptor: the source is not inside the address window of its memory",
    Status.DESTINATION_OUTSIDE_WINDOW: "refused descriptor: the destination, with its whole capacity (offload) or raw "
                                       "length (prefetch), is not inside the address window of its memory",
    Status.BAD_PAGE_LIST: "bad descriptor: the page size is not 2^12 to 2^21 bytes, or the page list has no entry or "
                          "2^28 and more",
    Status.DESTINATION_TOO_SMALL: "the destination's capacity does not hold the result",
    Status.PAGE_MISALIGNED: "an entry of the page list is not a multiple of the page size",
    Status.PAGE_OUTSIDE: "an entry of the page list is beyond the addresses that were built, or its page is not inside "
                         "the link's address window",
    Status.PAGE_LIST_TOO_SHORT: "the block stream needs more pages than the page list has",
    Status.LANE_READ_ERROR: "a memory controller answered a read with an error",
    Status.LANE_WRITE_ERROR: "a memory controller answered a write with an error",
    Status.LINK_READ_ERROR: "the link answered a read of the block stream with an error",
    Status.LINK_WRITE_ERROR: "the link answered a write of the block stream with an error",
    Status.DESCRIPTOR_READ_ERROR: "the link answered the read of a ring's entry with an error",
    Status.PAGE_LIST_READ_ERROR: "the link answered a read of the page list with an error",
    Status.LANE_READ_TIMEOUT: "a memory controller did not answer reads within the time limit",
    Status.LANE_WRITE_TIMEOUT: "a memory controller did not answer writes within the time limit",
    Status.LINK_READ_TIMEOUT: "the link did not answer reads within the time limit",
    Status.LINK_WRITE_TIMEOUT: "the link did not answer writes within the time limit",
    Status.DESCRIPTOR_READ_TIMEOUT:
        "the link did not answer reads within the time limit, so a ring's entry could not be read",
    Status.PAGE_LIST_READ_TIMEOUT:
        "the link did not answer reads within the time limit, so the page list of an offload, or of the next one, "
        "could not be read",
    Status.BAD_CODING: "malformed stream: a block's coding is neither raw nor the descriptor's, or marks a whole "
                       "block as short or a short one as whole",
    Status.BAD_SEQUENCE: "malformed stream: a block's sequence number is not the next one",
    Status.BAD_LENGTH: "malformed stream: a block's payload length is impossible for its coding and raw length, or the "
                       "length field of its short block is not its raw length",
    Status.TRUNCATED: "malformed stream: it ends before its last block does",
    Status.TRAILING: "malformed stream: bytes follow its last block",
    Status.BAD_PADDING: "malformed stream: the bytes that pad a block are not zero",
    Status.BAD_PAYLOAD: "malformed stream: the payload of a block contradicts itself, or does not expand to its raw "
                        "length",
    Status.CRC_MISMATCH: "the CRC-32C of the stream is not the expected one",
    Status.BUFFER_PARITY: "a memory of a lane had an error of parity",
    Status.ABORTED: "stopped by the abort register or by a soft reset",
}
"""One sentence for each status, without a full stop."""

_DESCRIPTOR = "A mistake of the driver; nothing was read or written. Correct the field."
_WINDOW = ("Nothing was read or written. The descriptor asks for memory that its software must not use, or the window "
           "is too small: whoever set it knows.")
_MEMORY = "`lane`, `resp` and the address of the burst (`place`) say where. Check the mapping, then try again."
_SILENT = (
    "The port is isolated (a lane's number is in `lane`). While its bit in `STATUS` is 1, do not use the transfer's "
    "memory for anything else. Bring the port back and try again; the status stays the same until the port answers.")
_PAGE = (
    "`place` is the byte of the stream at which the page begins. Nothing was read or written at this entry's address. "
    "Correct the list.")
_STREAM = "`place` is the block's number. Fetch the stream again; if it fails again, the data are lost."

ADVICE: dict[Status, str] = {
    Status.OK: "`bytes`, `nonzero`, `raw_blocks` and `crc` are valid.",
    **{status: _DESCRIPTOR for status in Status if 0 < status.value < 0x10},
    Status.SOURCE_OUTSIDE_WINDOW: _WINDOW,
    Status.DESTINATION_OUTSIDE_WINDOW: _WINDOW,
    Status.DESTINATION_TOO_SMALL:
        "`place` is the number of the first block that did not fit. Nothing was written beyond the capacity. Use a "
        "larger one: without NO_FALLBACK, the raw length rounded up to 4, plus 4 bytes per block, always suffices.",
    Status.PAGE_MISALIGNED: _PAGE,
    Status.PAGE_OUTSIDE: _PAGE,
    Status.PAGE_LIST_TOO_SHORT:
        "`place` is the byte of the stream at which the missing page begins. Give a longer list: pages for the whole "
        "capacity always suffice.",
    **{status: _MEMORY for status in Status if 0x20 <= status.value < 0x24},
    Status.PAGE_LIST_READ_ERROR: _MEMORY,
    Status.DESCRIPTOR_READ_ERROR:
        "The ring is disabled and `place` is the entry's address; tag and operation are 0. Correct the mapping, then "
        "enable the ring again: the engine reads this entry again.",
    **{status: _SILENT for status in Status if 0x28 <= status.value < 0x2C},
    Status.PAGE_LIST_READ_TIMEOUT: _SILENT,
    Status.DESCRIPTOR_READ_TIMEOUT:
        "The ring is disabled and `place` is the entry's address; tag and operation are 0. Bring the link back, then "
        "enable the ring again: the engine reads this entry again.",
    **{status: _STREAM for status in Status if 0x30 <= status.value < 0x40},
    Status.TRAILING:
        "`place` is the number of blocks of the transfer; the excess bytes follow the last of them. Check the packed "
        "length, then fetch the stream again; if it fails again, the data are lost.",
    Status.CRC_MISMATCH:
        "`crc` is the CRC of the stream. The destination was written, but its content is not to be trusted. Fetch the "
        "stream again.",
    Status.BUFFER_PARITY:
        "`lane` says where. The destination is not to be trusted: what left before the error was found may be wrong. "
        "The source is as it was: try again. Errors that come back in the same lane mean a broken memory.",
    Status.ABORTED: "The destination is partly written. The next descriptor starts by itself.",
}
"""What a driver does about each status."""
