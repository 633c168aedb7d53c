"""Which inner loops to run: those in NumPy, or those that Numba compiles where it is installed (``[fast]``)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import ModuleType

from golden.kernels import exponents_numpy, numpy_kernels

__all__ = ["KERNELS", "NUMBA_BYTES", "exponent_kernels", "kernels", "numba_installed", "use"]

KERNELS = ("numpy", "numba")
"""Names that :func:`use` accepts."""

NUMBA_BYTES = 8 << 20
"""Below this size, loading Numba costs more than it saves."""

_wanted: ContextVar[str | None] = ContextVar("wanted kernels", default=None)


def kernels(size: int) -> ModuleType:
    """The module with the inner loops of zero-value coding for this many bytes: ``pack``, ``walk``, ``expand``,
    ``expand_blocks``, ``expand_tags_first``.

    Numba's for :data:`NUMBA_BYTES` and more where it is installed, NumPy's otherwise, unless :func:`use` has set one.
    """
    return (_compiled("numba_kernels") if _compiles(size) else None) or numpy_kernels


def exponent_kernels(size: int) -> ModuleType:
    """The module with the inner loops of exponent coding for this many bytes, chosen as :func:`kernels` does:
    ``pack_exponents``, ``expand_exponents``."""
    return (_compiled("exponents_numba") if _compiles(size) else None) or exponents_numpy


def _compiles(size: int) -> bool:
    wanted = _wanted.get()
    return wanted == "numba" or (wanted is None and size >= NUMBA_BYTES)


@contextmanager
def use(name: str) -> Iterator[None]:
    """Within a ``with``, run the inner loops of this name for any size.

    Raises
    ------
    ValueError
        If the name is not in :data:`KERNELS`.
    ModuleNotFoundError
        If the name is ``numba`` and Numba is not installed.
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
    """Whether Numba is installed and supports this version of Python and NumPy."""
    return _compiled("numba_kernels") is not None


@cache
def _compiled(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(f"golden.kernels.{name}")
    except ImportError:
        return None
