"""The plan beside what benches sampled: hits and holes of each feature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cdma.verif.coverage.exclusions import Exclusion, judge
from cdma.verif.coverage.feature import Feature
from cdma.verif.coverage.plan import PLAN
from cdma.verif.coverage.points import Point

__all__ = ["FeatureResult", "Samples", "add_up", "functional", "of_points"]

Samples = Mapping[str, Mapping[str, int]]
"""Counts by feature and bin."""


@dataclass(frozen=True)
class FeatureResult:
    """What was seen of a feature.

    Parameters
    ----------
    feature, room, about
        Of the plan.
    bins
        How many must be hit.
    hit
        How many of them were.
    excluded
        How many do not have to be.
    holes
        Names of the others.
    contradicted
        Bins that are excluded, and were hit.
    unplanned
        Bins that were sampled and are not in the plan.
    """

    feature: str
    room: str
    about: str
    bins: int
    hit: int
    excluded: int
    holes: tuple[str, ...]
    contradicted: tuple[str, ...]
    unplanned: tuple[str, ...]


def add_up(parts: Iterable[Samples]) -> dict[str, dict[str, int]]:
    """The samples of several simulations together."""
    total: dict[str, Counter[str]] = {}
    for part in parts:
        for feature, counts in part.items():
            total.setdefault(feature, Counter()).update(counts)
    return {feature: dict(counts) for feature, counts in total.items()}


def of_points(points: Iterable[Point]) -> dict[str, dict[str, int]]:
    """The samples that a design's memories counted: covers that are labelled ``feature__bin``, by memory."""
    found: dict[str, Counter[str]] = {}
    for point in points:
        if point.kind != "cover":
            continue
        feature, _, name = point.name.partition("__")
        parts = point.instance.split(".")
        memory = parts[1] if len(parts) > 1 else ""
        found.setdefault(feature, Counter())[name if feature == "read_order" else f"{memory}:{name}"] += point.count
    return {feature: dict(counts) for feature, counts in found.items()}


def functional(samples: Samples, exclusions: Sequence[Exclusion] = (),
               plan: Sequence[Feature] = PLAN) -> tuple[FeatureResult, ...]:
    """The result of each feature of the plan."""
    rules = [each for each in exclusions if each.kind == "bin"]
    results = []
    for feature in plan:
        counts = samples.get(feature.name, {})
        own = [Exclusion(rule.kind, rule.name.partition("/")[2], rule.reason, rule.signed) for rule in rules
               if rule.name.partition("/")[0] == feature.name]
        judged = judge(((name, counts.get(name, 0)) for name in feature.bins), own)
        results.append(FeatureResult(
            feature.name, feature.room, feature.about, judged.total, judged.hit, judged.excluded, judged.holes,
            judged.contradicted, tuple(sorted(set(counts) - set(feature.bins)))))
    return tuple(results)
