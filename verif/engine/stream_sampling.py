"""Samples of what a transfer moved, for the coverage plan: its blocks, lines, length, flags, pages and windows."""

from __future__ import annotations

import numpy as np

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import WORD_BYTES, Coding, coding_name, shortest
from cdma.golden.codec.headers import Block
from cdma.golden.codec.narrowing import NARROWED_BYTES, WIDE_BYTES, Narrowing, narrow
from cdma.golden.engine import PAGE_SIZES, Completion, Descriptor, Operation, Status, Windows
from cdma.golden.engine.windows import Window
from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.common.cover import cover
from cdma.verif.common.stream import Bytes

__all__ = ["sample_transfer", "sample_windows"]

_ZEROS, _WHOLE = 0xFF, 7
_FEW = 256


def sample_transfer(config: EngineConfig, channel: Operation, descriptor: Descriptor, raw: Bytes, stream: Bytes, *,
                    unreadable: bool = False) -> None:
    """Sample a transfer that succeeded, by its raw bytes and its stream.

    ``unreadable`` tells that the memory of its page list answers some reads with errors.
    """
    direction, coding = channel.name.lower(), Coding(descriptor.coding)
    size = config.block_bytes
    if descriptor.narrow:
        cover("narrowed", direction, coding_name(coding), Narrowing(descriptor.narrow).name.lower())
        raw, size = narrow(raw, descriptor.narrow).view(np.uint8), size * NARROWED_BYTES // WIDE_BYTES
    found = list(blocks.headers(stream, size))
    for block in found:
        _sample_block(direction, coding, block, len(found), raw.size, size)
        if block.coding.exponents:
            _sample_facts(direction, block, stream, min(size, raw.size - block.number * size))
    _sample_lines(direction, coding, raw)
    _sample_length(config, direction, coding, raw.size, len(found), size)
    left = sum(block.coding is Coding.RAW for block in found)
    cover("raw_blocks", direction, "none" if not left else "all" if left == len(found) else "some")
    _sample_fields(channel, descriptor, stream.size)
    if descriptor.page_list:
        _sample_pages(direction, descriptor, found, stream.size, unreadable=unreadable)


def _sample_block(direction: str, coding: Coding, block: Block, count: int, raw_bytes: int, size: int) -> None:
    own = min(size, raw_bytes - block.number * size)
    if block.coding is Coding.RAW:
        kind = "raw"
    else:
        kind = "zero" if block.payload_bytes == shortest(block.field, own) else "coded"
    whole = "whole" if own == size else "short"
    last = block.number == count - 1
    place = f"only {whole}" if count == 1 else f"last {whole}" if last else "inner" if block.number else "first"
    cover("block", direction, coding_name(coding), kind, place)


def _sample_facts(direction: str, block: Block, stream: Bytes, own: int) -> None:
    name = coding_name(block.coding)
    start = block.payload_offset + WORD_BYTES * block.short
    for header in np.unique(stream[start:start - (-own // LINE_BYTES)]).tolist():
        if header == _ZEROS:
            facts = ["zeros"]
        else:
            facts = ["whole exponents" if header & 7 == _WHOLE else f"width {header & 7}",
                     "signs" if header & 8 else "no signs", "dense" if header & 16 else "tag",
                     *(["escape"] if header & 32 else []), "widths" if header & 64 else "no widths",
                     "base" if header & 128 else "base of the line before"]
        for fact in facts:
            cover("exponent_line", direction, name, fact)


def _sample_lines(direction: str, coding: Coding, raw: Bytes) -> None:
    whole = raw[:raw.size // LINE_BYTES * LINE_BYTES].reshape(-1, LINE_BYTES // coding.element_bytes,
                                                              coding.element_bytes)
    per_line = LINE_BYTES // coding.element_bytes
    names = {0: "none", 1: "one", per_line - 1: "all but one", per_line: "all"}
    for filled in np.unique(whole.any(axis=2).sum(axis=1)).tolist():
        cover("line", direction, coding_name(coding), names.get(filled, "some"))


def _sample_length(config: EngineConfig, direction: str, coding: Coding, raw_bytes: int, count: int,
                   size: int) -> None:
    found = [(raw_bytes == coding.element_bytes, "one element"), (raw_bytes % config.beat_bytes, "within a beat"),
             (raw_bytes % config.beat_bytes == 0, "whole beats"), (raw_bytes % LINE_BYTES == 0, "whole lines"),
             (raw_bytes % size == 0, "whole blocks"), (count < config.lanes, "blocks for some lanes"),
             (count >= config.lanes, "blocks for all lanes"), (count > _FEW, "more than 256 blocks")]
    for true, name in found:
        if true:
            cover("length", direction, name)


def _sample_fields(channel: Operation, descriptor: Descriptor, packed: int) -> None:
    direction = channel.name.lower()
    offload = channel is Operation.OFFLOAD
    for flag in ("interrupt", *(("fallback", "leave_raw") if offload else ("check_crc",))):
        cover("flag", direction, flag, int(getattr(descriptor, flag)))
    needed = packed if offload else descriptor.raw_bytes
    cover("capacity", direction, "exact" if descriptor.capacity == needed else "more")


def _sample_pages(direction: str, descriptor: Descriptor, found: list[Block], packed: int, *,
                  unreadable: bool) -> None:
    page = 1 << descriptor.page_size
    used = -(-packed // page)
    cover("page_size", direction, "smallest" if descriptor.page_size == PAGE_SIZES[0] else "larger")
    facts = [(True, {1: "one", 2: "two"}.get(used, "more")), (descriptor.pages > used, "unused"),
             (descriptor.pages > used and unreadable, "unused and unreadable"),
             (packed % page == 0, "ends with a page"), (packed % page, "ends inside a page"),
             (any(block.offset and block.offset % page == 0 for block in found), "header at a page's first byte"),
             (any(block.payload_offset // page < (block.end - 1) // page for block in found), "payload across pages")]
    for true, name in facts:
        if true:
            cover("pages", direction, name)


def sample_windows(config: EngineConfig, channel: Operation, descriptor: Descriptor, seen: Completion,
                   windows: Windows) -> None:
    """Sample where a transfer is in the address windows."""
    offload = channel is Operation.OFFLOAD
    raw = (descriptor.raw_bytes, windows.device, "device")
    packed = (descriptor.capacity if offload else descriptor.packed_bytes, windows.link, "link")
    for address, (size, window, memory), refused in (
            (descriptor.source, raw if offload else packed, Status.SOURCE_OUTSIDE_WINDOW),
            (descriptor.destination, packed if offload else raw, Status.DESTINATION_OUTSIDE_WINDOW)):
        if descriptor.page_list and memory == "link":
            continue
        if seen.status is refused:
            cover("window", memory, "below" if address < window.base else "above")
        elif seen.status is Status.OK:
            limit = window.limit or 1 << config.address_bits
            facts = ["none"] if window == Window() else [
                *(["at the first byte"] if address == window.base else []),
                *(["at the last byte"] if address + size == limit else [])] or ["inside"]
            for fact in facts:
                cover("window", memory, fact)
