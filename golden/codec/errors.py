"""What is wrong with a malformed stream, and where."""

from __future__ import annotations

import enum

__all__ = ["Reason", "StreamError"]


class Reason(enum.Enum):
    """Why a stream is malformed. A decompressor that does not know the raw length can detect only the first three."""

    TRUNCATED_TAG = "truncated tag"
    """The stream, or the payload of a block, ends where a tag should be or inside one."""
    TRUNCATED_DATA = "truncated data"
    """It ends before the elements that a tag claims, or before a block's payload and padding."""
    TRAILING_BYTES = "trailing bytes"
    """Bytes are left over: a fraction of an element, or more than the raw length needs."""
    BAD_TAG = "bad tag"
    """The tag of a partial last line of known length marks a missing element wrongly: with a 0 in a line stream, with a
    1 where the tags come first."""
    TRUNCATED_FACTS = "truncated facts"
    """The payload of a block ends before its line headers, bases and widths do."""
    BAD_FACTS = "bad facts"
    """A line header or the widths of a line contradict themselves."""
    TRUNCATED_HEADER = "truncated header"
    """The stream ends where a block's header should be or inside one."""
    BAD_CODING = "bad coding"
    """The coding of a block is unknown, or is not the requested one."""
    WRONG_SEQUENCE = "wrong sequence"
    """The sequence is not the block number modulo 256: a block is lost, stale or out of order."""
    BAD_LENGTH = "bad length"
    """The payload is empty, or shorter or longer than the raw bytes of the block can make it."""
    BAD_PADDING = "bad padding"
    """A byte of padding is not zero."""
    CRC_MISMATCH = "CRC mismatch"
    """The CRC-32C of the stream differs from the given one."""


class StreamError(ValueError):
    """A stream is malformed.

    Parameters
    ----------
    reason
        Why.
    offset
        Byte of the stream at which the fault begins: the first byte of the line's tag, of the header or of its field,
        or the first surplus byte; for a CRC, the length of the stream.
    expected
        In words, what was expected there and what was found.
    line
        Number of the line, counted from 0 in its stream or block; None where no line is at fault.
    block
        Number of the block; None in a line stream, and where no block is at fault.
    """

    def __init__(self, reason: Reason, offset: int, expected: str, line: int | None = None,
                 block: int | None = None) -> None:
        self.reason = reason
        self.offset = offset
        self.expected = expected
        self.line = line
        self.block = block
        places = [f"block {block}"] * (block is not None) + [f"line {line}"] * (line is not None) + [f"byte {offset}"]
        super().__init__(f"{reason.value} at {', '.join(places)}: expected {expected}")

    def __reduce__(self) -> tuple[type[StreamError], tuple[Reason, int, str, int | None, int | None]]:
        return type(self), (self.reason, self.offset, self.expected, self.line, self.block)

    def moved(self, offset: int, block: int) -> StreamError:
        """The same error of a payload that begins at ``offset`` of a block stream, in block ``block``."""
        return StreamError(self.reason, self.offset + offset, self.expected, self.line, block)
