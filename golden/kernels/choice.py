"""Which inner loops to run: those in NumPy, or those that Numba compiles where it is installed (``[fast]``)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import ModuleType

from golden.kernels import numpy_kernels

__all__ = ["KERNELS", "NUMBA_BYTES", "kernels", "numba_installed", "use"]

KERNELS = ("numpy", "numba")
"""What :func:`use` knows."""

NUMBA_BYTES = 8 << 20
"""Fewer bytes are not worth loading Numba for."""

_wanted: ContextVar[str | None] = ContextVar("wanted kernels", default=None)


def kernels(size: int) -> ModuleType:
    """The module with the inner loops for this many bytes: ``pack``, ``walk``, ``expand``, ``expand_blocks``.

    Numba's for :data:`NUMBA_BYTES` and more where it is installed, NumPy's otherwise, unless :func:`use` says which.
    """
    wanted = _wanted.get()
    compiled = _compiled() if wanted == "numba" or (wanted is None and size >= NUMBA_BYTES) else None
    return compiled or numpy_kernels


@contextmanager
def use(name: str) -> Iterator[None]:
    """Within a ``with``, run the inner loops of this name for any size.

    Raises
    ------
    ValueError
        If it is none of :data:`KERNELS`.
    ModuleNotFoundError
        If it is ``numba`` and Numba is not installed.
    """
    if name not in KERNELS:
        raise ValueError(f"kernels must be {' or '.join(KERNELS)}, not {name!r}")
    if name == "numba" and not numba_installed():
        raise ModuleNotFoundError("kernels of Numba need Numba: install cdma-rtl[fast]", name="numba")
    token = _wanted.set(name)
    try:
        yield
    finally:
        _wanted.reset(token)


def numba_installed() -> bool:
    """Whether Numba is there, and takes this Python and this NumPy."""
    return _compiled() is not None


@cache
def _compiled() -> ModuleType | None:
    try:
        return importlib.import_module("golden.kernels.numba_kernels")
    except ImportError:
        return None
