"""Communication between the process that starts a bench and the bench inside the simulator: a folder of JSON files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["folder", "load", "progress", "report"]


def folder() -> Path:
    """The folder of the run that this bench belongs to.

    Raises
    ------
    RuntimeError
        If no run started this process.
    """
    place = os.environ.get("CDMA_JOB")
    if place is None:
        raise RuntimeError("a bench is started by verif.common.runner.run, which sets CDMA_JOB")
    return Path(place)


def load() -> dict[str, Any]:
    """The job as it was given to :func:`verif.common.runner.run`."""
    return json.loads((folder() / "job.json").read_text())


def report(values: dict[str, Any]) -> None:
    """Return values to the process that started the run."""
    (folder() / "report.json").write_text(json.dumps(values))


def progress(done: int) -> None:
    """Say how much is done, in a unit that bench and starter agree on."""
    place = folder() / "progress"
    place.with_suffix(".new").write_text(str(done))
    place.with_suffix(".new").replace(place)
