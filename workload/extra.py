"""Packages of optional extras: fetched when they are needed, so that all else works without them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cdma.hdl.config.extras import install

__all__ = ["package"]

# What a package is called where it is not named as it is imported.
_NAMES = {"torch": "PyTorch", "sklearn": "scikit-learn", "distributed": "Dask's distributed",
          "jinja2": "Jinja2"}


def package(module: str, extra: str) -> Any:
    """A module of an optional package.

    Parameters
    ----------
    module
        As it is imported, for instance ``torch``.
    extra
        The extra of this project that installs it.

    Raises
    ------
    ValueError
        If it is not installed.
    """
    top = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != top:
            raise
        raise ValueError(f"{_NAMES.get(top, top)} is not installed, and this needs it: {install(extra)}") from error
