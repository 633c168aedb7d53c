"""The generated part of docs/verification.md about proofs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cdma.report.parts import Part, Table
from cdma.verif.formal.table import PROOFS

__all__ = ["formal_parts", "unrecorded"]


def unrecorded(results: dict[str, Any]) -> list[str]:
    """Names of proofs of the table that results do not have."""
    return [proof.name for proof in PROOFS if proof.name not in results["proofs"]]


def formal_parts(results: dict[str, Any]) -> list[Part]:
    """What is proved, how, and how long it took; and what was not proved."""
    proofs = list(results["proofs"].values())
    proved = [proof for proof in proofs if proof["outcome"] == "passed"]
    parts: list[Part] = [
        (f"{len(proved)} of {len(proofs)} proofs that ran passed, in {_minutes(proofs)} of one core. Every one of them "
         f"reached its covers, {sum(len(proof['covers']) for proof in proved)} in all."),
        Table(("proof", "unit", "what is proved", "how", "s"), [_row(proof) for proof in proved], left=(0, 1, 2, 3))]
    others = [proof for proof in proofs if proof["outcome"] != "passed"]
    if others:
        parts.append(Table(("not proved", "unit", "claim", "outcome", "s"), [
            (f"`{proof['name']}`", f"`{proof['unit']}`", proof["claim"], proof["outcome"], _seconds(proof))
            for proof in others], left=(0, 1, 2, 3)))
    if missing := unrecorded(results):
        parts.append(f"In the table, but not recorded for this RTL: {', '.join(f'`{name}`' for name in missing)}.")
    return parts


def _row(proof: dict[str, Any]) -> tuple[str, ...]:
    return f"`{proof['name']}`", f"`{proof['unit']}`", proof["claim"], proof["how"], _seconds(proof)


def _seconds(proof: dict[str, Any]) -> str:
    return f"{proof['seconds']:.1f}"


def _minutes(proofs: Iterable[dict[str, Any]]) -> str:
    seconds = sum(proof["seconds"] for proof in proofs)
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
