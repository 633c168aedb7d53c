"""Errors of reading files, as messages of one sentence."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DumpWarning", "Strange", "reading", "some"]

_MISTAKES = (ValueError, EOFError, MemoryError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error)
_SHOWN = 8


class DumpWarning(UserWarning):
    """Something of a dump is not read as what it is."""


@dataclass(frozen=True)
class Strange:
    """An array of a type that is not known here: which one, and whether its bytes can be read."""

    dtype: str
    readable: bool = True


@contextmanager
def reading(path: Path, kind: str, mistakes: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn exceptions of reading a file into a ValueError of one sentence.

    Parameters
    ----------
    path
        The file.
    kind
        The kind of file, for the message.
    mistakes
        Further exceptions that mean that the file is malformed.

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
