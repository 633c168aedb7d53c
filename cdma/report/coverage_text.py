"""Coverage as text: the plan, what was hit, and what was not, by name."""

from __future__ import annotations

from collections.abc import Sequence

from cdma.report.table import Table
from cdma.verif.coverage.feature import Feature
from cdma.verif.coverage.report import GOALS, CoverageReport

__all__ = ["coverage_text", "plan_text"]

_KINDS = {"bins": "bins of the plan", "line": "lines of Verilog", "toggle": "toggles of Verilog",
          "python": "lines of Python"}


def plan_text(plan: Sequence[Feature]) -> str:
    """Every feature with what must be seen, and the names of its bins."""
    return "\n\n".join(f"{each.name} ({each.room}, {len(each.bins)} bins): {each.about}\n  {', '.join(each.bins)}"
                       for each in plan)


def coverage_text(report: CoverageReport, most: int) -> str:
    """Tables of features, designs and packages, each hole by name, and the goals.

    Parameters
    ----------
    most
        Holes of each design that are named at most.
    """
    features = Table(["feature", "part", "hit", "bins", "excluded"],
                     [[each.feature, each.room, str(each.hit), str(each.bins), str(each.excluded)]
                      for each in report.features], left=(0, 1)).text()
    return "\n\n".join(filter(None, [features, _bins(report), _designs(report, most), _packages(report),
                                     _goals(report)]))


def _bins(report: CoverageReport) -> str:
    lines = []
    for each in report.features:
        lines += [f"hole: {each.feature}/{hole}" for hole in each.holes]
        lines += [f"excluded, but hit: {each.feature}/{name}" for name in each.contradicted]
    return "\n".join(lines)


def _designs(report: CoverageReport, most: int) -> str:
    if not report.designs:
        return ""
    rows = [[each.design, each.kind, f"{each.hit:,}", f"{each.points:,}", _percent(each.hit, each.points),
             f"{each.excluded:,}"] for each in report.designs]
    lines = [Table(["design", "kind", "hit", "points", "share", "excluded"], rows, left=(0, 1)).text()]
    for each in report.designs:
        lines += [f"hole: {each.design} {each.kind} {hole}" for hole in each.holes[:most]]
        if each.points - each.hit > most:
            lines.append(f"and {each.points - each.hit - most:,} more of {each.design}, {each.kind}")
        lines += [f"excluded, but hit: {each.design} {each.kind} {name}" for name in each.contradicted[:most]]
    return "\n".join(lines)


def _packages(report: CoverageReport) -> str:
    if not report.packages:
        return ""
    rows = [[each.package, f"{each.hit:,}", f"{each.lines:,}", _percent(each.hit, each.lines)]
            for each in report.packages]
    holes = [f"hole: {lines} lines of {name}" for each in report.packages for name, lines in each.holes]
    return "\n".join([Table(["package", "hit", "lines", "share"], rows).text(), *holes])


def _goals(report: CoverageReport) -> str:
    rows = [[_KINDS[kind], "not measured" if share is None else f"{share:.2%}", f"{GOALS[kind]:.0%}"]
            for kind, share in report.shares.items()]
    return Table(["coverage", "hit", "goal"], rows).text()


def _percent(hit: int, total: int) -> str:
    return f"{hit / total:.2%}" if total else "none"
