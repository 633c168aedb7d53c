"""Refuses named pipes as input files; used by every package that reads files which users name."""

from __future__ import annotations

from pathlib import Path

__all__ = ["refuse_pipe"]


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
