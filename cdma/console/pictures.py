"""Names of pictures that commands write; the suffix selects the format."""

from __future__ import annotations

import argparse
from pathlib import Path

from cdma.console.files import check_folder_of

__all__ = ["FORMATS", "picture_file"]

FORMATS = (".svg",)
"""The suffixes of the formats that are written."""


def picture_file(text: str) -> str:
    """The name of a picture, for argparse: its suffix is one of :data:`FORMATS`, and its folder exists."""
    path = Path(text)
    if path.suffix.lower() not in FORMATS:
        known = " or ".join(FORMATS)
        raise argparse.ArgumentTypeError(f"must end in {known}, the format that is written, not {text!r}")
    try:
        check_folder_of(path)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text
