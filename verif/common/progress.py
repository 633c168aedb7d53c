"""Progress of a simulation that runs in another process: a number in a file, watched."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

__all__ = ["watch"]

_POLL_SECONDS = 0.2


class watch:  # noqa: N801 (used as a statement)
    """While entered, calls back when the number in a file changes."""

    def __init__(self, file: Path, progress: Callable[[int], None] | None) -> None:
        self._file, self._progress = file, progress
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self) -> None:
        self._file.unlink(missing_ok=True)
        if self._progress is not None:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._progress is not None:
            self._thread.join()

    def _poll(self) -> None:
        assert self._progress is not None
        seen = ""
        while not self._stop.wait(_POLL_SECONDS):
            text = self._file.read_text() if self._file.exists() else ""
            if text and text != seen:
                seen = text
                self._progress(int(text))
