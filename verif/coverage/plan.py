"""The functional coverage plan: what benches must see, feature by feature, in the order of the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from cdma.golden.codec.coding import Coding, coding_name
from cdma.golden.codec.narrowing import NARROWED_CODINGS, Narrowing
from cdma.golden.engine import Operation, Status
from cdma.hdl.codec.coding import CODINGS
from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.control.register import Access, Register
from cdma.hdl.engine.control.table import MEMORIES, PORTS, registers, with_options
from cdma.verif.engine.parameter_bins import PARAMETERS

__all__ = ["ACCESS", "DIRECTIONS", "NOT_COVERED", "ONLY_OFFLOAD", "ONLY_PREFETCH", "PLAN", "Feature"]

ACCESS = ("registers", "options")
"""Parts of the plan that say what was read, written and built; all others say how the hardware behaves."""

DIRECTIONS = tuple(each.name.lower() for each in Operation)


@dataclass(frozen=True)
class Feature:
    """Something that benches must see in each of several ways.

    Parameters
    ----------
    name
        As :func:`cdma.verif.common.cover.cover` is given it.
    room
        The part of the plan it belongs to.
    about
        What must be seen, in a sentence.
    bins
        Names of the ways; parts of _crossed ones are joined with colons.
    """

    name: str
    room: str
    about: str
    bins: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.bins or len(set(self.bins)) != len(self.bins):
            raise ValueError(f"the bins of feature {self.name} must be one or more different names, not "
                             f"{', '.join(self.bins) or 'none'}")


def _crossed(*parts: Iterable[object]) -> tuple[str, ...]:
    """The bins of a cross: every combination, in order."""
    return tuple(":".join(map(str, each)) for each in product(*parts))


ONLY_OFFLOAD = (Status.LANE_READ_ERROR, Status.LINK_WRITE_ERROR, Status.LANE_READ_TIMEOUT, Status.LINK_WRITE_TIMEOUT,
                Status.PAGE_LIST_READ_TIMEOUT)
"""Statuses of offloads alone."""

ONLY_PREFETCH = (Status.LANE_WRITE_ERROR, Status.LINK_READ_ERROR, Status.LANE_WRITE_TIMEOUT, Status.LINK_READ_TIMEOUT,
                 Status.BAD_CODING, Status.BAD_SEQUENCE, Status.BAD_LENGTH, Status.TRUNCATED, Status.TRAILING,
                 Status.BAD_PADDING, Status.BAD_PAYLOAD, Status.CRC_MISMATCH)
"""Statuses of prefetches alone."""

_OF_LANES = (Status.LANE_READ_ERROR, Status.LANE_WRITE_ERROR, Status.LANE_READ_TIMEOUT, Status.LANE_WRITE_TIMEOUT,
             Status.BUFFER_PARITY)
_OF_RINGS = (Status.DESCRIPTOR_READ_ERROR, Status.DESCRIPTOR_READ_TIMEOUT)
"""Their completions belong to no descriptor."""
_OF_LISTS = (Status.PAGE_MISALIGNED, Status.PAGE_OUTSIDE, Status.PAGE_LIST_TOO_SHORT, Status.PAGE_LIST_READ_ERROR)
"""Statuses of transfers with a page list alone. While one without a list is at work, the list of the next one is read
ahead, so it may have PAGE_LIST_READ_TIMEOUT."""
_FAULTS = tuple(each for each in Status if each >= 0x10 and each not in _OF_RINGS)
"""Statuses of transfers that were not refused for their descriptor's fields, and failed."""

_CODINGS = tuple(CODINGS)
"""Codings of engines and block cores."""


def _names(statuses: Iterable[Status]) -> tuple[str, ...]:
    return tuple(each.name for each in statuses)


def _by_direction(statuses: Iterable[Status] = Status) -> tuple[str, ...]:
    return tuple(f"{direction}:{status.name}" for status in statuses for direction in DIRECTIONS
                 if not (direction == "offload" and status in ONLY_PREFETCH)
                 and not (direction == "prefetch" and status in ONLY_OFFLOAD))


_STATUSES = (
    Feature("status", "completions", "Each direction ends transfers with every status that it can have.",
            _by_direction()),
    Feature("status_lane", "completions", "Statuses that name a lane name the only one, the first and the last.",
            _crossed(_names(_OF_LANES), ("only", "first", "last"))),
    Feature("status_stall", "completions", "Transfers end with each status beside memories that answer at once and "
            "memories that answer late, pause or are slow.",
            _crossed(_names((Status.OK, *_FAULTS)), ("prompt", "delayed"))),
    Feature("status_coding", "completions", "Transfers of every coding end with each status but those of refused "
            "descriptors.", _crossed(_names((Status.OK, *_FAULTS)), _CODINGS)),
    Feature("status_place", "completions", "Each status is that of the first, an inner and the last one of descriptors "
            "of a direction, each of which was handed over before the completion of the one before it was taken.",
            _crossed((each.name for each in Status if each not in _OF_RINGS), ("first", "inner", "last"))),
    Feature("status_pages", "completions", "Transfers with a page list and without one have every fault.",
            (*_crossed(_by_direction(_FAULTS), ("list",)),
             *_crossed(_by_direction(each for each in _FAULTS if each not in _OF_LISTS), ("no list",)))),
    Feature("status_link_reset", "completions", "Transfers end with faults of each kind when a link with a clock of "
            "its own was reset while they were at work. A prefetch into too small a destination never begins.",
            (*_crossed(DIRECTIONS, ("page list", "memory error", "timeout", "crc or parity", "abort")),
             "offload:destination", "prefetch:stream")),
    Feature("response", "completions", "Statuses of memory errors carry both responses.",
            _crossed((each.name for each in Status if each.name.endswith("_ERROR")), ("SLVERR", "DECERR"))),
    Feature("overlap", "completions", "A direction has one descriptor, two, some and more than its queue holds at "
            "work or waiting when one completes.", _crossed(DIRECTIONS, ("one", "two", "some", "more than a queue"))),
    Feature("abort", "completions", "An abort ends a transfer soon after its start and later, comes too late for one, "
            "and finds none at work.", _crossed(DIRECTIONS, ("early", "later", "too late", "idle"))),
    Feature("soft_reset", "completions", "A soft reset finds no descriptor, one of them, and several.",
            _crossed(DIRECTIONS, ("none", "one", "several"))),
)

_REGISTERS: tuple[Register, ...] = tuple(registers(with_options(load_engine("engine"))))
"""Every register that an engine can have."""

_LEVELS = ("empty", "one", "some", "full")
_WRITABLE = (Access.RW, Access.WO, Access.W1C, Access.W1S)


def _written(kind: Access) -> tuple[str, ...]:
    return tuple(each.name for each in _REGISTERS if any(field.access is kind for field in each.fields))


def _bits(name: str) -> tuple[str, ...]:
    register = next(each for each in _REGISTERS if each.name == name)
    return tuple(field.name for field in register.fields)


_CONTROL = (
    Feature("register_read", "registers", "Every register is read.", tuple(each.name for each in _REGISTERS)),
    *(Feature(f"register_{kind.name.lower()}", "registers", f"Every register with a field of this kind is written "
              f"({kind.value}).", _written(kind)) for kind in _WRITABLE),
    Feature("register_refused", "interrupts and status", "The bus answers SLVERR to an offset without a register, to a "
            "write of a part of a register, and to a write that a register refuses.",
            ("read of a hole", "write of a hole", "part", "value")),
    Feature("refused_bit", "interrupts and status", "Each bit of REFUSED is seen.",
            tuple(f"{name}:{bit}" for name in ("REFUSED", *(f"{each.upper()}_REFUSED" for each in DIRECTIONS))
                  for bit in _bits(name))),
    Feature("interrupt", "interrupts and status", "Each event of IRQ_STATUS is seen.", _bits("IRQ_STATUS")),
    Feature("interrupt_written", "registers", "Each event of IRQ_STATUS is enabled, and cleared.",
            _crossed(_bits("IRQ_STATUS"), ("enabled", "cleared"))),
    Feature("engine_status", "interrupts and status", "Each bit of STATUS is seen set.", _bits("STATUS")),
    Feature("busy", "interrupts and status", "No direction is busy, each alone, and both together.",
            ("none", *DIRECTIONS, "both")),
    Feature("counters", "registers", "Counters are read with and without being cleared.",
            _crossed(DIRECTIONS, ("snapshot", "snapshot and clear"))),
    Feature("queue", "queues and rings", "The queue of descriptors is empty, has one, has some, and is full.",
            _crossed(DIRECTIONS, _LEVELS)),
    Feature("completion_queue", "queues and rings", "The queue of completions is empty, has one, has some, and is "
            "full.", _crossed(DIRECTIONS, _LEVELS)),
    Feature("ring", "queues and rings", "The ring of descriptors is empty, has one, has some, is full, and wraps; it "
            "has its smallest size and others; it stops by an error and goes on.",
            _crossed(DIRECTIONS, (*_LEVELS, "wrapped", "smallest", "larger", "stopped", "enabled again"))),
    Feature("write_back", "queues and rings", "The ring of completions is empty, has one, has some, is full, and "
            "wraps, with its smallest size and others; it is disabled and enabled again.",
            _crossed(DIRECTIONS, (*_LEVELS, "wrapped", "smallest", "larger", "disabled", "enabled again"))),
    Feature("coalescing", "registers", "Interrupts of records are asked for one by one, by count, and by count "
            "or time.", _crossed(DIRECTIONS, ("each", "count", "count or time"))),
    Feature("time_limit", "registers", "Limits of both kinds of ports are off, as after reset, short and others.",
            _crossed(("link", "lanes"), ("off", "reset value", "short", "other"))),
    Feature("silence", "time limits", "Each channel of each kind of port stops alone, and all of a port together.",
            _crossed(MEMORIES, ("ar", "r", "aw", "w", "b", "all"))),
    Feature("isolated", "time limits", "Each kind of port is isolated, and comes back.",
            _crossed(PORTS, ("isolated", "back"))),
    Feature("window", "address windows", "Transfers that are inside a window begin at its first byte, end at its last "
            "one, or do neither; others are refused below it and above it; and there is no window.",
            _crossed(MEMORIES, ("none", "at the first byte", "at the last byte", "inside", "below", "above"))),
)

_BLOCK_PLACES = ("only whole", "only short", "first", "inner", "last whole", "last short")
"""Where a block is in its stream, and whether it is shorter than the others."""

_EXPONENTS = tuple(coding_name(each) for each in Coding if each.exponents)
_TAGS = tuple(coding_name(each) for each in Coding if each.tags_first)
_FACTS = ("zeros", *(f"width {width}" for width in range(7)), "whole exponents", "signs", "no signs", "dense", "tag",
          "escape", "widths", "no widths", "base", "base of the line before")
_LINES = ("none", "one", "some", "all but one", "all")
_TAGS_ERRORS = (PayloadError.OK, PayloadError.BAD_LENGTH, PayloadError.TRUNCATED_TAG, PayloadError.BAD_TAG,
                PayloadError.TRUNCATED_DATA, PayloadError.TRAILING_BYTES)
_EXPONENT_ERRORS = (*_TAGS_ERRORS, PayloadError.BAD_FACTS, PayloadError.TRUNCATED_FACTS)

_FORMATS = (
    Feature("block", "formats", "Blocks of every coding are coded, all zero and raw, as the only one, whole or short, "
            "the first one, an inner one, and the last one, whole or short, of a stream.",
            _crossed(DIRECTIONS, _CODINGS, ("coded", "zero", "raw"), _BLOCK_PLACES)),
    Feature("line", "formats", "Whole lines of every coding have no element that is not zero, one, some, all but one, "
            "and all.", _crossed(DIRECTIONS, _CODINGS, _LINES)),
    Feature("exponent_line", "formats", "Lines of exponent coding have every width, and every flag on and off.",
            _crossed(DIRECTIONS, _EXPONENTS, _FACTS)),
    Feature("narrowed", "formats", "Values are narrowed to every format in every coding that allows it.",
            tuple(f"{direction}:{coding_name(coding)}:{Narrowing(form).name.lower()}" for direction in DIRECTIONS
                  for form, codings in NARROWED_CODINGS.items() for coding in codings)),
    Feature("length", "formats", "Tensors have one element, end within a beat, with a beat, with a line, and with a "
            "block, have fewer blocks than lanes, more, and more than sequence numbers.",
            _crossed(DIRECTIONS, ("one element", "within a beat", "whole beats", "whole lines", "whole blocks",
                                 "blocks for some lanes", "blocks for all lanes", "more than 256 blocks"))),
    Feature("raw_blocks", "formats", "No block of a tensor is left raw, some are, and all.",
            _crossed(DIRECTIONS, ("none", "some", "all"))),
    Feature("flag", "formats", "Flags of descriptors are on and off in transfers that succeed.",
            (*_crossed(DIRECTIONS, ("interrupt",), (0, 1)), *_crossed(("offload",), ("fallback", "leave_raw"), (0, 1)),
             *_crossed(("prefetch",), ("check_crc",), (0, 1)))),
    Feature("capacity", "formats", "The destination has just the room that is needed, and more.",
            _crossed(DIRECTIONS, ("exact", "more"))),
    Feature("line_core", "cores", "Each core of lines ends packets with every code that it has, for every element "
            "size.",
            (*_crossed(("compressor",), (1, 2, 4), (ErrorCode.OK.name,)),
             *_crossed(("compressor",), (2, 4), (ErrorCode.TRAILING_BYTES.name,)),
             *_crossed(("decompressor",), (1, 2, 4), (ErrorCode.OK.name, ErrorCode.TRUNCATED_TAG.name)),
             *_crossed(("decompressor",), (1, 2, 4), (ErrorCode.TRUNCATED_DATA.name,)),
             *_crossed(("decompressor",), (2, 4), (ErrorCode.TRAILING_BYTES.name,)))),
    Feature("block_core", "cores", "The block decompressor ends payloads of every coding with every code.",
            (*_crossed(_TAGS, (each.name for each in _TAGS_ERRORS)),
             *_crossed(_EXPONENTS, (each.name for each in _EXPONENT_ERRORS)), f"other:{PayloadError.BAD_CODING.name}")),
    Feature("block_core_block", "cores", "The block compressor makes whole and short blocks: coded, raw, cut within "
            "an element.", _crossed(_CODINGS, ("whole", "short"), ("coded", "raw")) + _crossed(
                (name for name in _CODINGS if name != "zvc8"), ("cut",))),
    Feature("core_stall", "cores", "Streams into and out of each core flow freely, and pause.",
            _crossed(("compressor", "decompressor", "block_compressor", "block_decompressor"),
                    ("source free", "source pauses"), ("sink free", "sink pauses"))),
)

_BURSTS = ("single", "longest", "other", "starts_4k", "ends_4k", "inside_4k")

_PORT_COVERS = {
    "burst": (*(f"read_{each}" for each in _BURSTS), *(f"write_{each}" for each in _BURSTS)),
    "strobe": ("all", "tail"),
    "channel": tuple(f"{channel}_{how}" for channel in ("ar", "r", "aw", "w", "b") for how in ("flows", "waits")),
    "open": ("reads_one", "reads_some", "reads_most", "writes_one", "writes_some", "writes_most"),
    "answer": ("read_error_first", "read_error_inner", "read_error_last", "write_error", "read_slverr", "read_decerr",
               "write_slverr", "write_decerr"),
    "port_reset": ("reads_open", "writes_open", "idle"),
    "both_ways": ("beats",),
}
"""Features that memory.v counts, with their bins for each kind of port."""

_ABOUT = {
    "burst": "Bursts have one beat, the most that is allowed, and other numbers; they begin and end with a 4 KiB page, "
             "and inside one.",
    "strobe": "Beats are written whole and in part.",
    "channel": "On each channel a valid is taken at once, and waits for ready.",
    "open": "One transaction is open, several are, and as many as are allowed.",
    "answer": "Errors answer the first beat, an inner one and the last one of a read, and a write, with both "
              "responses.",
    "port_reset": "The reset pin goes low with reads open, with writes open, and with none.",
    "both_ways": "A beat is read and another one written in the same cycle.",
}

_MEMORY = (
    *(Feature(name, "memory", _ABOUT[name], _crossed(MEMORIES, bins)) for name, bins in _PORT_COVERS.items()),
    Feature("read_order", "memory", "Reads of the link with identifiers of their own are answered in order, and before "
            "older ones.", ("in_order", "before_an_older_one")),
    Feature("pages", "page lists", "Streams have one page, two and more, some of them unused; they end with a page and "
            "inside one; a block's header begins a page, and a payload crosses into the next page; an entry that the "
            "stream does not need answers with an error.",
            _crossed(DIRECTIONS, ("one", "two", "more", "unused", "unused and unreadable", "ends with a page",
                                 "ends inside a page", "header at a page's first byte", "payload across pages"))),
    Feature("page_size", "page lists", "Pages have the smallest size, and larger ones.",
            _crossed(DIRECTIONS, ("smallest", "larger"))),
    Feature("link_ratio", "options", "The link has the engine's clock, or one of its own that is slower or faster.",
            ("shared", "slower", "faster")),
    Feature("link_clock", "clocks", "The link is reset while the engine runs, and its clock stands.",
            ("reset", "stands")),
    Feature("parity", "buffers", "Errors are injected into each kind of memory of a lane, for each direction.",
            _crossed(("injected",), ("first lane", "last lane"))),
)

NOT_COVERED = ("name", "about", "codings")
"""Parameters without bins of their own: the first two change no hardware, and codings have a feature of their own."""

_OPTIONS = (
    Feature("coding", "options", "Engines are built with each coding, and without it.",
            _crossed(_CODINGS, ("built", "not built"))),
    *(Feature(f"option_{name}", "options", f"Engines are simulated with these values of {name}.", bins)
      for name, bins in PARAMETERS.items()),
)

PLAN: tuple[Feature, ...] = (*_STATUSES, *_CONTROL, *_FORMATS, *_MEMORY, *_OPTIONS)
"""All features."""
