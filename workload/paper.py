"""The headline figures of Rhu et al. beside ours. Nothing here changes ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["PUBLISHED", "beside"]

PUBLISHED = {
    "average ratio": "2.6", "highest ratio of a layer": "13.8",
    "titan-x": ("32 % (arXiv version)", "61 % (arXiv version)"), "titan-xp": ("53 % (HPCA)", "79 % (HPCA)")}
"""As published: ratios of zero-value coding over all networks and layers, speed-ups over vDNN by GPU."""


def beside(networks: Sequence[dict[str, Any]], gpu: str) -> list[dict[str, str]]:
    """Our figures and the paper's.

    Parameters
    ----------
    networks
        Outcomes of ``cdma timeline`` for each network.
    gpu
        The GPU they are for; the paper has speed-ups of two.
    """
    rows = [next(row for row in entry["rows"] if row["row"] == "zvc") for entry in networks]
    gains = [100 * (row["speedup"] - 1) for row in rows]
    average, highest = PUBLISHED.get(gpu, ("none published", "none published"))
    return [
        {"figure": "average ratio", "here": f"{sum(row['ratio'] for row in rows) / len(rows):.2f}",
         "paper": PUBLISHED["average ratio"]},
        {"figure": "highest ratio of a layer", "here": f"{max(row['highest_ratio'] for row in rows):.2f}",
         "paper": PUBLISHED["highest ratio of a layer"]},
        {"figure": "average speed-up over vDNN", "here": f"{sum(gains) / len(gains):.0f} %", "paper": average},
        {"figure": "highest speed-up over vDNN", "here": f"{max(gains):.0f} %", "paper": highest}]
