"""The folder that a capture writes: a file of arrays for each step, and a manifest that describes them.

Files and manifest are written under a temporary name and then renamed, so that the folder can be read at any time:
while the training runs, and after it was killed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from cdma.golden.results import INLINED, from_json, to_json
from cdma.workload.capturing.settings import CaptureError
from cdma.workload.dumps.folder import FORMAT, MANIFEST, VERSION
from cdma.workload.networks.captured import NETWORK, Table

__all__ = ["Content", "Entry", "Manifest", "StoredArray", "StoredStep", "check_folder", "read_manifest"]


@dataclass(frozen=True)
class Entry:
    """The description of an array.

    Attributes
    ----------
    module
        The module that made it; for tensors that functions make between modules, the module that finished last.
    kind
        ``saved`` for backward, or only ``output`` of a module.
    saved_by
        The module in which it was saved first; None for an output.
    shape, full_shape
        In the file, and in the whole batch.
    dtype
        Type of its values, as PyTorch names it.
    layout
        Order of its values in device memory, ``NCHW`` or ``NHWC``; None for other than four dimensions. In the file
        it is always NCHW.
    density
        Share of values of the whole batch that are not zero, which means that a bit is set.
    """

    module: str
    kind: str
    saved_by: str | None
    shape: tuple[int, ...]
    full_shape: tuple[int, ...]
    dtype: str
    layout: str | None
    density: float


@dataclass(frozen=True)
class StoredArray:
    """An array of a dump: its file and its description."""

    file: str
    entry: Entry = field(metadata=INLINED)


@dataclass(frozen=True)
class StoredStep:
    """A step of a dump.

    Attributes
    ----------
    file
        The file with its arrays.
    step, epoch
        Numbers of both; the epoch is None if the training did not set it.
    bytes
        Of its arrays.
    saved_bytes
        Of all activations kept for backward, captured or not.
    """

    file: str
    step: int
    epoch: int | None
    bytes: int
    saved_bytes: int


@dataclass(frozen=True)
class Content:
    """A manifest.

    Attributes
    ----------
    format, version
        Of the folder.
    model
        Class of the model.
    files
        The steps written so far.
    arrays
        All arrays by name.
    notes
        What was left out, in words.
    """

    format: str
    version: int
    model: str
    files: list[StoredStep] = field(default_factory=list)
    arrays: dict[str, StoredArray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


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


def read_manifest(folder: str | Path) -> Content:
    """The manifest of a dump that this program has written."""
    return from_json(Content, json.loads((Path(folder) / MANIFEST).read_text(encoding="utf-8")))


class Manifest:
    """The manifest of a new dump; writing begins with the first step.

    Parameters
    ----------
    folder
        Created if it does not exist.
    model
        Class of the model.

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
        self._content = Content(FORMAT, VERSION, model)

    @property
    def files(self) -> Sequence[StoredStep]:
        """The steps that are written so far."""
        return self._content.files

    def add(self, name: str, write: Callable[[BinaryIO], object], step: int, epoch: int | None,
            entries: Mapping[str, Entry], saved_bytes: int, written_bytes: int) -> None:
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
            The arrays by name.
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
        self._content.files.append(StoredStep(name, step, epoch, written_bytes, saved_bytes))
        self._content.arrays.update({key: StoredArray(name, entry) for key, entry in entries.items()})
        self.save()

    def write_network(self, found: Table) -> None:
        """Write the table of the network beside the arrays.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        text = json.dumps(to_json(found), indent=1).encode()
        self._replace(NETWORK, lambda file: file.write(text))

    def note(self, text: str) -> None:
        """Add a note on what was left out; each note is kept once."""
        if text not in self._content.notes:
            self._content.notes.append(text)

    def save(self) -> None:
        """Write the manifest.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        text = json.dumps(to_json(self._content), indent=1).encode()
        self._replace(MANIFEST, lambda file: file.write(text))

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
