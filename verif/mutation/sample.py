"""Which mutants there are, and which of them are tried."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cdma.verif.evidence.digest import ROOT
from cdma.verif.mutation.mutant import Mutant
from cdma.verif.mutation.operators import candidates

__all__ = ["ROOMS", "changed_lines", "named", "of_changes", "sample", "units"]

ROOMS = ("hdl/common", "hdl/codec", "hdl/engine")
"""Rooms whose files are mutated: those that make the hardware of the cores and of the engine."""

_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def units(root: Path = ROOT) -> dict[str, list[Mutant]]:
    """All mutants by unit: by file of the rooms."""
    files = (file for room in ROOMS for file in sorted((root / room).rglob("*.py")))
    found = {(name := file.relative_to(root).as_posix()): candidates(name, file.read_bytes()) for file in files}
    return {name: mutants for name, mutants in found.items() if mutants}


def sample(all_units: dict[str, list[Mutant]], count: int, seed: int) -> list[Mutant]:
    """So many mutants: one of each unit, the others in proportion to the units' sizes.

    A larger sample of the same seed begins with the smaller one.
    """
    ranked: list[tuple[bool, float, str, Mutant]] = []
    for name, mutants in all_units.items():
        rng = random.Random(f"{seed} {name}")
        offset = rng.random()
        for place, mutant in enumerate(rng.sample(mutants, len(mutants))):
            ranked.append((place > 0, (place + offset) / len(mutants), mutant.name, mutant))
    ranked.sort(key=lambda each: each[:3])
    return [mutant for *_, mutant in ranked[:count]]


def of_changes(all_units: dict[str, list[Mutant]], lines: dict[str, set[int]], count: int, seed: int) -> list[Mutant]:
    """So many mutants, at random, of statements with a line that changed."""
    there = [mutant for name, mutants in all_units.items() for mutant in mutants
             if lines.get(name, set()) & set(range(mutant.first, mutant.last + 1))]
    return random.Random(seed).sample(there, min(count, len(there)))


def named(all_units: dict[str, list[Mutant]], names: Sequence[str]) -> list[Mutant]:
    """The mutants of names; the name of a file stands for all of its mutants.

    Raises
    ------
    ValueError
        If there is no such mutant.
    """
    there = {mutant.name: mutant for mutants in all_units.values() for mutant in mutants}
    found = []
    for name in names:
        if name in all_units:
            found += all_units[name]
        elif name in there:
            found.append(there[name])
        else:
            raise ValueError(f"there is no mutant {name!r}: see 'cdma mutate --list'")
    return found


def changed_lines(since: str, root: Path = ROOT) -> dict[str, set[int]]:
    """Lines of the rooms' files that are not as they were in a commit, by file.

    Raises
    ------
    ValueError
        If there is no such commit, or this is no repository.
    """
    try:
        done = subprocess.run(["git", "diff", "--unified=0", "--no-color", "--no-ext-diff", "--src-prefix=a/",
                               "--dst-prefix=b/", since, "--", *ROOMS], cwd=root, capture_output=True, text=True,
                              check=False)
    except OSError as error:
        raise ValueError(f"what changed is asked of git, which cannot be started: {error}") from error
    if "not a git repository" in done.stderr.lower():
        raise ValueError(f"{root} is in no git repository, so nothing is known of changed lines: run this in a clone "
                         "of the repository")
    if done.returncode:
        raise ValueError(f"git does not know what changed since {since}: {' '.join(done.stderr.split()[:12])}")
    found: dict[str, set[int]] = {}
    for part in re.split(r"^diff --git ", done.stdout, flags=re.MULTILINE)[1:]:
        name = re.search(r"^\+\+\+ b/(.*)$", part, re.MULTILINE)
        if name is not None:
            found[name[1]] = {line for hunk in _HUNK.finditer(part)
                              for line in range(int(hunk[1]), int(hunk[1]) + int(hunk[2] or 1))}
    return found
