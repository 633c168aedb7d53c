"""Where the lines of a ZVC stream begin: a plain walk from tag to tag, for stimuli and for messages."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.hdl.codec.coding import LINE_BYTES
from cdma.verif.common.stream import Bytes

__all__ = ["Line", "walk"]


@dataclass(frozen=True)
class Line:
    """A line of a stream.

    Parameters
    ----------
    offset
        Of its tag, in bytes.
    tag
        Bit *i* says that element *i* is non-zero.
    held
        Bytes that the stream holds after the tag and before the next line.
    """

    offset: int
    tag: int
    held: int


def walk(packed: Bytes, element_bytes: int) -> list[Line]:
    """The lines of a stream whose tags are whole; the last may hold fewer bytes than its tag claims."""
    tag_bytes = LINE_BYTES // element_bytes // 8
    found: list[Line] = []
    offset = 0
    while packed.size - offset >= tag_bytes:
        tag = int.from_bytes(packed[offset:offset + tag_bytes].tobytes(), "little")
        held = min(tag.bit_count() * element_bytes, packed.size - offset - tag_bytes)
        found.append(Line(offset, tag, held))
        offset += tag_bytes + held
    return found
