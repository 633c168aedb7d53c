"""Coverage in the store of results: figures of the plan and of Verilog, and those of Python, each as they come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from golden.results import to_json
from verif.coverage.report import CoverageReport
from verif.evidence.store import RECORDED, recording

__all__ = ["record"]

_HOLES = 20


def record(report: CoverageReport, command: str, path: Path = RECORDED) -> None:
    """Replace what a report has figures of, and leave the rest that is of the same RTL."""
    part: dict[str, Any] = {}
    if report.simulations:
        part = {"simulations": report.simulations,
                "features": [to_json(each) for each in report.features],
                "designs": [{**to_json(each), "holes": list(each.holes[:_HOLES]), "contradicted":
                             list(each.contradicted[:_HOLES])} for each in report.designs],
                "exclusions": [to_json(each) for each in report.exclusions]}
    if report.packages:
        part["packages"] = [to_json(each) for each in report.packages]
    with recording(path) as evidence:
        evidence.merge("coverage", command=command, part=part, join=lambda old, new: {**(old or {}), **new})
