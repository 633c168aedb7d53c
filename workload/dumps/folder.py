"""Dumps of many files: a folder with a manifest.

``manifest.json`` is ``{"format": "cdma-dump", "version": 1, "files": [{"file": "step000010.npz"}, ...]}``; other
entries describe how the dump was made. The files are .npz or .safetensors in the same folder, and name their arrays.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cdma.workload.dumps.reading import reading

__all__ = ["FORMAT", "MANIFEST", "PARTS", "VERSION", "parts"]

MANIFEST = "manifest.json"
FORMAT = "cdma-dump"
VERSION = 1
PARTS = (".npz", ".safetensors")
"""Suffixes that the files of a dump may have."""


def parts(folder: Path) -> list[Path]:
    """The files of a dump, in the manifest's order.

    Raises
    ------
    ValueError
        If there is no manifest, it is malformed or of another version, or names files that are elsewhere.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise ValueError(f"{folder} is a folder without {MANIFEST}: give a file, or a folder that cdma capture wrote")
    with reading(path, "manifest", (RecursionError,)):
        manifest: Any = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise ValueError(f'it does not say "format": "{FORMAT}"')
        if manifest.get("version") != VERSION:
            raise ValueError(f"it is of version {manifest.get('version')!r}, and {VERSION} is known")
        entries = manifest.get("files")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise ValueError('"files" must be a list of objects')
        names: list[Any] = [entry.get("file") for entry in entries]
        for name in names:
            if not isinstance(name, str) or Path(name).name != name or Path(name).suffix not in PARTS:
                raise ValueError(f"{name!r} is not a {' or '.join(PARTS)} file in the manifest's folder")
        return [folder / name for name in names]
