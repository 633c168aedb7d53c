"""Coverage in the store of results: figures of the plan and of Verilog, and those of Python, each as they come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cdma.golden.results import to_json
from cdma.verif.coverage.report import CoverageReport
from cdma.verif.evidence.store import RECORDED, recording, stamp_now

__all__ = ["record"]

_HOLES = 20
_PYTHON = "make coverage-python RECORD=1"


def record(report: CoverageReport, command: str, path: Path = RECORDED) -> None:
    """Replace what a report has figures of, and leave the rest that is of the same RTL."""
    part: dict[str, Any] = {"stamps": {}}
    stamp = to_json(stamp_now(command))
    if report.simulations:
        part = {"simulations": report.simulations,
                "features": [to_json(each) for each in report.features],
                "designs": [{**to_json(each), "holes": list(each.holes[:_HOLES]), "contradicted":
                             list(each.contradicted[:_HOLES])} for each in report.designs],
                "exclusions": [to_json(each) for each in report.exclusions], "stamps": {"verilog": stamp}}
    if report.packages:
        part["packages"] = [to_json(each) for each in report.packages]
        part["stamps"]["python"] = to_json(stamp_now(_PYTHON))
    with recording(path) as evidence:
        evidence.merge("coverage", command=command, part=part, join=_joined)


def _joined(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    old = old or {}
    return {**old, **new, "stamps": {**old.get("stamps", {}), **new["stamps"]}}
