"""What ``cdma verify`` found of a configuration; its results as files, and those of shards as one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cdma.golden.results import derived, from_json
from cdma.hdl.codec.coding import CODINGS
from cdma.hdl.config.block_core import BLOCK_CORES
from cdma.hdl.config.core import CORES
from cdma.verif.coverage.plan import PLAN
from cdma.verif.coverage.report import add_up, functional
from cdma.verif.regression.outcomes import Outcome, State

__all__ = ["WAVES", "Verification", "copy_waves", "merged", "read_verification"]

WAVES = "waves"
"""Folder of a report that has the waves of tests that failed."""


@dataclass(frozen=True)
class Verification:
    """What was found of a configuration.

    Parameters
    ----------
    name
        Of the top module.
    kind
        ``engine``, ``core`` or ``block_core``.
    parameters
        The configuration.
    version
        Of the project.
    rtl
        Digest of the sources of the hardware, of that configuration.
    date
        When it was run.
    simulator
        That benches ran on.
    steps
        How many steps the configuration has.
    shards
        Which shards are in it, as ``1/4``.
    outcomes
        Of the steps, in the order in which they were run.
    """

    name: str
    kind: str
    parameters: Mapping[str, Any]
    version: str
    rtl: str
    date: str
    simulator: str
    steps: int
    shards: tuple[str, ...]
    outcomes: tuple[Outcome, ...]

    @derived
    def passed(self) -> bool:
        """Whether every step passed; one that was not run is no pass. A shard of more than there are steps is empty."""
        return (bool(self.outcomes) or self.shards != ("1/1",)) and all(
            outcome.state is State.PASSED for outcome in self.outcomes)

    def features(self) -> list[dict[str, Any]]:
        """The features of the coverage plan that were sampled, with hits and holes.

        Bins of other cores, of codings that are not built, and of values of parameters are left out: no bench of this
        configuration can hit them.
        """
        foreign = {*CORES, *BLOCK_CORES} - {self.parameters.get("core")}
        foreign |= set(CODINGS) - set(self.parameters.get("codings", CODINGS))
        plan = []
        for feature in PLAN:
            # What follows the coding in this feature is the format that values are narrowed to.
            end = -1 if feature.name == "narrowed" else None
            bins = tuple(name for name in feature.bins if not foreign & set(name.split(":")[:end]))
            if bins and feature.room != "options":
                plan.append(replace(feature, bins=bins))
        samples = add_up(outcome.bins for outcome in self.outcomes)
        return [each for each in functional(samples, plan=plan) if each["hit"]]

    def count(self, state: State) -> int:
        """How many steps ended so."""
        return sum(outcome.state is state for outcome in self.outcomes)

    @property
    def missing(self) -> list[str]:
        """Shards of the same partition that are not in it."""
        totals = {int(shard.partition("/")[2]) for shard in self.shards}
        return [f"{number}/{total}" for total in totals for number in range(1, total + 1)
                if f"{number}/{total}" not in self.shards]


def read_verification(folder: Path) -> Verification:
    """What a report folder has in its results.json.

    Raises
    ------
    ValueError
        If it has none, or another file of this name.
    """
    path = folder / "results.json"
    try:
        return from_json(Verification, json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ValueError(f"{folder} has no results.json: give folders that cdma verify --report wrote") from error
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} is no result of cdma verify: give folders that cdma verify --report wrote") from error


def merged(parts: Sequence[Verification]) -> Verification:
    """Results of shards, or of other seeds, of the same configuration as one.

    Raises
    ------
    ValueError
        If they are of different configurations or RTL, or a shard is missing.
    """
    first = parts[0]
    for other in parts[1:]:
        if other.rtl != first.rtl:
            raise ValueError(f"results of {first.name} and {other.name} differ in configuration or RTL "
                             f"({first.rtl}, {other.rtl}): merge shards of the same one")
    whole = replace(first, shards=tuple(dict.fromkeys(shard for part in parts for shard in part.shards)),
                    outcomes=tuple(outcome for part in parts for outcome in part.outcomes))
    if whole.missing:
        raise ValueError(f"shards {', '.join(whole.missing)} are missing: give their folders as well")
    return whole


def copy_waves(folders: Sequence[Path], report: Path) -> None:
    """Copy the waves of reports into another one, so that a merged report has what it names."""
    for folder in folders:
        there = folder / WAVES
        if there.is_dir() and folder.resolve() != report.resolve():
            shutil.copytree(there, report / WAVES, dirs_exist_ok=True)
