"""Puts results of proofs into the store of evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cdma.golden.results import to_json
from cdma.verif.evidence.store import RECORDED, recording
from cdma.verif.formal.proof import ProofReport
from cdma.verif.formal.table import PROOFS

__all__ = ["record"]


def record(report: ProofReport, command: str, path: Path = RECORDED) -> None:
    """Merge results into the section ``formal``, by the proofs' names; proofs that the table has no more are dropped.

    Parameters
    ----------
    report : ProofReport
        What came of the proofs.
    command : str
        What makes the results again.
    path : Path, optional
        The store.
    """
    part = {"proofs": {result.name: to_json(result) for result in report.results}}
    with recording(path) as evidence:
        evidence.merge("formal", command=command, part=part, join=_joined)


def _joined(old: dict[str, Any] | None, part: dict[str, Any]) -> dict[str, Any]:
    """Results in the order of the table."""
    found = ({} if old is None else old["proofs"]) | part["proofs"]
    return {"proofs": {proof.name: found[proof.name] for proof in PROOFS if proof.name in found}}
