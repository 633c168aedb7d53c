"""What coverage there is, of the plan's features and of the Verilog of each design; read from folders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cdma.golden.results import derived
from cdma.verif.common.counted import restored_points
from cdma.verif.common.cover import restored
from cdma.verif.coverage.exclusions import Exclusion, read_exclusions
from cdma.verif.coverage.functional import FeatureResult, Samples, add_up, functional, of_points
from cdma.verif.coverage.points import read_points
from cdma.verif.coverage.verilog import DesignResult, design_results

__all__ = ["GOALS", "CoverageReport", "read_report"]

GOALS = {"bins": 1.0, "line": 0.98, "toggle": 0.95, "python": 0.95}
"""Share of each kind that must be hit."""


@dataclass(frozen=True)
class CoverageReport:
    """Coverage of some runs.

    Parameters
    ----------
    simulations
        How many wrote samples.
    features
        Of the plan, in its order.
    designs
        Kinds of coverage of designs that were compiled for it.
    exclusions
        What does not have to be hit.
    """

    simulations: int
    features: tuple[FeatureResult, ...]
    designs: tuple[DesignResult, ...]
    exclusions: tuple[Exclusion, ...]

    @derived
    def shares(self) -> dict[str, float | None]:
        """Share that is hit by kind: bins, line, toggle; None where nothing was measured."""
        of = {"bins": [(each.hit, each.bins) for each in self.features],
              **{kind: [(each.hit, each.points) for each in self.designs if each.kind == kind]
                 for kind in ("line", "toggle")}}
        totals = {kind: (sum(hit for hit, _ in parts), sum(total for _, total in parts)) for kind, parts in of.items()}
        return {kind: hit / total if total else None for kind, (hit, total) in totals.items()}

    @derived
    def missed(self) -> list[str]:
        """The kinds that are below their goals."""
        return [kind for kind, share in self.shares.items() if share is not None and share < GOALS[kind]]


def read_report(folders: Sequence[Path], exclusions: Sequence[Exclusion] | None = None) -> CoverageReport:
    """The coverage in folders, of this machine or of several, together.

    Parameters
    ----------
    exclusions
        Those of this project when not given.

    Raises
    ------
    ValueError
        If a folder has no coverage.
    """
    rules = tuple(read_exclusions() if exclusions is None else exclusions)
    samples: list[Samples] = []
    designs: dict[str, list[str]] = {}
    count = 0
    for folder in folders:
        written = restored(folder)
        found = list(restored_points(folder))
        if not written and not found:
            raise ValueError(f"{folder} has no coverage: give a folder that make coverage wrote")
        count += len(written)
        samples += written
        for name, text in found:
            designs.setdefault(name, []).append(text)
    results: list[DesignResult] = []
    for name, texts in designs.items():
        points = [point for text in texts for point in read_points(text)]
        samples.append(of_points(points))
        results += design_results(name.rsplit("-", 2)[0].removesuffix("_bench"), points, rules)
    return CoverageReport(count, functional(add_up(samples), rules), tuple(results), rules)
