"""Starts the process that forks a child for each job, and gives it jobs."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from types import TracebackType
from typing import Any, Self

from cdma.verif.evidence.digest import ROOT
from cdma.verif.mutation.mutant import Mutant

__all__ = ["Children", "require"]

_IDLE = 10
"""Wall seconds for each second of a processor that a child may take: the machine may have other work."""

_CHOOSES_TESTS = "CDMA_SHARD"
"""The variable that leaves tests out: a child runs all those of the files that it is given."""


def require() -> None:
    """Check that what tests need is there.

    Raises
    ------
    ValueError
        If this is no clone of the repository, or a package is missing.
    """
    if not (ROOT / "tests" / "hdl").is_dir():
        raise ValueError(f"{ROOT} has no tests: mutants are judged by them, so run this in a clone of the repository")
    for name in ("coverage", "hypothesis", "pytest"):
        if importlib.util.find_spec(name) is None:
            raise ValueError(f"mutants need the package {name} ({sys.executable} -m pip install {name})")


class Children:
    """A context manager around the process; one job at a time."""

    def __enter__(self) -> Self:
        require()
        # One thread each: a process with several cannot be forked safely.
        inherited = {name: value for name, value in os.environ.items() if name != _CHOOSES_TESTS}
        environment = {**inherited, "CDMA_REGRESSION": "extended", "OMP_NUM_THREADS": "1",
                       "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0",
                       "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
                       "AMARANTH_USE_YOSYS": "builtin"}
        self._process = subprocess.Popen([sys.executable, "-m", "cdma.verif.mutation.worker"], cwd=ROOT,
                                         env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        if kind is not None:
            self._process.terminate()
        self._process.wait()
        self._process.stdout.close()

    def do(self, work: str, processor_s: float, mutant: Mutant | None = None, **given: Any) -> dict[str, Any]:
        """Do a job of :mod:`cdma.verif.mutation.jobs` in a child, with a mutant in the place of its module.

        Parameters
        ----------
        work
            Name of the function.
        processor_s
            Seconds of a processor after which the child is stopped.
        given
            What the function is called with.

        Returns
        -------
        dict
            What the function gave, with ``processor_s`` and ``seconds``. The outcome is ``timeout`` when the child was
            stopped, and ``died`` when it ended otherwise, with the end of what it printed.
        """
        over = None if mutant is None else {
            "module": mutant.module, "path": str(ROOT / mutant.path),
            "text": mutant.applied((ROOT / mutant.path).read_bytes()).decode()}
        limit = round(processor_s) + 1
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"work": work, "with": given, "overlay": over, "processor_s": limit,
                                              "seconds": _IDLE * limit}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process that runs mutants has ended: its errors are above")
        return json.loads(line)
