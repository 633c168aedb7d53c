"""``--schedule`` and ``--ahead``: whether a step waits for its transfers, and how far a queue of them may be behind."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workload.timeline.queued import Ahead
    from workload.timeline.scenario import Scenario

__all__ = ["ahead_option", "look_ahead", "schedule_options", "schedule_text"]

_AHEAD = re.compile(r"(\d+(?:\.\d+)?)MB|(\d+)layers?|(all)", re.ASCII | re.IGNORECASE)


def schedule_options(parser: Any) -> None:
    """Add ``--schedule`` and ``--ahead``."""
    parser.add_argument("--schedule", choices=("layer", "queue"), default="layer", help="layer: each layer waits for "
                        "the transfers beside it, as vDNN does; queue: asynchronous transfers, as frameworks do today "
                        "(default: layer)")
    ahead_option(parser, "queue: ")


def ahead_option(parser: Any, where: str = "") -> None:
    """Add ``--ahead``."""
    parser.add_argument("--ahead", type=_ahead, metavar="Nlayers|NMB|all", help=f"{where}how far "
                        "transfers may be behind in forward, and in front in backward, for instance 2layers or 500MB; "
                        "all: no limit (default: 5layers)")


def look_ahead(call: argparse.Namespace) -> Ahead:
    """The look-ahead of a call.

    Raises
    ------
    ValueError
        If one is given for a schedule without a queue.
    """
    from workload.timeline.queued import AHEAD, Ahead

    if call.ahead is None:
        return AHEAD
    if getattr(call, "schedule", "queue") != "queue":
        raise ValueError("--ahead is for a queue of transfers: give --schedule queue too, or leave it out")
    megabytes, layers = call.ahead
    return Ahead(None if megabytes is None else megabytes * 1e6, layers)


def schedule_text(scenario: Scenario) -> str:
    """The schedule of a scenario, in words."""
    if scenario.schedule == "layer":
        return "each layer waits for the transfers beside it"
    return f"transfers have a queue, look-ahead {scenario.ahead}"


def _ahead(text: str) -> tuple[float | None, int | None]:
    """Megabytes or layers, for argparse; None for both is no limit."""
    found = _AHEAD.fullmatch(text)
    if not found:
        raise argparse.ArgumentTypeError(f"must be a number of layers or MB, as 2layers or 500MB, or all, not {text!r}")
    megabytes, layers, _ = found.groups()
    return None if megabytes is None else float(megabytes), None if layers is None else int(layers)
