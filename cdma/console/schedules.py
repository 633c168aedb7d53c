"""``--schedule`` and ``--ahead``: whether a step waits for its transfers, and how far a queue of them may be behind."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cdma.workload.timeline.queued import Ahead
    from cdma.workload.timeline.study import Study

__all__ = ["ahead_option", "look_ahead", "schedule_options", "schedule_text"]

_AHEAD = re.compile(r"(\d+)blocks?|all", re.ASCII | re.IGNORECASE)


def schedule_options(parser: Any) -> None:
    """Add ``--schedule`` and ``--ahead``."""
    parser.add_argument("--schedule", choices=("layer", "queue"), default="layer", help="layer: each layer waits for "
                        "the transfers beside it, as vDNN does; queue: asynchronous transfers, as frameworks do today "
                        "(default: layer)")
    ahead_option(parser, "queue: ")


def ahead_option(parser: Any, where: str = "") -> None:
    """Add ``--ahead``."""
    parser.add_argument("--ahead", type=_ahead, metavar="Nblocks|all", help=f"{where}how far "
                        "transfers may be behind in forward, and in front in backward, for instance 2blocks; all: no "
                        "limit (default: as far as memory is free)")


def look_ahead(call: argparse.Namespace) -> Ahead | None:
    """The look-ahead of a call; None is as far as memory is free.

    Raises
    ------
    ValueError
        If one is given for a schedule without a queue.
    """
    from cdma.workload.timeline.queued import Ahead

    if call.ahead is None:
        return None
    if getattr(call, "schedule", "queue") != "queue":
        raise ValueError("--ahead is for a queue of transfers: give --schedule queue too, or leave it out")
    return Ahead(blocks=None if call.ahead == "all" else call.ahead)


def schedule_text(schedule: str, study: Study) -> str:
    """The schedule of a study, in words."""
    if schedule == "layer":
        return "each layer waits for the transfers beside it"
    return f"transfers have a queue, look-ahead {study.ahead}"


def _ahead(text: str) -> int | str:
    """A number of blocks, or ``all``, for argparse."""
    found = _AHEAD.fullmatch(text)
    if not found:
        raise argparse.ArgumentTypeError(f"must be a number of blocks, as 2blocks, or all, not {text!r}")
    return "all" if found[1] is None else int(found[1])
