"""Settings of a capture: steps, modules, limits, and the names of arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

__all__ = ["FORMS", "CaptureError", "Names", "Settings", "prefix", "sample"]

FORMS = ("npz", "safetensors")
"""Kinds of files that arrays can be written to."""


class CaptureError(ValueError):
    """A capture is not possible with these settings; the message says what to change."""


@dataclass(frozen=True)
class Settings:
    """Choices of a capture.

    Attributes
    ----------
    every
        One step in this many is captured, from step 0 on.
    steps
        The steps to capture; overrides ``every``.
    modules
        Patterns, as for file names, of the names or classes of modules; an array is captured if its module matches
        one.
    outputs
        Whether outputs of modules that are not kept for backward are captured too.
    least
        Arrays of fewer bytes in the whole batch are left out.
    max_array
        Most bytes of an array; as many of the first samples of the batch are kept as fit. If not even one sample fits,
        the array is left out.
    max_total
        Most bytes of all arrays; a step that would exceed it is not written, and capture stops.
    form
        One of :data:`FORMS`; None uses .npz, and .safetensors for steps with values that NumPy has no type for.
    times
        Whether times of the layers are measured in the first steps in a row that are not captured.
    """

    every: int = 1
    steps: tuple[int, ...] | None = None
    modules: tuple[str, ...] = ("*",)
    outputs: bool = False
    least: int = 4096
    max_array: int = 4 << 20
    max_total: int = 1 << 30
    form: str | None = None
    times: bool = False

    def __post_init__(self) -> None:
        _check("every", self.every, 1)
        for name in ("least", "max_array", "max_total"):
            _check(name, getattr(self, name), 0)
        if self.steps is not None and (not self.steps or any(not _whole(step, 0) for step in self.steps)):
            raise ValueError(f"steps must be whole numbers of 0 or more, not {list(self.steps)}")
        if not self.modules:
            raise ValueError("modules must be one pattern or more, for instance 'conv*', not none")
        if self.form is not None and self.form not in FORMS:
            raise ValueError(f"form must be {' or '.join(FORMS)}, not {self.form!r}")

    def due(self, step: int) -> bool:
        """Whether a step is captured."""
        return step in self.steps if self.steps is not None else step % self.every == 0

    def free(self, warm_up: int, steps: int) -> int | None:
        """The first step to warm up for ``steps`` measured ones that are not captured; None if there are none soon."""
        return next((first for first in range(10_000)
                     if not any(self.due(first + warm_up + step) for step in range(steps))), None)

    def wanted(self, *names: str) -> bool:
        """Whether a module of that name or class is captured."""
        return any(fnmatchcase(name, pattern) for name in names for pattern in self.modules)

    def check_modules(self, modules: Iterable[tuple[str, str]]) -> None:
        """Check that the patterns match a module.

        Parameters
        ----------
        modules
            Name and class of every module.

        Raises
        ------
        CaptureError
            If none matches.
        """
        there = list(modules)
        if not any(self.wanted(*names) for names in there):
            some = ", ".join([name for name, _ in there if name][:8])
            raise CaptureError(f"no module fits {' or '.join(self.modules)}: there are {some or 'none'}"
                               f"{' and others' if len(there) > 9 else ''}")


class Names:
    """Names of the arrays of a step: the module's name, with ``#2``, ``#3`` and so on for its further arrays."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}

    def next(self, module: str) -> str:
        """The name of the next array of a module."""
        number = self._count[module] = self._count.get(module, 0) + 1
        return module if number == 1 else f"{module}#{number}"


def prefix(step: int) -> str:
    """Prefix of the names of a step's file and arrays; :mod:`cdma.workload.characterise.arrays` reads it."""
    return f"step{step:06d}"


def sample(shape: Sequence[int], element_bytes: int, limit: int) -> int | None:
    """Number of samples, entries of the first dimension, that fit a limit in bytes; None if not one fits.

    Only whole samples are kept, so that statistics of channels and maps stay valid.
    """
    if not shape:
        return 1 if element_bytes <= limit else None
    one = math.prod(shape[1:]) * element_bytes
    return min(shape[0], limit // one) or None if one else shape[0]


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _check(name: str, value: object, least: int) -> None:
    if not _whole(value, least):
        raise ValueError(f"{name} must be a whole number of {least} or more, not {value!r}")
