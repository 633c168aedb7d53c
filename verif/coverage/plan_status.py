"""Bins of completions: every status by direction, lane and behaviour of the memories; ends of transfers."""

from __future__ import annotations

from cdma.golden.engine import Operation, Status
from cdma.verif.coverage.feature import Feature, crossed

__all__ = ["DIRECTIONS", "ONLY_OFFLOAD", "ONLY_PREFETCH", "OPTION_OF", "STATUSES"]

DIRECTIONS = tuple(each.name.lower() for each in Operation)

ONLY_OFFLOAD = (Status.LANE_READ_ERROR, Status.LINK_WRITE_ERROR, Status.LANE_READ_TIMEOUT, Status.LINK_WRITE_TIMEOUT,
                Status.PAGE_LIST_READ_TIMEOUT)
"""Statuses of offloads alone."""

ONLY_PREFETCH = (Status.LANE_WRITE_ERROR, Status.LINK_READ_ERROR, Status.LANE_WRITE_TIMEOUT, Status.LINK_READ_TIMEOUT,
                 Status.BAD_CODING, Status.BAD_SEQUENCE, Status.BAD_LENGTH, Status.TRUNCATED, Status.TRAILING,
                 Status.BAD_PADDING, Status.BAD_PAYLOAD, Status.CRC_MISMATCH)
"""Statuses of prefetches alone."""

OPTION_OF = {
    "page_lists": (Status.BAD_PAGE_LIST, Status.PAGE_MISALIGNED, Status.PAGE_OUTSIDE, Status.PAGE_LIST_TOO_SHORT,
                   Status.PAGE_LIST_READ_ERROR, Status.PAGE_LIST_READ_TIMEOUT),
    "address_windows": (Status.SOURCE_OUTSIDE_WINDOW, Status.DESTINATION_OUTSIDE_WINDOW),
    "buffer_parity": (Status.BUFFER_PARITY,),
    "crc": (Status.CRC_MISMATCH,),
}
"""Statuses that only an engine with an option has."""

_OF_LANES = (Status.LANE_READ_ERROR, Status.LANE_WRITE_ERROR, Status.LANE_READ_TIMEOUT, Status.LANE_WRITE_TIMEOUT,
             Status.BUFFER_PARITY)
_OF_MEMORY = (Status.OK, *(each for each in Status if each >= 0x10))
_NOT_CROSSED = (Status.DESCRIPTOR_READ_ERROR, Status.DESCRIPTOR_READ_TIMEOUT)
"""Their completions belong to no descriptor."""


def _by_direction() -> tuple[str, ...]:
    return tuple(f"{direction}:{status.name}" for status in Status for direction in DIRECTIONS
                 if not (direction == "offload" and status in ONLY_PREFETCH)
                 and not (direction == "prefetch" and status in ONLY_OFFLOAD))


STATUSES = (
    Feature("status", "completions", "Each direction ends transfers with every status that it can have.",
            _by_direction()),
    Feature("status_lane", "completions", "Statuses that name a lane name the only one, the first and the last.",
            crossed((each.name for each in _OF_LANES), ("only", "first", "last"))),
    Feature("status_stall", "completions", "Transfers end with each status beside memories that answer at once and "
            "memories that answer late, pause or are slow.",
            crossed((each.name for each in _OF_MEMORY if each not in _NOT_CROSSED), ("prompt", "delayed"))),
    Feature("response", "completions", "Statuses of memory errors carry both responses.",
            crossed((each.name for each in Status if each.name.endswith("_ERROR")), ("SLVERR", "DECERR"))),
    Feature("overlap", "completions", "A direction has one descriptor, two, some and more than its queue holds at "
            "work or waiting when one completes.", crossed(DIRECTIONS, ("one", "two", "some", "more than a queue"))),
    Feature("abort", "completions", "An abort ends a transfer soon after its start and later, comes too late for one, "
            "and finds none at work.", crossed(DIRECTIONS, ("early", "later", "too late", "idle"))),
    Feature("soft_reset", "completions", "A soft reset finds no descriptor, one of them, and several.",
            crossed(DIRECTIONS, ("none", "one", "several"))),
)
"""Features of completions."""
