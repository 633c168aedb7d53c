"""Samples of functional coverage: what a bench has seen, counted by feature and bin.

Nothing is counted unless CDMA_COVERAGE names a folder. A simulation then writes its counts there when it ends. The bins
that are wanted are in :mod:`cdma.verif.coverage.plan`. (cocotb-coverage declares bins with decorators of the functions
that sample, in a global registry, so a plan could not be read, checked or printed without running the benches.)
"""

from __future__ import annotations

import atexit
import json
import os
import uuid
from collections import Counter
from pathlib import Path

__all__ = ["ENABLED", "VARIABLE", "bins", "condition", "cover", "note", "restored"]

VARIABLE = "CDMA_COVERAGE"
"""The environment variable that names the folder for coverage."""

ENABLED = bool(os.environ.get(VARIABLE))
"""Whether samples are counted in this process."""

_counts: Counter[tuple[str, str]] = Counter()
_conditions: dict[str, str] = {}


def cover(feature: str, *parts: object) -> None:
    """Count a sample of a feature; the parts of the bin's name are joined with colons."""
    if ENABLED:
        _counts[feature, ":".join(map(str, parts))] += 1


def note(name: str, value: str) -> None:
    """Keep a condition, such as how the memories answer, for samples that are crossed with it."""
    _conditions[name] = value


def condition(name: str, default: str) -> str:
    """What was noted last."""
    return _conditions.get(name, default)


def bins() -> dict[str, dict[str, int]]:
    """The counts of this process so far, by feature and bin."""
    found: dict[str, dict[str, int]] = {}
    for (feature, name), count in sorted(_counts.items()):
        found.setdefault(feature, {})[name] = count
    return found


def restored(folder: Path) -> list[dict[str, dict[str, int]]]:
    """The counts that simulations wrote to a folder for coverage."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((folder / "bins").glob("*.json"))]


def _write(folder: Path) -> None:
    if _counts:
        place = folder / "bins"
        place.mkdir(parents=True, exist_ok=True)
        new = place / f"{uuid.uuid4().hex}.new"
        new.write_text(json.dumps(bins()), encoding="utf-8")
        new.rename(new.with_suffix(".json"))


if ENABLED:
    atexit.register(_write, Path(os.environ[VARIABLE]))
