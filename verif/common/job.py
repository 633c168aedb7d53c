"""Communication between the process that starts a bench and the bench inside the simulator: a folder of JSON files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from cdma.golden.results import to_json

__all__ = ["CLOCK_NS", "folder", "load", "progress", "report", "share"]

CLOCK_NS = 2
"""Period of the clock of every core and engine in simulation."""


def folder() -> Path:
    """The folder of the run that this bench belongs to.

    Raises
    ------
    RuntimeError
        If no run started this process.
    """
    place = os.environ.get("CDMA_JOB")
    if place is None:
        raise RuntimeError("a bench is started by cdma.verif.common.runner.run, which sets CDMA_JOB")
    return Path(place)


def load() -> Any:
    """The job that :func:`cdma.verif.common.runner.run` was given, as JSON; :func:`cdma.golden.results.from_json` makes
    it what it was."""
    return json.loads((folder() / "job.json").read_text())


def share(count: int) -> int:
    """So much of a count of stimuli as the job asks for; at least one."""
    return max(1, round(count * load().get("share", 1.0)))


def report(values: object) -> None:
    """Return values to the process that started the run, as :func:`cdma.golden.results.to_json` writes them."""
    (folder() / "report.json").write_text(json.dumps(to_json(values)))


def progress(done: int) -> None:
    """Say how much is done, in a unit that the bench and its caller agree on."""
    place = folder() / "progress"
    place.with_suffix(".new").write_text(str(done))
    place.with_suffix(".new").replace(place)
