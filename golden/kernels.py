"""Which inner loops to run: those in NumPy, or those that Numba compiles where it is installed (``[fast]``)."""

from __future__ import annotations

import importlib
import importlib.util
import os
from functools import cache
from types import ModuleType

from golden import numpy_kernels

__all__ = ["NUMBA_BYTES", "VARIABLE", "kernels"]

VARIABLE = "CDMA_KERNELS"
"""Environment variable that settles it: ``numpy`` or ``numba``."""

NUMBA_BYTES = 8 << 20
"""Fewer bytes are not worth loading Numba for."""


def kernels(size: int) -> ModuleType:
    """The module with the inner loops for this many bytes: ``pack``, ``walk``, ``walk_blocks``, ``expand``.

    Raises
    ------
    ValueError
        If :data:`VARIABLE` is set to anything but ``numpy`` or ``numba``.
    ModuleNotFoundError
        If it is set to ``numba`` and Numba is not installed.
    """
    wanted = os.environ.get(VARIABLE, "")
    if wanted not in ("", "numpy", "numba"):
        raise ValueError(f"{VARIABLE} must be numpy or numba, not {wanted!r}")
    if wanted == "numba" or (not wanted and size >= NUMBA_BYTES and _numba_installed()):
        return _compiled()
    return numpy_kernels


@cache
def _numba_installed() -> bool:
    return importlib.util.find_spec("numba") is not None


@cache
def _compiled() -> ModuleType:
    return importlib.import_module("golden.numba_kernels")
