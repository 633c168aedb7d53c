"""Bins of the formats: blocks, lines, exponents, narrowing, lengths, and faults of streams in the cores."""

from __future__ import annotations

from cdma.golden.codec.coding import Coding, coding_name
from cdma.golden.codec.narrowing import NARROWED_CODINGS, Narrowing
from cdma.hdl.codec.coding import CODINGS
from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.verif.coverage.feature import Feature, crossed
from cdma.verif.coverage.plan_status import DIRECTIONS

__all__ = ["BLOCK_PLACES", "FORMATS", "NAMES"]

NAMES = tuple(CODINGS)
"""Codings of engines and block cores."""

BLOCK_PLACES = ("only whole", "only short", "first", "inner", "last whole", "last short")
"""Where a block is in its stream, and whether it is shorter than the others."""

_EXPONENTS = tuple(coding_name(each) for each in Coding if each.exponents)
_TAGS = tuple(coding_name(each) for each in Coding if each.tags_first)
_FACTS = ("zeros", *(f"width {width}" for width in range(7)), "whole exponents", "signs", "no signs", "dense", "tag",
          "escape", "widths", "no widths", "base", "base of the line before")
_LINES = ("none", "one", "some", "all but one", "all")
_TAGS_ERRORS = (PayloadError.OK, PayloadError.BAD_LENGTH, PayloadError.TRUNCATED_TAG, PayloadError.BAD_TAG,
                PayloadError.TRUNCATED_DATA, PayloadError.TRAILING_BYTES)
_EXPONENT_ERRORS = (*_TAGS_ERRORS, PayloadError.BAD_FACTS, PayloadError.TRUNCATED_FACTS)

FORMATS = (
    Feature("block", "formats", "Blocks of every coding are coded, all zero and raw, as the only one, whole or short, "
            "the first one, an inner one, and the last one, whole or short, of a stream.",
            crossed(DIRECTIONS, NAMES, ("coded", "zero", "raw"), BLOCK_PLACES)),
    Feature("line", "formats", "Whole lines of every coding have no element that is not zero, one, some, all but one, "
            "and all.", crossed(DIRECTIONS, NAMES, _LINES)),
    Feature("exponent_line", "formats", "Lines of exponent coding have every width, and every flag on and off.",
            crossed(DIRECTIONS, _EXPONENTS, _FACTS)),
    Feature("narrowed", "formats", "Values are narrowed to every format in every coding that allows it.",
            tuple(f"{direction}:{coding_name(coding)}:{Narrowing(form).name.lower()}" for direction in DIRECTIONS
                  for form, codings in NARROWED_CODINGS.items() for coding in codings)),
    Feature("length", "formats", "Tensors have one element, end within a beat, with a beat, with a line, and with a "
            "block, have fewer blocks than lanes, more, and more than sequence numbers.",
            crossed(DIRECTIONS, ("one element", "within a beat", "whole beats", "whole lines", "whole blocks",
                                 "blocks for some lanes", "blocks for all lanes", "more than 256 blocks"))),
    Feature("raw_blocks", "formats", "No block of a tensor is left raw, some are, and all.",
            crossed(DIRECTIONS, ("none", "some", "all"))),
    Feature("flag", "formats", "Flags of descriptors are on and off in transfers that succeed.",
            (*crossed(DIRECTIONS, ("interrupt",), (0, 1)), *crossed(("offload",), ("fallback", "leave_raw"), (0, 1)),
             *crossed(("prefetch",), ("check_crc",), (0, 1)))),
    Feature("capacity", "formats", "The destination has just the room that is needed, and more.",
            crossed(DIRECTIONS, ("exact", "more"))),
    Feature("line_core", "cores", "Each core of lines ends packets with every code that it has, for every element "
            "size.",
            (*crossed(("compressor",), (1, 2, 4), (ErrorCode.OK.name,)),
             *crossed(("compressor",), (2, 4), (ErrorCode.TRAILING_BYTES.name,)),
             *crossed(("decompressor",), (1, 2, 4), (ErrorCode.OK.name, ErrorCode.TRUNCATED_TAG.name)),
             *crossed(("decompressor",), (1, 2, 4), (ErrorCode.TRUNCATED_DATA.name,)),
             *crossed(("decompressor",), (2, 4), (ErrorCode.TRAILING_BYTES.name,)))),
    Feature("block_core", "cores", "The block decompressor ends payloads of every coding with every code.",
            (*crossed(_TAGS, (each.name for each in _TAGS_ERRORS)),
             *crossed(_EXPONENTS, (each.name for each in _EXPONENT_ERRORS)), f"other:{PayloadError.BAD_CODING.name}")),
    Feature("block_core_block", "cores", "The block compressor makes whole and short blocks: coded, raw, cut within "
            "an element.", crossed(NAMES, ("whole", "short"), ("coded", "raw")) + crossed(
                (name for name in NAMES if name != "zvc8"), ("cut",))),
    Feature("core_stall", "cores", "Streams into and out of each core flow freely, and pause.",
            crossed(("compressor", "decompressor", "block_compressor", "block_decompressor"),
                    ("source free", "source pauses"), ("sink free", "sink pauses"))),
)
"""Features of the formats."""
