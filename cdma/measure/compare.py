"""What changed between two files of figures that ``cdma bench`` wrote."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cdma.workload.json_file import read_json

__all__ = ["Change", "change_text", "compare", "number_text", "read_figures", "worse"]

_ALWAYS = ("target", "library", "tool")
"""What a row was measured with: figures of another target or library are others."""

_NAMES = ("preset", "name", "design", "engine", "core", "codec", "coding", "values", "activation", "unit", "option",
          "module", "kind", "dump", "direction", "way", "transfers_in_flight", "element_bits", "lanes", "beat_bytes",
          "pipeline", "link_beat_bytes", "latency", "stalls", "density", "raw_bytes", "tensor_bytes", "device",
          "speed", "seed")
"""Fields that identify a row of a list, in the order in which they are tried; none is a figure."""

_CYCLES, _PER_CYCLE = "cycles", "per_cycle"
"""Ends of the names of figures in cycles: fewer are better, and more per cycle are better."""


Change = Mapping[str, Any]
"""A figure that both files have: its ``section``; its name, with the rows that it is in before it (``figure``); its
values (``old``, ``new``); and by how many ``percent`` it changed, None when it was 0 and is not."""


def worse(change: Change, percent: float) -> bool:
    """Whether a figure counts cycles, and got worse by more than that."""
    name = change["figure"].rpartition(" / ")[2]
    if not name.endswith((_CYCLES, _PER_CYCLE)):
        return False
    grown = float("inf") if change["percent"] is None else change["percent"]
    return (-grown if name.endswith(_PER_CYCLE) else grown) > percent


def change_text(change: Change) -> str:
    """A change in a line."""
    return (f"{change['section']} / {change['figure']}: {number_text(change['old'])} -> "
            f"{number_text(change['new'])}")


def number_text(number: float) -> str:
    """A figure as it is printed: whole numbers with thousands set apart, others with four digits after the point."""
    return f"{number:,}" if isinstance(number, int) else f"{number:,.4f}"


def read_figures(path: str | Path) -> dict[str, Any]:
    """The figures of a file by section, as JSON has them.

    Raises
    ------
    ValueError
        If it cannot be read, is not JSON, or holds no object with figures.
    """
    figures = read_json(path)
    if not isinstance(figures, dict) or not figures:
        raise ValueError(f"{path} holds no sections of figures: give a file that cdma bench --output wrote")
    return figures


def compare(old: Mapping[str, object], new: Mapping[str, object],
            sections: Collection[str] | None = None) -> dict[str, Any]:
    """Every figure of two files, or of these sections alone, as JSON: the ``figures`` that both have, the largest
    change first; and those that only one has (``appeared``, ``vanished``), a section alone where all of it is."""
    changes: list[Change] = []
    appeared: list[str] = []
    vanished: list[str] = []
    for section in dict.fromkeys([*old, *new]):
        if sections is not None and section not in sections:
            continue
        if section not in old or section not in new:
            (vanished if section in old else appeared).append(section)
            continue
        for path, before, after in _walk(old[section], new[section], ()):
            if before is not None and after is not None:
                percent = 0.0 if after == before else 100 * (after - before) / abs(before) if before else None
                changes.append({"section": section, "figure": " / ".join(path), "old": before, "new": after,
                                "percent": percent})
            else:
                (appeared if before is None else vanished).append(" / ".join([section, *path]))
    changes.sort(key=lambda change: -float("inf") if change["percent"] is None else -abs(change["percent"]))
    return {"figures": changes, "appeared": appeared, "vanished": vanished}


def _walk(old: object, new: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Every number of two trees, with its path; and what only one of them has, with None for the other."""
    if _number(old) is not None and _number(new) is not None:
        yield path, old, new
    names = _names([rows for rows in (old, new) if isinstance(rows, list)])
    olds, news = _below(old, names), _below(new, names)
    for name in dict.fromkeys([*olds, *news]):
        below, before, after = (*path, name), olds.get(name), news.get(name)
        if before is None or after is None:
            yield below, before, after
        else:
            yield from _walk(before, after, below)


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _below(tree: object, names: Sequence[str]) -> dict[str, object]:
    """What a tree holds that may have figures, by name."""
    if isinstance(tree, dict):
        return {key: value for key, value in tree.items()
                if isinstance(value, dict | list) or _number(value) is not None}
    found: dict[str, object] = {}
    for row in tree if isinstance(tree, list) else []:
        # Reports of areas have the row of the whole beside their rows; rows without a name are steps of something.
        label = _label(row, names) if isinstance(row, dict) and row.get("module") != "total" else ""
        if label:
            same = sum(name.partition(" #")[0] == label for name in found)
            found[f"{label} #{same + 1}" if same else label] = {
                key: value for key, value in row.items() if key not in _NAMES}
    return found


def _names(lists: Sequence[list[Any]]) -> list[str]:
    """The fewest leading names that identify every row of each list."""
    found = [[row for row in rows if isinstance(row, dict)] for rows in lists]

    def apart(names: Sequence[str]) -> int:
        return sum(len({_label(row, names) for row in rows}) for rows in found)

    names: list[str] = [*_ALWAYS]
    for name in _NAMES:
        if apart([*names, name]) > apart(names) or (len(names) == len(_ALWAYS) and any(
                name in row for rows in found for row in rows)):
            names.append(name)
    return names


def _label(row: Mapping[str, object], names: Sequence[str]) -> str:
    said = ((name.replace("_", " "), row.get(name)) for name in names)
    return ", ".join(value if isinstance(value, str) else f"{name} {value:g}"
                     for name, value in said if isinstance(value, str | int | float))
