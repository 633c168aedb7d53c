"""Finds programs, and runs them in temporary folders."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["candidates", "run"]


def candidates(variable: str, package: str, function: str, *programs: str) -> list[tuple[str, ...]]:
    """The commands that may start a tool, best first: the one that an environment variable names; else a function of a
    package, then programs on PATH."""
    if named := os.environ.get(variable):
        return [(named,)]
    found: list[tuple[str, ...]] = [(path,) for name in programs if (path := shutil.which(name))]
    if importlib.util.find_spec(package) is not None:
        found.insert(0, (sys.executable, "-c", f"import sys, {package} as p; sys.exit(p.{function}(sys.argv[1:]))"))
    return found


def run(command: Sequence[str], files: Mapping[str, str | bytes], wanted: Sequence[str] = (),
        ) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    """Run a program in a temporary folder, with files by name; what it said, and the wanted files that it left.

    Paths in the files are relative to that folder: WebAssembly builds see a ``/tmp`` of their own.
    """
    with tempfile.TemporaryDirectory(prefix="cdma_synth_") as name:
        folder = Path(name)
        for file, content in files.items():
            folder.joinpath(file).write_bytes(content.encode() if isinstance(content, str) else content)
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        return done, {file: (folder / file).read_text(encoding="utf-8", errors="replace") for file in wanted
                      if (folder / file).is_file()}
