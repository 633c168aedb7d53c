"""Activations: dumps, capture, statistics and ratios, networks, timelines of training steps, plans, results."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if __name__ != "cdma.workload":
    raise ImportError("workload is a part of the package cdma: write 'from cdma.workload import capture'")

if TYPE_CHECKING:
    from cdma.workload.capturing import capture
    from cdma.workload.capturing.profiling import profile
    from cdma.workload.training import offload

__all__ = ["capture", "offload", "profile"]

# The package is called capturing because a module named capture would hide the function.
_HOMES = {"capture": "cdma.workload.capturing", "offload": "cdma.workload.training",
          "profile": "cdma.workload.capturing.profiling"}


def __getattr__(name: str) -> Any:
    # Imported on first use, because every import of a module of this package runs this file.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
