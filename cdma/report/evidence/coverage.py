"""The generated part of docs/verification.md about coverage: the plan with its hits, figures, and what is excluded."""

from __future__ import annotations

from typing import Any

from cdma.report.parts import Part, Table
from cdma.verif.coverage.report import GOALS

__all__ = ["coverage_parts"]


def coverage_parts(results: dict[str, Any]) -> list[Part]:
    """Tables of the plan, the designs, the packages and the exclusions."""
    parts: list[Part] = []
    if features := results.get("features"):
        hit, bins = (sum(each[name] for each in features) for name in ("hit", "bins"))
        parts.append(f"{hit:,} of {bins:,} bins of the plan were hit in {results['simulations']} simulations.")
        parts.append(Table(["feature", "what must be seen", "hit", "bins"],
                           [[f"`{each['feature']}`", each["about"], f"{each['hit']}", f"{each['bins']}"]
                            for each in features], left=(0, 1)))
        if holes := [f"`{each['feature']}/{hole}`" for each in features for hole in each["holes"]]:
            parts.append(f"Not hit: {', '.join(holes)}.")
        parts.append(Table(["design", "kind", "hit", "points", "share", "goal", "excluded"],
                           [[f"`{each['design']}`", each["kind"], f"{each['hit']:,}", f"{each['points']:,}",
                             f"{each['hit'] / each['points']:.2%}", f"{GOALS[each['kind']]:.0%}",
                             f"{each['excluded']:,}"] for each in results["designs"]], left=(0, 1)))
        parts.append(Table(["excluded", "names", "reason", "signed"],
                           [[each["kind"], f"`{each['name']}`", each["reason"], each["signed"]]
                            for each in results["exclusions"]], left=(0, 1, 2, 3)))
    if packages := results.get("packages"):
        parts.append(Table(["package", "lines that tests run", "lines", "share"],
                           [[f"`{each['package']}`", f"{each['hit']:,}", f"{each['lines']:,}",
                             f"{each['hit'] / each['lines']:.2%}"] for each in packages]))
    return parts
