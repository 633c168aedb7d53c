"""How the compiled inner loops are compiled; needs Numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["compiled", "inlined"]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at the first call for each type of arguments; cached on disk where a folder is writable."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return njit(nogil=True)(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile as a part of the compiled functions that call it."""
    return njit(forceinline=True)(function)
