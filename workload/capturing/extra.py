"""The packages of the extra ``[torch]``: fetched when they are needed, so that all else works without them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["package"]

# What a package is called where it is not named as it is imported.
_NAMES = {"torch": "PyTorch", "sklearn": "scikit-learn"}


def package(module: str) -> Any:
    """A module of the extra.

    Parameters
    ----------
    module
        As it is imported, for instance ``torch`` or ``safetensors.torch``.

    Raises
    ------
    ValueError
        If it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != top:
            raise
        raise ValueError(f"{_NAMES.get(top, top)} is not installed, and this needs it: "
                         "pip install 'cdma-rtl[torch]'") from error
