"""Files that commands write: folders are checked before the work, texts are written with their sizes."""

from __future__ import annotations

import argparse
import errno
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from cdma.console.output import count
from cdma.hdl.config.files import write_file

__all__ = ["check_folder_of", "check_no_input", "picture_file", "write_files", "written_text"]


def check_folder_of(path: str | Path) -> None:
    """Check that a file can have its name, and its folder exists, before the work whose result goes into the file.

    Raises
    ------
    ValueError
        If the folder does not exist, or is a file.
    OSError
        If the file is a folder, a loop of links, or has too long a name.
    """
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise ValueError(f"{Path(path).parent} is not a folder: make it first, or give {Path(path).name} another one")
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(Path(path).stat().st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))


def check_no_input(path: str | Path, *inputs: str | Path | None) -> None:
    """Check that a file to be written is none that is read, before the work whose result goes into it.

    Parameters
    ----------
    path
        The file.
    inputs
        What is read: files, folders of a dump, or names of something else; None where nothing is given.

    Raises
    ------
    ValueError
        If it is one of them, or of the files of such a folder, also by another path.
    """
    from cdma.workload.dumps.folder import MANIFEST, PARTS
    from cdma.workload.networks.captured import NETWORK

    names = (MANIFEST, NETWORK, *(f"*{suffix}" for suffix in PARTS))
    for given in map(Path, filter(None, inputs)):
        for each in (given, *(file for name in names for file in given.glob(name))):
            if os.path.exists(path) and os.path.exists(each) and os.path.samefile(path, each):
                raise ValueError(f"{path} is an input: give the output a name of its own")


def picture_file(text: str) -> str:
    """The name of a picture, for argparse: its suffix is ``.svg``, the format that is written, and its folder is
    there."""
    if Path(text).suffix.lower() != ".svg":
        raise argparse.ArgumentTypeError(f"must end in .svg, the format that is written, not {text!r}")
    try:
        check_folder_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def write_files(folder: Path, contents: Mapping[str, str | bytes]) -> list[dict[str, Any]]:
    """Write texts, or bytes, by the name of their file into a folder that is there; a name may have a folder in
    front. Returns path and size of each, as JSON has them."""
    found = []
    for name, given in contents.items():
        path, content = folder / name, given.encode() if isinstance(given, str) else given
        path.parent.mkdir(exist_ok=True)
        write_file(path, content)
        found.append({"file": path, "bytes": len(content)})
    return found


def written_text(written: Mapping[str, Any]) -> str:
    """A line that says which file was written."""
    return f"wrote {written['file']} ({count(written['bytes'])} bytes)"
