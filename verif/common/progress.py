"""Progress of a simulation that runs in another process: a number in a file, watched."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["watch"]

_POLL_SECONDS = 0.2


@contextmanager
def watch(file: Path, progress: Callable[[int], None] | None) -> Iterator[None]:
    """While entered, calls back when the number in a file changes."""
    file.unlink(missing_ok=True)
    if progress is None:
        yield
        return
    ended = threading.Event()

    def poll() -> None:
        seen = ""
        while not ended.wait(_POLL_SECONDS):
            text = file.read_text() if file.exists() else ""
            if text and text != seen:
                seen = text
                progress(int(text))

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
