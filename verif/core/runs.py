"""What runs of several cores at a time share: their progress as one number, their waves, and rates."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from cdma.verif.common import tools

__all__ = ["Meter", "Progress", "keep_waves", "rate"]

Progress = Callable[[str, int, int], None]
"""Called with what is under way, and beats done and in all."""


class Meter:
    """Beats of all cores as one number, with the name of the current array.

    Parameters
    ----------
    names
        Of the arrays.
    beats
        By core, the beats that come out for each array.
    progress
        What is called.
    """

    def __init__(self, names: Sequence[str], beats: Mapping[str, Sequence[int]], progress: Progress | None) -> None:
        self._progress = progress
        self._names = list(names)
        self._ends = {core: np.cumsum(each) for core, each in beats.items()}
        self._total = sum(int(ends[-1]) for ends in self._ends.values())
        self._done = dict.fromkeys(self._ends, 0)

    def say(self, what: str) -> None:
        """Report what is under way before any beat has passed."""
        if self._progress is not None:
            self._progress(what, 0, self._total)

    def of(self, core: str) -> Callable[[int], None]:
        """What a core's run calls with the number of beats that came out."""

        def update(beats: int) -> None:
            if self._progress is not None:
                self._done[core] = beats
                at = int(np.searchsorted(self._ends[core], beats, side="right"))
                self._progress(self._names[min(at, len(self._names) - 1)], sum(self._done.values()), self._total)

        return update


def keep_waves(place: Path, cores: Iterable[str], waves: Path, simulator: str) -> None:
    """Move the waves of cores from the folders of their runs, below ``place``, to one folder."""
    waves.mkdir(parents=True, exist_ok=True)
    form = tools.wave_format(simulator)
    if form == "vcd":
        logging.getLogger(__name__).warning(
            "waves are VCD files, ten times as large as FST: for FST, install the headers of lz4 and zlib "
            "(Debian and Ubuntu: apt install liblz4-dev zlib1g-dev)")
    for core in cores:
        shutil.move(place / core / f"dump.{form}", waves / f"{core}.{form}")


def rate(ends: Sequence[int]) -> float:
    """Beats per cycle, from the first cycle, the last cycle and the number of beats."""
    return ends[2] / (ends[1] - ends[0] + 1) if ends else 0.0
