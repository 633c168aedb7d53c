"""What ``cdma bench --compare`` prints in plain text."""

from __future__ import annotations

from cdma.measure.compare import Change, Comparison, number_text
from cdma.report.table import Table

__all__ = ["comparison_text"]


def comparison_text(comparison: Comparison) -> str:
    """Figures that changed, and those that only one file has."""
    changed = [change for change in comparison.figures if change.percent != 0]
    same = len(comparison.figures) - len(changed)
    parts = [f"{len(comparison.figures)} figures in both: {len(changed)} changed, {same} are the same."]
    if changed:
        parts.append(Table(["figure", "old", "new", "change"], [
            [f"{change.section} / {change.figure}", number_text(change.old), number_text(change.new), _percent(change)]
            for change in changed]).text())
    for title, names in (("Only in the new", comparison.appeared), ("Only in the old", comparison.vanished)):
        if names:
            parts.append("\n".join([f"{title}:", *(f"  {name}" for name in names)]))
    return "\n\n".join(parts)


def _percent(change: Change) -> str:
    return "" if change.percent is None else f"{change.percent:+.2f} %"
