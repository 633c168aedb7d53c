"""Activations: capture, load, characterise, narrow; the swapping timeline; and the dumps that ship with the project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workload.capturing import capture

__all__ = ["capture"]


def __getattr__(name: str) -> Any:
    # Fetched when asked for: every import of a module of this package runs this file.
    if name == "capture":
        from workload.capturing import capture

        return capture
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
