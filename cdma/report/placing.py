"""How place and route of several seeds is printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["spread"]


def spread(row: Mapping[str, Any]) -> str:
    """From the slowest to the fastest clock of the ``runs`` of a design, in MHz; empty for fewer than two."""
    clocks = [run["mhz"] for run in row.get("runs", ())]
    return f"{min(clocks):.1f} to {max(clocks):.1f}" if len(clocks) > 1 else ""
