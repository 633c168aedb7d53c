"""What coverage there is, of the plan's features and of the Verilog of each design; read from folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cdma.verif.common.counted import restored_points
from cdma.verif.common.cover import restored
from cdma.verif.coverage.exclusions import Exclusion, judge, read_exclusions
from cdma.verif.coverage.plan import PLAN, Feature
from cdma.verif.coverage.points import Point, read_points

__all__ = ["GOALS", "Samples", "add_up", "design_results", "functional", "of_points", "read_report"]

GOALS = {"bins": 1.0, "line": 0.98, "toggle": 0.95, "python": 0.95}
"""Share of each kind that must be hit."""

Samples = Mapping[str, Mapping[str, int]]
"""Counts by feature and bin."""

_MOST_HOLES = 400


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
        if point.kind == "cover":
            feature, _, name = point.name.partition("__")
            memory = (*point.instance.split("."), "")[1]
            found.setdefault(feature, Counter())[name if feature == "read_order" else f"{memory}:{name}"] += point.count
    return {feature: dict(counts) for feature, counts in found.items()}


def functional(samples: Samples, exclusions: Sequence[Exclusion] = (),
               plan: Sequence[Feature] = PLAN) -> list[dict[str, Any]]:
    """The result of each feature of the plan, as :func:`~cdma.verif.coverage.exclusions.judge` gives it with ``bins``
    for their total; and ``unplanned``, bins that were sampled and are not in the plan."""
    results = []
    for feature in plan:
        counts = samples.get(feature.name, {})
        own = [replace(rule, name=rule.name.partition("/")[2]) for rule in exclusions
               if rule.kind == "bin" and rule.name.partition("/")[0] == feature.name]
        judged = judge(((name, counts.get(name, 0)) for name in feature.bins), own)
        results.append({"feature": feature.name, "room": feature.room, "about": feature.about,
                        "bins": judged.pop("total"), **judged, "unplanned": sorted(set(counts) - set(feature.bins))})
    return results


def design_results(design: str, points: Iterable[Point], exclusions: Sequence[Exclusion] = ()) -> list[dict[str, Any]]:
    """Line and toggle coverage of a design, instances of a module together, as :func:`functional` with ``points`` for
    ``bins``; memories and the top of the bench do not count."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for point in points:
        module = point.module
        if (module.startswith(design) and not module.startswith("cdma_memory")
                and not module.endswith(("_bench", "_sram"))):
            counts[point.kind, module.removeprefix(design).lstrip(".") or "top", point.name] += point.count
    # Bits of signals whose fields are signals, too, are the same ones.
    fields = {(module, _signal(name)) for kind, module, name in counts if kind == "toggle"}
    parents = {(module, name.rpartition(".")[0]) for module, name in fields if "." in name}
    results = []
    for kind in ("line", "toggle"):
        named = [(f"{module}:{name}", count) for (of, module, name), count in counts.items()
                 if of == kind and (kind == "line" or (module, _signal(name)) not in parents)]
        judged = judge(named, [each for each in exclusions if each.kind == kind])
        results.append({"design": design, "kind": kind, "points": judged.pop("total"), **judged} | {
            name: judged[name][:_MOST_HOLES] for name in ("holes", "contradicted")})
    return results


def _signal(point: str) -> str:
    return point.partition("[")[0].partition(":")[0]


def read_report(folders: Sequence[Path], exclusions: Sequence[Exclusion] | None = None) -> dict[str, Any]:
    """The coverage in folders, of this machine or of several, together: how many ``simulations`` wrote samples, the
    results of ``features`` and ``designs``, the ``exclusions``, and by kind the ``shares`` that are hit, None where
    nothing was measured, and which kinds ``missed`` their goals.

    Exclusions are those of this project when not given.

    Raises
    ------
    ValueError
        If a folder has no coverage.
    """
    rules = list(read_exclusions() if exclusions is None else exclusions)
    samples: list[Samples] = []
    texts: dict[str, list[str]] = {}
    count = 0
    for folder in folders:
        written = restored(folder)
        found = list(restored_points(folder))
        if not written and not found:
            raise ValueError(f"{folder} has no coverage: give a folder that make coverage wrote")
        count += len(written)
        samples += written
        for name, text in found:
            texts.setdefault(name, []).append(text)
    designs: list[dict[str, Any]] = []
    for name, of_design in texts.items():
        points = [point for text in of_design for point in read_points(text)]
        samples.append(of_points(points))
        designs += design_results(name.rsplit("-", 2)[0].removesuffix("_bench"), points, rules)
    features = functional(add_up(samples), rules)
    shares = {}
    for kind in ("bins", "line", "toggle"):
        parts = [(each["hit"], each["bins"]) for each in features] if kind == "bins" else [
            (each["hit"], each["points"]) for each in designs if each["kind"] == kind]
        total = sum(there for _, there in parts)
        shares[kind] = sum(hit for hit, _ in parts) / total if total else None
    return {"simulations": count, "features": features, "designs": designs, "exclusions": rules, "shares": shares,
            "missed": [kind for kind, share in shares.items() if share is not None and share < GOALS[kind]]}
