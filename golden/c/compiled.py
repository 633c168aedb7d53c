"""Shared libraries that are compiled from C where there is a compiler, once a machine, and kept.

They are in ``$XDG_CACHE_HOME/cdma`` (``~/.cache/cdma``); where that cannot be written, each process compiles again.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["COMPILERS", "compiled", "compiler"]

COMPILERS = ("cc", "gcc", "clang")
"""Names of compilers, the first that is there is taken."""


def compiler() -> str | None:
    """The C compiler; None if there is none."""
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


def compiled(name: str, sources: Mapping[str, str], *options: str) -> ctypes.CDLL | None:
    """The library of these sources, text by name; None if there is no compiler, or it makes none that loads."""
    program = compiler()
    if program is None:
        return None
    options = (*options, "-shared", "-fPIC")
    key = hashlib.sha256(repr((sorted(sources.items()), program, options, platform.machine())).encode()).hexdigest()
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cdma" / f"{name}-{key[:16]}.so"
    try:
        if kept.exists():
            return _loaded(kept)
        kept.parent.mkdir(parents=True, exist_ok=True)
        beside: Path | None = kept.parent
        with tempfile.TemporaryFile(dir=beside):
            pass
    except OSError:
        beside = None
    # Beside its place, so that it can be renamed: another process may compile at the same time.
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=beside) as folder:
        for file, text in sources.items():
            (Path(folder) / file).write_text(text, encoding="utf-8")
        made = Path(folder) / "made.so"
        files = [file for file in sources if file.endswith(".c")]
        if subprocess.run([program, *options, "-o", made.name, *files], cwd=folder, capture_output=True,
                          check=False).returncode:
            return None
        if beside is None:
            return _loaded(made)    # loaded code stays after its file is gone
        made.replace(kept)
    return _loaded(kept)


def _loaded(file: Path) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(str(file))
    except OSError:
        return None
