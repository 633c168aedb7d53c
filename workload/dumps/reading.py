"""How files fail: one sentence, whatever went wrong."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["reading", "refuse_pipe", "some"]

_MISTAKES = (ValueError, EOFError, MemoryError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error)
_SHOWN = 8


@contextmanager
def reading(path: Path, kind: str, mistakes: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn what reading a file raises into a sentence.

    Parameters
    ----------
    path
        The file.
    kind
        What it is read as.
    mistakes
        What else means that the file is malformed.

    Raises
    ------
    ValueError
        If the file cannot be read, or is malformed.
    """
    try:
        yield
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from error
    except (*_MISTAKES, *mistakes) as error:
        said = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise ValueError(f"cannot read {path} as {kind}: {said}") from error


def some(names: Iterable[str]) -> str:
    """The first of many names, for a message."""
    every = list(names)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more


def refuse_pipe(path: str | Path) -> Path:
    """The path of a file that may be opened more than once.

    Raises
    ------
    ValueError
        If it is a named pipe: opening one waits for a writer, and what was read is gone.
    """
    path = Path(path)
    # What a shell passes for <(command) is a pipe as well, but one that is open already and has no path of its own.
    if path.is_fifo() and path.resolve().exists():
        raise ValueError(f"{path} is a named pipe: write its content to a file first, and give that")
    return path
