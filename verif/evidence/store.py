"""Results of verification in one JSON file, a section for each kind, each with the RTL that it was made with."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cdma.golden.results import to_json
from cdma.hdl.config.files import write_file
from cdma.verif.evidence.digest import ROOT, rtl_digest

__all__ = ["RECORDED", "SECTIONS", "Evidence", "Stamp", "check_store", "recording", "stamp_now"]

SECTIONS = ("formal", "coverage", "mutation", "soak", "regression")
"""Names of the sections, in the order of the file."""

RECORDED = ROOT / "docs" / "verification.json"
"""The store that the pages docs/verification.md and docs/signoff.md are made from."""

Join = Callable[[dict[str, Any] | None, dict[str, Any]], dict[str, Any]]
"""Joins the results that are there, or None, with new ones."""


@dataclass(frozen=True)
class Stamp:
    """Where results come from.

    Parameters
    ----------
    command
        What makes them again.
    commit
        The commit of the working tree, with ``+`` behind it when the tree had changes; empty outside of a repository.
    date
        The day, as YYYY-MM-DD in UTC.
    digest
        What :func:`cdma.verif.evidence.digest.rtl_digest` gave.
    """

    command: str
    commit: str
    date: str
    digest: str


@dataclass
class Evidence:
    """What a store holds, by section.

    Each section is a dictionary with ``stamp`` (the fields of :class:`Stamp`) and ``results``.
    """

    sections: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path = RECORDED) -> Evidence:
        """Read a store; one that does not exist is empty.

        Raises
        ------
        ValueError
            If the file is not a store.
        """
        if not path.exists():
            return cls()
        try:
            sections = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} is not JSON: {error}; restore it from the repository or delete it") from error
        good = isinstance(sections, dict) and all(
            name in SECTIONS and isinstance(section, dict) and set(section) == {"stamp", "results"}
            and isinstance(section["results"], dict) and _is_stamp(section["stamp"])
            for name, section in sections.items())
        if not good:
            raise ValueError(f"{path} is no store of results: its sections are {', '.join(SECTIONS)}, each with stamp "
                             "and results; restore it from the repository or delete it")
        return cls(sections)

    def save(self, path: Path = RECORDED) -> None:
        """Write the store; a reader sees the old file or the new one."""
        text = json.dumps({name: self.sections[name] for name in SECTIONS if name in self.sections}, indent=1)
        write_file(path, f"{text}\n")

    def section(self, name: str) -> dict[str, Any] | None:
        """The section of a name, or None when nothing is recorded."""
        return self.sections.get(_known(name))

    def results(self, name: str) -> dict[str, Any] | None:
        """The results of a section, or None when nothing is recorded."""
        section = self.section(name)
        return None if section is None else section["results"]

    def stamp(self, name: str, part: str = "") -> Stamp | None:
        """Where a section comes from, or None when nothing is recorded.

        ``part`` is one that its results have a stamp of, in ``stamps``: parts are recorded on different days.
        """
        section = self.section(name)
        if section is None:
            return None
        return Stamp(**section["results"].get("stamps", {}).get(part, section["stamp"]))

    def stale(self, name: str, digest: str | None = None) -> bool:
        """Whether a section is missing, or was made with other RTL than the present one (or that of a digest)."""
        stamp = self.stamp(name)
        return stamp is None or stamp.digest != (digest or rtl_digest())

    def record(self, name: str, *, command: str, results: Any) -> None:
        """Replace a section with results of the present RTL; dataclasses become JSON."""
        self.sections[_known(name)] = {"stamp": to_json(stamp_now(command)), "results": to_json(results)}

    def merge(self, name: str, *, command: str, part: Any, join: Join) -> None:
        """Join a part, such as a shard, to a section; results of other RTL are dropped, and it begins anew."""
        old = None if self.stale(name) else self.results(name)
        self.record(name, command=command, results=join(old, to_json(part)))


def check_store(path: Path | None = None) -> None:
    """Check that results can be recorded, before hours are spent on them.

    Parameters
    ----------
    path
        The store; :data:`RECORDED` when not given.

    Raises
    ------
    ValueError
        If there is no folder for it, or the file is not a store.
    """
    _has_folder(path or RECORDED)
    Evidence.load(path or RECORDED)


def _has_folder(path: Path) -> None:
    if not path.parent.is_dir():
        raise ValueError(f"{path.parent} is not a folder, so no results can be recorded in {path}: record in a clone "
                         "of the repository")


@contextmanager
def recording(path: Path = RECORDED) -> Iterator[Evidence]:
    """Read a store, let the caller change it, and write it; other processes that record wait.

    Raises
    ------
    ValueError
        If there is no folder for it, or the file is not a store.
    """
    _has_folder(path)
    # The folder is locked, not the file, because the file is replaced.
    lock = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        evidence = Evidence.load(path)
        yield evidence
        evidence.save(path)
    finally:
        os.close(lock)


def _is_stamp(value: object) -> bool:
    return isinstance(value, dict) and set(value) == {each.name for each in fields(Stamp)}


def _known(name: str) -> str:
    if name not in SECTIONS:
        raise ValueError(f"there is no section {name}: the sections are {', '.join(SECTIONS)}")
    return name


def stamp_now(command: str) -> Stamp:
    """The stamp of what a command finds today, of this working tree."""
    return Stamp(command, _commit(), datetime.now(UTC).date().isoformat(), rtl_digest())


def _commit() -> str:
    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "--short=10", "HEAD")
    if not commit:
        return ""
    # What is recorded changes the store and pages made from it, so those do not count as changes of the tree.
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    return f"{commit}+" if changed else commit
