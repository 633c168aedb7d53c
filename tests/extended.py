"""Which tests a usual run leaves out: those with the mark ``extended``.

They are the same checks on more configurations, never a test of a unit. ``make test-extended`` runs what is marked;
mutation and the measurement of lines of Python have it too, and the full regression has that of
``tests/verif``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["extended", "usually"]

extended = pytest.mark.extended
"""Marks a test that takes long beside what it could find that others do not."""


def usually(*kept: Any, of: Iterable[Any]) -> list[Any]:
    """All of some parameters of a test, of which a usual run has the named ones; tuples are several parameters.

    Raises
    ------
    ValueError
        If one that is named is none of them.
    """
    every = list(of)
    if unknown := [each for each in kept if each not in every]:
        raise ValueError(f"{unknown[0]!r} is none of the parameters {every!r}")
    return [each if each in kept else pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=extended)
            for each in every]
