"""Finds the programs that are run."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys

__all__ = ["candidates"]


def candidates(variable: str, package: str, function: str, *programs: str) -> list[tuple[str, ...]]:
    """The commands that may start a tool, best first: the one that an environment variable names; else a function of a
    package, then programs on PATH."""
    if named := os.environ.get(variable):
        return [(named,)]
    found: list[tuple[str, ...]] = [(path,) for name in programs if (path := shutil.which(name))]
    if importlib.util.find_spec(package) is not None:
        found.insert(0, (sys.executable, "-c", f"import sys, {package} as p; sys.exit(p.{function}(sys.argv[1:]))"))
    return found
