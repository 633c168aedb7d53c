"""Options of the commands that model a network: its batch and types, and how fast a GPU computes it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from cdma.console.numbers import share
from cdma.console.options import whole_number

if TYPE_CHECKING:
    from cdma.workload.timeline.efficiency import Efficiency

__all__ = ["compute_options", "efficiency_of", "size_options"]


def size_options(parser: Any, about: str = "") -> None:
    """Add ``--batch`` and ``--positions``.

    Parameters
    ----------
    parser
        Of the command.
    about
        What every help text begins with.
    """
    parser.add_argument("--batch", type=whole_number, metavar="N",
                        help=f"{about}samples of a step (default: the network's own)")
    parser.add_argument("--positions", type=whole_number, metavar="N",
                        help=f"{about}length of a sequence, of decoders (default: the network's own)")


def compute_options(parser: Any, about: str = "") -> None:
    """Add ``--compute`` and ``--efficiency``; parameters as for :func:`size_options`."""
    parser.add_argument("--compute", metavar="TYPE", help=f"{about}what matrix products are computed in: float32, "
                        "tf32, bfloat16, float16 or float8 (default: the type of values)")
    parser.add_argument("--efficiency", type=_efficiency, action="append", metavar="[KIND=]X", help=f"{about}share of "
                        "the GPU's peak that is reached: of convolutions and products, or of the KIND convolution, "
                        "product, attention or memory; may be repeated (default: 0.5, memory 1)")


def efficiency_of(call: argparse.Namespace) -> Efficiency:
    """The efficiency that a call gives.

    Raises
    ------
    ValueError
        If it is not allowed, or the call also names a profile, which has times already.
    """
    from cdma.workload.timeline.efficiency import efficiency

    if call.profile and call.efficiency is not None:
        raise ValueError("--profile has times already: leave --efficiency out")
    return efficiency(call.efficiency or [])


def _efficiency(text: str) -> tuple[str | None, float]:
    """``0.5`` or ``attention=0.5``, for argparse."""
    name, _, value = text.rpartition("=")
    return name or None, share(value)
