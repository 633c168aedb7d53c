"""Proofs of resets of units that contain others: the fetcher, with its reader."""

from __future__ import annotations

import re

from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.control.fetcher import Fetcher
from cdma.verif.formal.proofs.resets import READER, Unit

__all__ = ["PROOFS"]

_SMALLEST = load_engine("smallest")


def _within(folder: str, conditions: dict[str, str]) -> dict[str, str]:
    """Conditions of a part, as those of what it is in."""
    return {f"{folder}.{name}": re.sub(r"[\w.]*[a-z_]\w*", lambda found: f"{folder}.{found[0]}", condition)
            for name, condition in conditions.items()}


def _states(*numbers: int) -> str:
    return " | ".join(f"fsm_state={number}" for number in numbers)


_UNITS = (
    Unit("fetcher", "engine/control/fetcher.py", lambda: Fetcher(_SMALLEST),
         {"fill.word": "fill.valid", "fill.data": "fill.valid"}, {
             "base": "fsm_state", "head": "fsm_state", "low": _states(2, 3, 4, 5, 6), "high": _states(3, 4, 5, 6),
             "resp": _states(4, 5, 6), **_within("reader", READER),
             "reader.open.fifo.r_data": "reader.open.fifo.level"}),
)

PROOFS = tuple(unit.proof() for unit in _UNITS)
"""Proofs of resets."""
