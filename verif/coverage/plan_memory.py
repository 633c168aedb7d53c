"""Bins of the ports to memory: bursts, channels, open transactions, page lists, clocks of the link."""

from __future__ import annotations

from cdma.hdl.engine.control.table import MEMORIES
from cdma.verif.coverage.feature import Feature, crossed
from cdma.verif.coverage.plan_status import DIRECTIONS

__all__ = ["MEMORY", "PORT_COVERS"]

_BURSTS = ("single", "longest", "other", "starts_4k", "ends_4k", "inside_4k")

PORT_COVERS = {
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

MEMORY = (
    *(Feature(name, "memory", _ABOUT[name], crossed(MEMORIES, bins)) for name, bins in PORT_COVERS.items()),
    Feature("read_order", "memory", "Reads of the link with identifiers of their own are answered in order, and before "
            "older ones.", ("in_order", "before_an_older_one")),
    Feature("pages", "page lists", "Streams have one page, two and more, some of them unused; they end with a page and "
            "inside one; a block's header begins a page, and a payload crosses into the next page; an entry that the "
            "stream does not need answers with an error.",
            crossed(DIRECTIONS, ("one", "two", "more", "unused", "unused and unreadable", "ends with a page",
                                 "ends inside a page", "header at a page's first byte", "payload across pages"))),
    Feature("page_size", "page lists", "Pages have the smallest size, and larger ones.",
            crossed(DIRECTIONS, ("smallest", "larger"))),
    Feature("link_ratio", "clocks", "The link has the engine's clock, or one of its own that is slower or faster.",
            ("shared", "slower", "faster")),
    Feature("link_clock", "clocks", "The link is reset while the engine runs, and its clock stands.",
            ("reset", "stands")),
    Feature("parity", "buffers", "Errors are injected into each kind of memory of a lane, for each direction.",
            crossed(("injected",), ("first lane", "last lane"))),
)
"""Features of memory."""
