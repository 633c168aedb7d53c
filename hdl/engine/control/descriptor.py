"""Layouts of descriptors and completions: records of 16 little-endian 32-bit words."""

from __future__ import annotations

from collections.abc import Iterator

from amaranth.hdl import Shape
from amaranth.lib import data, enum

from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.engine.transfer.records import Status

__all__ = [
    "COMPLETION_FIELDS", "DESCRIPTOR_FIELDS", "RECORD_BYTES", "RECORD_WORDS", "Operation", "completion_layout",
    "descriptor_layout", "flags_layout", "record_fields"]

RECORD_WORDS = 16
"""32-bit words of a descriptor, and of a completion."""

RECORD_BYTES = 4 * RECORD_WORDS


class Operation(enum.Enum, shape=8):
    """What a descriptor asks for."""

    OFFLOAD = 1
    """From device memory, compressed, to the link."""
    PREFETCH = 2
    """From the link, expanded, to device memory."""


def flags_layout() -> data.StructLayout:
    """Flags of a descriptor.

    ``interrupt`` sets the direction's completion bit of IRQ_STATUS when the descriptor completes. ``check_crc``
    (prefetch) compares the stream's CRC-32C with ``crc``. ``no_fallback`` (offload) codes every block; ``leave_raw``
    (offload) codes no block. ``narrow`` is the format to which an offload rounds float32 values before coding, and from
    which a prefetch widens them. ``page_list``: the stream is in pages; its address is that of a list of their
    addresses. All other bits must be zero.
    """
    return data.StructLayout({"interrupt": 1, "check_crc": 1, "no_fallback": 1, "leave_raw": 1, "narrow": Narrowing,
                              "page_list": 1, "undefined": 9})


def descriptor_layout() -> data.StructLayout:
    """A descriptor.

    ``coding`` is a coding number of docs/formats.md that was built, with bit 7 clear; its lower four bits are the bytes
    of an element. ``tag`` is any number, returned in the completion. ``source`` and ``destination`` are byte addresses,
    ``raw_bytes`` is the raw length. ``capacity`` is the size of the destination in bytes. ``packed_bytes`` is the
    length of the stream (prefetch; zero for offload). ``crc`` is read only with the flag ``check_crc``. ``pages`` and
    ``page_size`` are the entries of the page list and the logarithm of the bytes of a page; without the flag
    ``page_list`` they must be zero, and ``reserved`` always.
    """
    return data.StructLayout({
        "operation": 8, "coding": 8, "flags": flags_layout(), "tag": 32, "source": 64, "destination": 64,
        "raw_bytes": 64, "capacity": 64, "packed_bytes": 64, "crc": 32, "pages": 32, "page_size": 8, "reserved": 56,
    })


def completion_layout() -> data.StructLayout:
    """A completion.

    ``tag`` and ``operation`` are the descriptor's. ``lane``, ``resp``, ``crc``, ``raw_blocks``, ``bytes``, ``nonzero``
    and ``place`` are those of :func:`cdma.hdl.engine.transfer.records.result_layout`. ``cycles`` counts from taking the
    descriptor to its completion. ``pages`` is the number of pages that the stream takes, if it is in pages.
    """
    return data.StructLayout({
        "tag": 32, "status": Status, "lane": 8, "resp": 2, "unused": 6, "operation": 8, "crc": 32, "raw_blocks": 32,
        "bytes": 64, "nonzero": 64, "cycles": 64, "place": 64, "pages": 32, "reserved": 96,
    })


DESCRIPTOR_FIELDS = {
    "operation": "1 offload, 2 prefetch; must be that of the channel",
    "coding": "Coding of the blocks: 0x11 zvc8, 0x12 zvc16, 0x14 zvc32, 0x22 bfloat16, 0x24 float32",
    "interrupt": "Flag: set the direction's COMPLETION bit of IRQ_STATUS when the descriptor is completed",
    "check_crc": "Flag (prefetch): compare the CRC-32C of the block stream with CRC",
    "no_fallback": "Flag (offload): code every block, even where that does not shrink it",
    "leave_raw": "Flag (offload): code no block",
    "narrow": "What float32 values are rounded to: 0 not at all, 1 bfloat16, 2 float16",
    "page_list": "Flag: the address at the link is that of a page list",
    "undefined": "Zero",
    "tag": "Any number; the completion has the same",
    "source": "Byte address: device memory (offload) or link (prefetch)",
    "destination": "Byte address: link (offload) or device memory (prefetch)",
    "raw_bytes": "Raw length in bytes",
    "capacity": "Size of the destination in bytes",
    "packed_bytes": "Length of the block stream in bytes (prefetch); zero for offload",
    "crc": "Expected CRC-32C of the block stream, for CHECK_CRC",
    "pages": "Entries of the page list; zero without PAGE_LIST",
    "page_size": "Logarithm of the bytes of a page, 12 to 21; zero without PAGE_LIST",
    "reserved": "Zero",
}
"""What each field of a descriptor is."""

COMPLETION_FIELDS = {
    "tag": "The descriptor's",
    "status": "What became of the descriptor",
    "lane": "AXI errors, timeouts and errors of parity: the lane, 0 for the link",
    "resp": "AXI errors: the response, 2 SLVERR or 3 DECERR",
    "unused": "Zero",
    "operation": "The descriptor's",
    "crc": "CRC-32C of the block stream",
    "raw_blocks": "Blocks that were left raw",
    "bytes": "Bytes written: the stream (offload) or the tensor (prefetch)",
    "nonzero": "Non-zero elements (offload)",
    "cycles": "Cycles from the start of the descriptor to its completion",
    "place": "Where it failed: see the status",
    "pages": "Pages that the block stream takes, with PAGE_LIST and status OK; otherwise zero",
    "reserved": "Zero",
}
"""What each field of a completion is."""


def record_fields(layout: data.StructLayout) -> Iterator[tuple[str, int, int]]:
    """Name, first bit and width of every field of a record; structures in it are opened."""
    for name, field in layout:
        if isinstance(field.shape, data.StructLayout):
            for inner, offset, width in record_fields(field.shape):
                yield inner, field.offset + offset, width
        else:
            yield str(name), field.offset, Shape.cast(field.shape).width
