"""What a result says of its making: the version of the project, and the date."""

from __future__ import annotations

import argparse
import os
from datetime import UTC, date, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

__all__ = ["date_option", "made_on", "project_version"]


def project_version() -> str:
    """The version of the project that is installed."""
    try:
        return version("cdma-rtl")
    except PackageNotFoundError:
        return "not installed"


def date_option(parser: Any) -> None:
    """Add ``--date``."""
    parser.add_argument("--date", type=_day, metavar="YYYY-MM-DD", help="date that the result says (default: that of "
                        "SOURCE_DATE_EPOCH, or today's in UTC)")


def made_on(given: str | None = None) -> str:
    """The date of a result: the given one, that of the variable SOURCE_DATE_EPOCH, or today's in UTC.

    Raises
    ------
    ValueError
        If SOURCE_DATE_EPOCH is no number of seconds.
    """
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if given is not None or not seconds:
        return given or datetime.now(UTC).date().isoformat()
    try:
        return datetime.fromtimestamp(int(seconds), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"SOURCE_DATE_EPOCH must be seconds since 1970, not {seconds!r}: correct or unset "
                         "it") from error


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be a date as 2026-11-23, not {text!r}") from error
