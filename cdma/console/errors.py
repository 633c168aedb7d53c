"""How commands fail and warn: what is no mistake of the call, and errors and warnings as one line."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["CheckError", "block_size_hint", "one_line", "simulation_errors", "warn"]


class CheckError(Exception):
    """A check of the user's data or of the hardware failed; the message says which."""


def one_line(error: BaseException) -> str:
    """The message of an error on one line, with the file it is about; its type's name where it has none."""
    if isinstance(error, MemoryError):
        return f"not enough memory: give less data, or smaller numbers{f' ({error})' if str(error) else ''}"
    if isinstance(error, FileExistsError) and error.filename:
        what = "a link to nothing" if os.path.islink(error.filename) else "a file"
        return f"{error.filename} is {what}: give the name of a folder"
    if isinstance(error, IsADirectoryError) and error.filename:
        return f"{error.filename} is a folder: give the name of a file"
    if isinstance(error, NotADirectoryError) and error.filename:
        return f"{error.filename}: one of its folders is a file: give another path"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        # What the command writes under a name says it.
        return f"standard output, or a temporary file: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def warn(message: str) -> None:
    """Print a warning as one line on standard error."""
    print(f"cdma: warning: {message}", file=sys.stderr)


@contextmanager
def block_size_hint(block_bytes: int, given: bool) -> Iterator[None]:
    """Add to the error of a malformed block stream which block size was assumed, if none was given.

    The size is not in the stream, and with a wrong one the first fault may be anywhere in a block.

    Raises
    ------
    CheckError
        In place of a StreamError about a block, if the size was not given.
    """
    from cdma.golden.codec.errors import StreamError

    try:
        yield
    except StreamError as error:
        if given or error.block is None:
            raise
        raise CheckError(f"{error} (read in blocks of {block_bytes} raw bytes: if it was written in others, give "
                         "--block-bytes)") from error


@contextmanager
def simulation_errors() -> Iterator[None]:
    """Turn what simulations raise into errors of the command line.

    Raises
    ------
    ValueError
        If a program is not installed.
    CheckError
        If the Verilog does not compile or a bench fails; the message is the first lines of the simulator's, which
        name the log that has them all.
    """
    from cdma.verif.common.runner import BenchError, BuildError
    from cdma.verif.common.tools import MissingToolError

    try:
        yield
    except MissingToolError as error:
        raise ValueError(str(error)) from error
    except (BuildError, BenchError) as error:
        raise CheckError(" ".join(str(error).splitlines()[:2])) from error
