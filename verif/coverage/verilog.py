"""Line and toggle coverage of generated designs: what is hit, excluded and missing, by design and module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cdma.verif.coverage.exclusions import Exclusion, judge
from cdma.verif.coverage.points import Point, merged

__all__ = ["DesignResult", "design_results"]

_MOST_HOLES = 400
_BENCH = ("cdma_memory", "_sram")


@dataclass(frozen=True)
class DesignResult:
    """Coverage of one kind of a design.

    Parameters
    ----------
    design
        Name of its top.
    kind
        ``line`` or ``toggle``.
    points, hit
        How many there are that are not excluded, instances of a module together, and how many were hit.
    excluded
        How many are excluded and were not hit.
    holes
        The first of the others: module and point.
    contradicted
        The first of those that are excluded, and were hit.
    """

    design: str
    kind: str
    points: int
    hit: int
    excluded: int
    holes: tuple[str, ...]
    contradicted: tuple[str, ...]


def design_results(design: str, points: Iterable[Point],
                   exclusions: Sequence[Exclusion] = ()) -> tuple[DesignResult, ...]:
    """Line and toggle coverage of a design; memories and the top of the bench do not count."""
    counts = _by_field(merged(point for point in points if _of_design(point.module, design)))
    results = []
    for kind in ("line", "toggle"):
        rules = [each for each in exclusions if each.kind == kind]
        named = ((f"{module.removeprefix(design).lstrip('.') or 'top'}:{name}", count)
                 for (of, module, name), count in counts.items() if of == kind)
        judged = judge(named, rules)
        results.append(DesignResult(design, kind, judged.total, judged.hit, judged.excluded,
                                    judged.holes[:_MOST_HOLES], judged.contradicted[:_MOST_HOLES]))
    return tuple(results)


def _by_field(counts: dict[tuple[str, str, str], int]) -> dict[tuple[str, str, str], int]:
    """Without the bits of signals whose fields are signals, too: those bits are the same ones."""
    fields = {(module, name.partition("[")[0].partition(":")[0]) for kind, module, name in counts if kind == "toggle"}
    parents = {(module, name.rpartition(".")[0]) for module, name in fields if "." in name}
    return {key: count for key, count in counts.items()
            if key[0] != "toggle" or (key[1], key[2].partition("[")[0].partition(":")[0]) not in parents}


def _of_design(module: str, design: str) -> bool:
    return module.startswith(design) and not module.startswith(_BENCH[0]) and not module.endswith(("_bench", _BENCH[1]))
