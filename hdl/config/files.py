"""Files that users name, for every package that reads or writes them: named pipes are refused as inputs, and outputs
are there as a whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["refuse_pipe", "write_file"]


def refuse_pipe(path: str | Path) -> Path:
    """The path of a file that may be opened more than once.

    Raises
    ------
    ValueError
        If it is a named pipe: opening one waits for a writer, and it can be read only once.
    """
    path = Path(path)
    # A shell's <(command) is a pipe too, but it is open already and has no path of its own.
    if path.is_fifo() and path.resolve().exists():
        raise ValueError(f"{path} is a named pipe: write its content to a file first, and give that")
    return path


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write a file: beside its place first, then under its name, so that one which cannot be finished changes nothing.

    What is no file but a device or a pipe, and what belongs to an open one (``/dev/stdout``), is written directly.

    Raises
    ------
    OSError
        If it cannot be written, with the path in every case, also where the disk is full.
    """
    data = content.encode() if isinstance(content, str) else content
    path = Path(path)
    try:
        there = _stat(path)
        if (there is not None and not stat.S_ISREG(there.st_mode)) or path.absolute().parts[1] in ("dev", "proc"):
            path.write_bytes(data)
            return
        target = Path(os.path.realpath(path))    # of a link, the file behind it
        new = target.parent / f".cdma-{os.getpid()}-{os.urandom(4).hex()}.part"
        try:
            with new.open("xb") as file:
                file.write(data)
            if there is not None:
                new.chmod(stat.S_IMODE(there.st_mode))
            new.replace(target)
        except BaseException:
            with suppress(OSError):
                new.unlink()
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _stat(path: Path) -> os.stat_result | None:
    """What is there and may be written; None where nothing is."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISREG(found.st_mode) and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return found
