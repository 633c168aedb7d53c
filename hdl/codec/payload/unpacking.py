"""What the data path of the block decompressor is given of a block, and the faults that it reports."""

from __future__ import annotations

from amaranth.hdl import Cat, Value
from amaranth.lib import data, enum
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES, element_layout
from cdma.hdl.codec.line_record import line_record_layout
from cdma.hdl.common.bits import thermometer

__all__ = ["PayloadError", "data_row_layout", "line_layout", "order_layout", "payload_beat_layout",
           "payload_error_layout", "present_units", "unit_bytes"]


class PayloadError(enum.Enum, shape=4):
    """Result of a block, valid with the beat that carries its ``last``. The first fault of docs/formats.md counts."""

    OK = 0
    """The block is whole."""
    BAD_CODING = 1
    """Its coding is none that is built."""
    BAD_LENGTH = 2
    """Its raw length is 0, more than a block has, or no whole number of its elements."""
    TRUNCATED_TAG = 3
    """The payload ends before the tags do."""
    BAD_TAG = 4
    """The last line of a short block has a 1 for a missing element."""
    TRUNCATED_DATA = 5
    """A tag claims more elements than the payload still holds."""
    TRAILING_BYTES = 6
    """The payload goes on after the data of its last line."""
    BAD_FACTS = 7
    """A line header is none that there is, or the widths of a line take more from its width than it has."""
    TRUNCATED_FACTS = 8
    """The payload ends before the line headers, bases and widths do."""


def present_units(tail: Value, units: int) -> Value:
    """The units of a last beat as a mask: the first ``tail`` ones, or all if it is 0."""
    return Cat(thermometer(tail, units)) | (tail == 0).replicate(units)


def unit_bytes(sizes: tuple[int, ...], exponents: tuple[int, ...] = ()) -> int:
    """Bytes of a unit: a byte with exponents, or else the smallest element size that is built."""
    return 1 if exponents else min(sizes)


def payload_beat_layout(beat_bytes: int) -> data.StructLayout:
    """A beat of a payload, without the length field of a short block.

    ``keep`` counts on the last beat only: its bytes come first, and there is at least one. ``coding`` and
    ``raw_bytes``, the number of raw bytes of the block, count on the first beat only; bit 7 of the coding does not.
    """
    return data.StructLayout({"data": 8 * beat_bytes, "keep": beat_bytes, "last": 1, "coding": 8, "raw_bytes": 16})


def order_layout(beat_bytes: int, sizes: tuple[int, ...], block_bytes: int, exponents: tuple[int, ...] = (),
                 for_lane: bool = False) -> data.StructLayout:
    """A block to unpack. Units are those of :func:`unit_bytes`.

    ``element`` is the element size, one-hot; ``beats`` the raw beats but one; ``tail`` the units of the last beat, 0
    for all; ``start`` the unit of the first row of data at which the data begin; ``bare`` is set if there is no row of
    data, and ``start`` is 0 then. Builds with exponents have two more: ``exponents`` is set if this block has them; and
    with beats of 64 bytes, ``half`` if its tags begin in the upper half of their first word. For a lane, ``raw`` is set
    if the block is raw: it has no words of tags and no lines, no ``element`` is set, and its data are all its units.

    With an ``error`` other than OK the block has no words of tags, no lines and no rows of data: ``bare`` is set,
    ``start`` is 0, and the last beat is the first one of the line at fault: ``beats`` is 0 if no line is.
    """
    position = exact_log2(beat_bytes // unit_bytes(sizes, exponents))
    coding = {"exponents": 1, **({"half": 1} if beat_bytes == 64 else {})} if exponents else {}
    if for_lane:
        coding["raw"] = 1
    return data.StructLayout({
        "element": element_layout(sizes), "beats": range(block_bytes // beat_bytes), "tail": position,
        "start": position, "bare": 1, "error": PayloadError, **coding})


def line_layout() -> data.StructLayout:
    """A line of a block with exponents: its record, and whether it is ``bad``.

    ``bad``: the widths of its groups take more from the line's width than it has. Then they do not matter.
    """
    return data.StructLayout({"record": line_record_layout(), "bad": 1})


def data_row_layout(beat_bytes: int, sizes: tuple[int, ...], exponents: tuple[int, ...] = ()) -> data.StructLayout:
    """A row of data, in units of :func:`unit_bytes`.

    ``last`` is set on the last row of a block. On this row, ``end`` is the number of whole units of the payload, which
    may be 0, and ``ragged`` says that a fraction of a unit follows them.
    """
    return data.StructLayout({
        "data": 8 * beat_bytes, "last": 1, "end": range(beat_bytes // unit_bytes(sizes, exponents) + 1), "ragged": 1})


def payload_error_layout(block_bytes: int) -> data.StructLayout:
    """The result of a block, and the line at fault, counted from 0; 0 where no line is."""
    return data.StructLayout({"code": PayloadError, "line": range(block_bytes // LINE_BYTES)})
