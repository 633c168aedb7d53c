"""Runs a training script of the user, and finds its model and epochs while it runs."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from types import TracebackType
from typing import Any

from cdma.workload.capturing.settings import CaptureError
from cdma.workload.extra import package

__all__ = ["Watched", "run_script", "within"]

torch = package("torch", "torch")

# Wrappers that only pass their call on to the model inside.
_WRAPPERS = ("OptimizedModule", "DataParallel", "DistributedDataParallel", "FullyShardedDataParallel")


class Watched:
    """The model of a script, once it is found.

    Attributes
    ----------
    model
        The first module that is called in training mode, with gradients recorded and parameters to learn; None before.
    watcher
        The context manager that observes it; its attribute ``epoch`` is set.
    """

    def __init__(self, watch: Callable[[Any], AbstractContextManager[Any]], pattern: str = "*") -> None:
        self.model: Any = None
        self.watcher: Any = None
        self._watch, self._pattern = watch, pattern
        self._fresh = False  # an iteration over a data loader began, and the model was not called after that
        self._epoch: int | None = None
        self._stack = ExitStack()

    @contextmanager
    def armed(self) -> Iterator[None]:
        """Look for the model until the end of the context."""
        loader = torch.utils.data.DataLoader
        call, iterate = torch.nn.Module.__call__, loader.__iter__

        def called(module: Any, *args: Any, **kwargs: Any) -> Any:
            if self.model is None:
                self._consider(module)
            if module is self.model:
                self._count()
            return call(module, *args, **kwargs)

        def iterated(data: Any) -> Any:
            self._fresh = True
            return iterate(data)

        torch.nn.Module.__call__, loader.__iter__ = called, iterated
        try:
            with self._stack, torch.compiler.set_stance("force_eager"):
                yield
        finally:
            torch.nn.Module.__call__, loader.__iter__ = call, iterate

    def _consider(self, module: Any) -> None:
        kind = type(module).__name__
        if (_training(module) and kind not in _WRAPPERS and fnmatchcase(kind, self._pattern)
                and any(weight.requires_grad for weight in module.parameters())):
            self.model = module
            self.watcher = self._stack.enter_context(self._watch(module))

    def _count(self) -> None:
        """An epoch is an iteration over a data loader after which the model is called in training."""
        if self._fresh and _training(self.model):
            self._epoch = 0 if self._epoch is None else self._epoch + 1
            self.watcher.epoch = self._epoch
        self._fresh = False


def run_script(script: str | Path, arguments: Sequence[str], watched: Watched) -> None:
    """Run a script as ``python SCRIPT ARGUMENTS`` does, and watch its model.

    Exceptions of the script are passed on, including SystemExit.

    Raises
    ------
    CaptureError
        If the file does not exist.
    """
    path = Path(script)
    if not os.path.isfile(path):    # Path.is_file() raises the error of a name that is too long
        raise CaptureError(f"{script} is not a file: give the Python script that trains the model")
    argv, places = sys.argv, sys.path
    sys.argv = [str(script), *arguments]
    sys.path = [str(path.resolve().parent), *places]
    try:
        with watched.armed():
            runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv, sys.path = argv, places


def within(error: BaseException, script: str) -> TracebackType | None:
    """The traceback of an error of a script, from the script on, without the frames that started it."""
    trace, name = error.__traceback__, str(Path(script))    # as run_script() runs it
    while trace is not None and trace.tb_frame.f_code.co_filename != name:
        trace = trace.tb_next
    return trace


def _training(module: Any) -> bool:
    return module.training and torch.is_grad_enabled()
