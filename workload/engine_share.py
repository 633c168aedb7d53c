"""What share of its limit the engine reached where it was measured: the cycles of the regression, not the paper's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["DESIGN_SHARE", "measured_shares"]

DESIGN_SHARE = 0.99
"""The share of its limit that the engine is designed to reach in long transfers, at any density. Its regression demands
0.98 in transfers of 512 KiB; :func:`measured_shares` has what was measured."""


def measured_shares(path: str | Path, densities: Mapping[str, float],
                    lanes: int | None = None) -> Callable[[str, str], float]:
    """The measured share of every transfer, by its direction and its tensor's density.

    Parameters
    ----------
    path
        JSON as ``cdma bench`` writes it, with a list ``engine`` of objects that have direction, density and share.
    densities
        Of the tensors by name. The row nearest in density counts; of several, the lowest share, 1 at most (with
        memories that pause at random a run may be lucky).
    lanes
        Take the rows of engines with as many lanes, where there are any.

    Raises
    ------
    ValueError
        If the file cannot be read or has no such rows.
    """
    try:
        content: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from error
    try:
        own = [row for row in content["engine"] if lanes is not None and row.get("lanes") == lanes]
        rows = [(str(row["direction"]), float(row["density"]), float(row["share"]))
                for row in own or content["engine"]]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} must have a list 'engine' of objects with direction, density and share, as cdma "
                         f"bench writes it") from error
    for direction in ("offload", "prefetch"):
        if not any(row[0] == direction and row[2] > 0 for row in rows):
            raise ValueError(f"{path} has no measured {direction} in its list 'engine'")

    def share(direction: str, tensor: str) -> float:
        mine = [row for row in rows if row[0] == direction and row[2] > 0]
        nearest = min(mine, key=lambda row: (abs(row[1] - densities[tensor]), row[2]))
        return min(nearest[2], 1.0)

    return share
