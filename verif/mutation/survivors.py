"""What is known of mutants that survived: written by hand, and shown beside each."""

from __future__ import annotations

import tomllib
from pathlib import Path

__all__ = ["SURVIVORS", "read_survivors"]

SURVIVORS = Path(__file__).with_name("survivors.toml")
"""The survivors of this project."""

_FIELDS = {"name", "about"}


def read_survivors(path: Path = SURVIVORS) -> dict[str, str]:
    """What is known of each survivor, by name of the mutant.

    Raises
    ------
    ValueError
        If an entry has no name or does not say what is known, or a name comes twice.
    """
    found: dict[str, str] = {}
    for number, entry in enumerate(tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", []), 1):
        if set(entry) != _FIELDS or not all(str(text).strip() for text in entry.values()):
            raise ValueError(f"survivor {number} of {path} must have a name and say about what is known, not {entry}")
        if entry["name"] in found:
            raise ValueError(f"{path} has two entries of {entry['name']}: keep one")
        found[entry["name"]] = entry["about"]
    return found
