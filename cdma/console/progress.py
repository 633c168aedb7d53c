"""Progress of long work: a bar on standard error, on a terminal only, and only after two seconds."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

__all__ = ["Progress"]

_DELAY_S = 2.0


class Progress:
    """A bar per stage, fed by calling ``progress(stage, done, total)``; a total of 0 means that it is not known.

    Use it as a context manager: the bar goes away at its end.
    """

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._timer: threading.Timer | None = None
        self._tasks: dict[str, TaskID] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as LiveBar

            self._bar = LiveBar(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(),
                                console=Console(stderr=True), transient=True)
            self._timer = threading.Timer(_DELAY_S, self._bar.start)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._timer is not None and self._bar is not None:
            self._timer.cancel()
            self._timer.join()
            self._bar.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Say that ``done`` of ``total`` units of a stage are done."""
        if self._bar is None:
            return
        with self._lock:
            if stage not in self._tasks:
                for earlier in self._tasks.values():
                    self._bar.update(earlier, visible=False)
                self._tasks[stage] = self._bar.add_task(stage, total=total or None)
            self._bar.update(self._tasks[stage], completed=done, total=total or None)
