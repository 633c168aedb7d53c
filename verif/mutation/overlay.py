"""Puts the text of a mutant in the place of a module, for this process alone: no file is changed."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder, SourceLoader
from pathlib import Path
from types import CodeType, ModuleType

__all__ = ["Overlay"]


class Overlay(MetaPathFinder, SourceLoader):
    """Finds one module, and gives it another text than that of its file.

    Parameters
    ----------
    module
        Dotted name.
    path
        Its file: what the module says it is from, and what a traceback shows.
    text
        What it holds instead.
    """

    def __init__(self, module: str, path: Path, text: bytes) -> None:
        self._module = module
        self._path = str(path)
        self._text = text

    def install(self) -> None:
        """Go before all other finders.

        Raises
        ------
        RuntimeError
            If the module is imported already: what has its functions would keep the old ones.
        """
        if self._module in sys.modules:
            raise RuntimeError(f"{self._module} is imported already, so it can no longer be replaced")
        sys.meta_path.insert(0, self)

    def find_spec(self, fullname: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        """The module that is replaced; None for all others."""
        if fullname != self._module:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def get_filename(self, fullname: str) -> str:
        """Its file."""
        return self._path

    def get_data(self, path: str | bytes) -> bytes:
        """The other text."""
        return self._text

    def get_code(self, fullname: str) -> CodeType:
        """The other text, compiled; no file of byte code is read or written."""
        return compile(self._text, self._path, "exec", dont_inherit=True)
