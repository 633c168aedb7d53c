"""The generated parts of docs/verification.md: what docs/verification.json says, and where it is from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from cdma.report.evidence.coverage import coverage_parts
from cdma.report.evidence.formal import formal_parts
from cdma.report.evidence.mutation import mutation_parts
from cdma.report.evidence.soak import soak_parts
from cdma.report.parts import Part
from cdma.verif.evidence.store import Evidence, Stamp

__all__ = ["PARTS", "section_parts", "stamp_text"]

PARTS: Mapping[str, Callable[[dict[str, Any]], list[Part]]] = MappingProxyType({
    "formal": formal_parts, "coverage": coverage_parts, "mutation": mutation_parts, "soak": soak_parts})
"""By section, what turns its results into tables and paragraphs; a section that is not here has no generated part."""

_OF_PART: Mapping[str, str] = MappingProxyType({"verilog": "Plan and Verilog", "python": "Python"})
"""Parts of a section that are recorded by themselves, and what they are called."""


def section_parts(evidence: Evidence, name: str) -> list[Part]:
    """The tables of a section, and a sentence that says where its figures are from; one of each part with a stamp."""
    stamp, results = evidence.stamp(name), evidence.results(name)
    if stamp is None or results is None:
        return ["Nothing is recorded yet."]
    told = [f"{called}: {_small(stamp_text(evidence.stamp(name, part) or stamp))}"
            for part, called in _OF_PART.items() if part in results.get("stamps", {})]
    return [*PARTS[name](results), " ".join(told or [stamp_text(stamp)])]


def _small(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def stamp_text(stamp: Stamp) -> str:
    """Where figures are from, in a sentence."""
    commit = f", commit {stamp.commit.rstrip('+')}" if stamp.commit else ""
    changed = " with changes" if stamp.commit.endswith("+") else ""
    return f"Recorded with `{stamp.command}` on {stamp.date}{commit}{changed}, digest of the RTL `{stamp.digest}`."
