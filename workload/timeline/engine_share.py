"""The share of its bandwidth limit that the engine reaches, from cycles of the simulated engine.

A transfer takes ``start + raw bytes / (share x limit)``. The limit is the bandwidth of the slower side, lanes or link,
in raw bytes. The share is the part of the time that this side is busy while the transfer streams. The start is the
remaining time: before the first block is ready, and after the last one has left. Share and start depend on the balance
of the engine, which is the bandwidth of the lanes divided by ratio x link bandwidth. If it is above 1, the link limits.

Transfers of 1 MiB are measured at densities from 0 to 1, with memories that answer at once, and with memories that
answer after 350 cycles and pause at random. The lower share and the longer start of the two are used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cdma.workload.json_file import read_json

__all__ = ["DIRECTIONS", "Measured", "Reach", "Reached", "constant", "from_file", "measured", "presets", "summary"]

_TABLE = Path(__file__).parent / "engine_share.json"
DIRECTIONS = ("offload", "prefetch")
"""The two directions of a transfer."""


@dataclass(frozen=True)
class Reached:
    """Share of the limit while a transfer streams, and cycles of its start."""

    share: float
    start_cycles: float


Reach = Callable[[str, float], Reached]
"""Share and start of the engine in a direction (``offload`` or ``prefetch``) at a balance."""


@dataclass(frozen=True, eq=False)
class Measured:
    """The measured figures of an engine.

    Parameters
    ----------
    lanes, beat_bytes, link_beat_bytes
        Its lanes, and the bytes of a beat on a lane and on the link.
    points
        Balance, share and start in cycles, by direction, in the order of the balance.
    """

    lanes: int
    beat_bytes: int
    link_beat_bytes: int
    points: Mapping[str, Sequence[Sequence[float]]]

    def __call__(self, direction: str, balance: float) -> Reached:
        """Share and start at a balance: interpolated linearly between points, constant outside them."""
        balances, shares, starts = zip(*self.points[direction], strict=True)
        return Reached(float(np.interp(balance, balances, shares)), float(np.interp(balance, balances, starts)))

    def as_json(self) -> dict[str, Any]:
        """Dimensions and points, as the shipped table has them."""
        return {"lanes": self.lanes, "beat_bytes": self.beat_bytes, "link_beat_bytes": self.link_beat_bytes,
                **self.points}


def constant(share: float) -> Reach:
    """The same share of the limit for every transfer, and no start.

    Raises
    ------
    ValueError
        If the share is not above 0 or is more than 1.
    """
    if not 0 < share <= 1:
        raise ValueError(f"the share of its limit that the engine reaches must be above 0 and at most 1, not {share:g}")
    return lambda direction, balance: Reached(share, 0.0)


@cache
def _table() -> dict[str, Measured]:
    return {name: Measured(row["lanes"], row["beat_bytes"], row["link_beat_bytes"],
                           {direction: row[direction] for direction in DIRECTIONS})
            for name, row in read_json(_TABLE)["presets"].items()}


def presets() -> tuple[str, ...]:
    """Names of the presets that were measured."""
    return tuple(_table())


def measured(preset: str) -> Measured:
    """The figures of a preset of the engine, from a table that ships with the project.

    Raises
    ------
    ValueError
        If it was not measured.
    """
    if preset not in _table():
        raise ValueError(f"there are no measured cycles of an engine {preset!r}: give {', '.join(presets())}, or "
                         f"figures of your own with --share FILE.json")
    return _table()[preset]


def from_file(path: str | Path, lanes: int | None = None) -> Measured:
    """The figures of an engine in a file that ``cdma bench`` wrote.

    Parameters
    ----------
    path
        JSON with a list ``engine``, a row for every measured transfer.
    lanes
        Selects the first engine in the file with this number of lanes; without a match, the first engine.

    Raises
    ------
    ValueError
        If the file cannot be read or has no such rows.
    """
    content = read_json(path)
    try:
        engines = list(summary(content["engine"]).values())
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise ValueError(f"{path} must have a list 'engine' of measured transfers, as cdma bench writes it") from error
    whole = [engine for engine in engines if all(engine.points.values())]
    if not whole:
        raise ValueError(f"{path} has no engine with both a measured offload and a measured prefetch in its list "
                         "'engine'")
    return next((engine for engine in whole if engine.lanes == lanes), whole[0])


def summary(rows: Iterable[Mapping[str, Any]]) -> dict[str, Measured]:
    """Measured transfers by engine, as its dimensions and points, in the form of the shipped table.

    Parameters
    ----------
    rows
        As ``cdma bench`` measures them: name, lanes, beat_bytes, link_beat_bytes, direction, raw_bytes, packed_bytes,
        cycles, limit in raw bytes per cycle, and the share of its limit.
    """
    sizes: dict[str, tuple[int, int, int]] = {}
    found: dict[tuple[str, str, float], list[Reached]] = defaultdict(list)
    for row in rows:
        name, direction = str(row["name"]), str(row["direction"])
        sizes.setdefault(name, (int(row["lanes"]), int(row["beat_bytes"]), int(row["link_beat_bytes"])))
        balance = (row["lanes"] * row["beat_bytes"] * row["packed_bytes"]
                   / (row["link_beat_bytes"] * row["raw_bytes"]))
        start = row["cycles"] - row["raw_bytes"] / (row["limit"] * row["share"])
        # A run with random pauses may pause less than the mean, so that its share exceeds 1.
        found[name, direction, balance].append(Reached(min(row["share"], 1.0), max(start, 0.0)))
    points: dict[str, dict[str, list[list[float]]]] = {name: {way: [] for way in DIRECTIONS} for name in sizes}
    for (name, direction, balance), several in sorted(found.items()):
        points[name][direction].append([round(balance, 6), round(min(one.share for one in several), 6),
                                        round(max(one.start_cycles for one in several), 1)])
    return {name: Measured(*size, points[name]) for name, size in sizes.items()}
