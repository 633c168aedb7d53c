"""The generated part of docs/verification.md about soaks."""

from __future__ import annotations

from typing import Any

from cdma.report.parts import Part, Table

__all__ = ["soak_parts"]


def soak_parts(results: dict[str, Any]) -> list[Part]:
    """How long, how much, and what failed."""
    failures = results["failures"]
    clean = "nothing failed" if not failures else f"{len(failures)} failures"
    rows = [["minutes, all runs together", f"{results['minutes']:.0f}"],
            ["minutes of a processor that they used", f"{results['processor_minutes']:.0f}"],
            ["configurations", f"{results['configurations']:,}"], ["cases", f"{results['cases']:,}"],
            ["simulated cycles", f"{results['cycles']:,}"],
            ["pairs of settings of options", f"{len(results['pairs']):,} of {results['pairs_of_all']:,}"],
            ["malformed streams, model against plain reference", f"{results['streams_golden']:,}"],
            ["malformed streams, RTL against model", f"{results['streams_rtl']:,}"],
            *([f"cases of `{bench}`", f"{number:,}"] for bench, number in results["benches"].items()),
            ["runs, each with a seed of its own", f"{len(results['seeds'])}"]]
    return [f"In all runs together {clean}.", Table(["what", "how much"], rows),
            *([tuple(failures)] if failures else [])]
