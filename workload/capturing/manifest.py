"""The folder that a capture writes: a file of arrays for each step, and a manifest that describes them.

Files and manifest are written under a temporary name and then renamed, so that the folder can be read at any time:
while the training runs, and after it was killed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from cdma.golden.results import to_json
from cdma.workload.capturing.settings import CaptureError
from cdma.workload.dumps.folder import FORMAT, MANIFEST, VERSION
from cdma.workload.networks.captured import NETWORK, Table

__all__ = ["Manifest", "check_folder", "read_manifest"]


def check_folder(folder: str | Path) -> Path:
    """The path of a folder for a new dump.

    Raises
    ------
    CaptureError
        If it has a dump already, or cannot be made.
    """
    path = Path(folder)
    if (path / MANIFEST).exists():
        raise CaptureError(f"{path} has a dump already: choose another folder, or delete it first")
    there = next(above for above in (path, *path.absolute().parents) if os.path.lexists(above))
    if not there.is_dir():
        raise CaptureError(f"cannot make the folder {path}: {_near(there, path)} is not a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise CaptureError(f"cannot make the folder {path}: {_near(there, path)} may not be written")
    return path


def _near(there: Path, path: Path) -> Path:
    """A folder above a path, as the path names it."""
    return next((above for above in (path, *path.parents) if above.absolute() == there.absolute()), there)


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """The manifest of a dump that this program has written."""
    return json.loads((Path(folder) / MANIFEST).read_text(encoding="utf-8"))


class Manifest:
    """The manifest of a new dump; writing begins with the first step.

    Parameters
    ----------
    folder
        Created if it does not exist.
    model
        Class of the model.

    Members
    -------
    folder
        The folder.
    content
        The manifest: ``format`` and ``version`` of the folder, ``model``, ``files`` (the steps written so far: file,
        numbers of step and epoch, bytes of the arrays, bytes of all activations kept for backward), ``arrays`` by name,
        and ``notes`` on what was left out, in words.

    Raises
    ------
    CaptureError
        If the folder has a dump already, or cannot be made.
    """

    def __init__(self, folder: str | Path, model: str) -> None:
        self.folder = check_folder(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CaptureError(f"cannot make the folder {self.folder}: {error.strerror or error}") from error
        self.content: dict[str, Any] = {"format": FORMAT, "version": VERSION, "model": model, "files": [], "arrays": {},
                                        "notes": []}

    def add(self, name: str, write: Callable[[BinaryIO], object], step: int, epoch: int | None,
            entries: Mapping[str, Mapping[str, Any]], saved_bytes: int, written_bytes: int) -> None:
        """Write the file of a step, and the manifest with it.

        Parameters
        ----------
        name
            Of the file.
        write
            Writes its content.
        step, epoch
            Numbers of both; the epoch is None if the training did not set it.
        entries
            The arrays by name: ``module`` that made it (for tensors that functions make between modules, the one that
            finished last), ``kind`` (``saved`` for backward, or only ``output`` of a module), ``saved_by`` (the module
            in which it was saved first), ``shape`` in the file and ``full_shape`` of the whole batch, ``dtype`` as
            PyTorch names it, ``layout`` (order in device memory, NCHW or NHWC, None for other than four dimensions; in
            the file it is always NCHW), and ``density``, the share of values of the whole batch in which a bit is set.
        saved_bytes
            Bytes of all activations kept for backward in this step, captured or not.
        written_bytes
            Bytes of the arrays.

        Raises
        ------
        OSError
            If it cannot be written; the folder is then unchanged.
        """
        self._replace(name, write)
        self.content["files"].append({"file": name, "step": step, "epoch": epoch, "bytes": written_bytes,
                                      "saved_bytes": saved_bytes})
        self.content["arrays"] |= {key: {"file": name, **entry} for key, entry in entries.items()}
        self.save()

    def write_network(self, found: Table) -> None:
        """Write the table of the network beside the arrays.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        self._write(NETWORK, to_json(found))

    def note(self, text: str) -> None:
        """Add a note on what was left out; each note is kept once."""
        if text not in self.content["notes"]:
            self.content["notes"].append(text)

    def save(self) -> None:
        """Write the manifest.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        self._write(MANIFEST, self.content)

    def _write(self, name: str, content: Any) -> None:
        text = json.dumps(content, indent=1).encode()
        self._replace(name, lambda file: file.write(text))

    def _replace(self, name: str, write: Callable[[BinaryIO], object]) -> None:
        part = self.folder / f".{name}.part"
        try:
            with part.open("wb") as file:
                write(file)
            os.replace(part, self.folder / name)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise
