"""Names of pictures that commands write: the suffix says the format."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["FORMATS", "picture_file"]

FORMATS = (".svg",)
"""The suffixes of the formats that are written."""


def picture_file(text: str) -> str:
    """The name of a picture, for argparse: its suffix is one of :data:`FORMATS`, and its folder is there."""
    path = Path(text)
    if path.suffix.lower() not in FORMATS:
        known = " or ".join(FORMATS)
        raise argparse.ArgumentTypeError(f"must end in {known}, the format that is written, not {text!r}")
    if not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"{path.parent} is no folder: the picture goes into a folder that is there")
    return text
