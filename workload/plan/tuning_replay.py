"""Self-tuning over a training run: from dumps at a few points, with linear interpolation between them.

A controller is compared with: never compressing, always compressing, always rounding where that is allowed, the best
treatment of each tensor for the whole run, and the best of each iteration. The last two know the future.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.workload.dumps.steps import titled_step
from cdma.workload.plan.choice import EQUAL, Hidden
from cdma.workload.plan.cycles import Timing
from cdma.workload.plan.options import Option, Tensor, allowed_in_all
from cdma.workload.plan.treatments import Treatment
from cdma.workload.plan.tuning import Controller, Counts

__all__ = ["Replay", "Row", "Track", "replay", "tracks"]

_CYCLES = ("offload_cycles", "prefetch_cycles")


@dataclass(frozen=True, eq=False)
class Track:
    """A tensor over all iterations.

    Parameters
    ----------
    name, raw_bytes
        Of the layer's tensor.
    density
        Of each iteration.
    options
        The treatments that are allowed at every point; those that change the tensor least come first.
    counts
        For each treatment and each field of :class:`cdma.workload.plan.tuning.Counts`, a value for each iteration.
    """

    name: str
    raw_bytes: int
    density: NDArray[np.float64]
    options: tuple[Treatment, ...]
    counts: tuple[Mapping[str, NDArray[np.float64]], ...]

    def exposed(self, hidden: float) -> NDArray[np.float64]:
        """Cycles that are not hidden, by treatment and iteration."""
        return np.array([sum(np.maximum(own[way] - hidden, 0.0) for way in _CYCLES) for own in self.counts])

    def at(self, number: int, iteration: int) -> Counts:
        """The counts in the completions of an iteration under a treatment."""
        return Counts(**{name: float(values[iteration]) for name, values in self.counts[number].items()})


@dataclass(frozen=True, eq=False)
class Row:
    """All tensors under one rule.

    Parameters
    ----------
    name
        Of the rule.
    chosen
        For every tensor, the number of the treatment in each iteration.
    exposed
        Seconds of each iteration that are not hidden.
    link_bytes
        Bytes on the link, of all iterations.
    lossy
        Share of the transfers that are rounded.
    switches, trials
        How often treatments were changed, and only tried.
    trial_cost
        Exposed seconds that trials add to those of the current treatments.
    """

    name: str
    chosen: Mapping[str, NDArray[np.int64]]
    exposed: NDArray[np.float64]
    link_bytes: float
    lossy: float
    switches: int = 0
    trials: int = 0
    trial_cost: float = 0.0


@dataclass(frozen=True, eq=False)
class Replay:
    """The rows of a training run; the row ``tuned`` is the controller's."""

    tracks: tuple[Track, ...]
    rows: tuple[Row, ...]

    @property
    def tuned(self) -> Row:
        """The controller's row."""
        return next(row for row in self.rows if row.name == "tuned")

    def summary(self) -> dict[str, Any]:
        """All rows as JSON has them, and for each tensor its density and the controller's treatments; times are in
        microseconds."""
        return {"iterations": int(self.tuned.exposed.size), "rows": [
            {"rule": row.name, "exposed_us": float(row.exposed.sum()) * 1e6, "link_bytes": round(row.link_bytes),
             "lossy": row.lossy, "switches": row.switches, "trials": row.trials, "trial_cost_us": row.trial_cost * 1e6}
            for row in self.rows], "tensors": [
            {"name": track.name, "raw_bytes": track.raw_bytes, "first_density": float(track.density[0]),
             "last_density": float(track.density[-1]), "options": [how.name for how in track.options],
             "runs": _runs(track, self.tuned.chosen[track.name])} for track in self.tracks]}


def tracks(tensors: Iterable[Tensor], iterations: int) -> list[Track]:
    """The tensors of a training run, from the tensors of a dump, whose names have layer and step.

    Parameters
    ----------
    tensors
        Each with all its treatments; names as :func:`cdma.workload.dumps.steps.training_step` reads them.
    iterations
        Number of iterations from the first step to the last; between two steps of the dump, densities, counts and
        times are interpolated linearly.

    Raises
    ------
    ValueError
        If there are too few iterations, a name has no step, or a layer has only one step or several sizes.
    """
    if iterations < 2:
        raise ValueError(f"a training run has 2 iterations or more, not {iterations}")
    layers: dict[str, dict[int, Tensor]] = {}
    for tensor in tensors:
        layer, step, _ = titled_step(tensor.name)
        if step is None:
            raise ValueError(f"{tensor.name} names no step of training: arrays must be named p020/conv1, step100/conv1 "
                             f"or epoch3/conv1")
        layers.setdefault(layer, {})[step] = tensor
    last = max(step for steps in layers.values() for step in steps)
    first = min(step for steps in layers.values() for step in steps)
    if first == last:
        raise ValueError(f"the dump has one step of training alone, {first}: there is nothing to tune over")
    places = np.linspace(first, last, iterations)
    return [_track(layer, steps, places) for layer, steps in layers.items()]


def _track(layer: str, steps: Mapping[int, Tensor], places: NDArray[np.float64]) -> Track:
    at = sorted(steps)
    several = [steps[step] for step in at]
    if len({tensor.raw_bytes for tensor in several}) > 1:
        raise ValueError(f"{layer} has {several[0].raw_bytes} bytes at one step and other sizes at others: capture it "
                         f"with the same batch")
    everywhere = allowed_in_all(several)
    found = [{field.name: np.interp(places, at, [_count(tensor.under(how), field.name) for tensor in several])
              for field in fields(Counts)} for how in everywhere]
    density = np.interp(places, at, [tensor.density for tensor in several])
    return Track(layer, several[0].raw_bytes, density, tuple(everywhere), tuple(found))


def _count(option: Option, name: str) -> float:
    return float(option.packed_bytes if name == "bytes_written" else getattr(option, name))


def replay(several: Sequence[Track], timing: Timing, hidden: Hidden, clock_mhz: float,
           progress: Callable[[str, int, int], None] | None = None) -> Replay:
    """Run a controller for each tensor, and all other rules.

    Parameters
    ----------
    several
        The tensors.
    timing, clock_mhz
        The engine, and its clock.
    hidden
        Seconds of each tensor's transfers that computing hides.
    progress
        Called with a stage, the tensors done, and all of them.
    """
    second = clock_mhz * 1e6
    hides = {track.name: hidden(track.name) * second for track in several}
    exposed = {track.name: track.exposed(hides[track.name]) for track in several}
    iterations = several[0].density.size

    def rule(name: str, pick: Callable[[Track], NDArray[np.int64]], **more: Any) -> Row:
        chosen = {track.name: pick(track) for track in several}
        every = np.arange(iterations)
        times = sum((exposed[name][numbers, every] for name, numbers in chosen.items()), np.zeros(iterations))
        moved = sum(float(track.counts[number]["bytes_written"][at]) for track in several
                    for at, number in enumerate(chosen[track.name]))
        lossy = np.mean([track.options[number].lossy for track in several for number in chosen[track.name]])
        return Row(name, chosen, times / second, moved, float(lossy), **more)

    def fixed(pick: Callable[[Track], int]) -> Callable[[Track], NDArray[np.int64]]:
        return lambda track: np.full(iterations, pick(track))

    rows = []
    if all(track.options[0].leave_raw for track in several):
        rows.append(rule("never", fixed(lambda track: 0)))
    rows.append(rule("always", fixed(_own)))
    if any(how.lossy for track in several for how in track.options):
        rows.append(rule("always lossy", fixed(lambda track: max(
            (number for number, how in enumerate(track.options) if not how.leave_raw),
            key=lambda number: (track.options[number].lossy, -exposed[track.name][number].sum())))))
    tuned: dict[str, NDArray[np.int64]] = {}
    switches = trials = 0
    cost = 0.0
    for track in several:
        if progress is not None:
            progress("tuning", len(tuned), len(several))
        controller = Controller(track.raw_bytes, track.options, timing, hides[track.name])
        chosen = np.empty(iterations, np.int64)
        for iteration in range(iterations):
            at_work = controller.current
            number = track.options.index(controller.next())
            chosen[iteration] = number
            cost += float(exposed[track.name][number, iteration] - exposed[track.name][at_work, iteration])
            controller.done(track.at(number, iteration))
        tuned[track.name] = chosen
        switches, trials = switches + controller.switches, trials + controller.trials
    rows.append(rule("tuned", lambda track: tuned[track.name], switches=switches, trials=trials,
                     trial_cost=cost / second))
    rows.append(rule("best for the run", fixed(lambda track: _first_least(exposed[track.name].sum(axis=1)))))
    rows.append(rule("best of each iteration", lambda track: np.array([
        _first_least(column) for column in exposed[track.name].T])))
    return Replay(tuple(several), tuple(rows))


def _own(track: Track) -> int:
    """Zero-value coding in elements of the tensor's own size."""
    return next(number for number, how in enumerate(track.options) if not how.leave_raw)


def _first_least(costs: NDArray[np.float64]) -> int:
    return int(np.flatnonzero(costs <= costs.min() * (1 + EQUAL))[0])


def _runs(track: Track, chosen: NDArray[np.int64]) -> list[dict[str, Any]]:
    """The treatments, each with the first and last of consecutive iterations with it."""
    edges = [0, *(np.flatnonzero(np.diff(chosen)) + 1).tolist(), chosen.size]
    return [{"treatment": track.options[chosen[first]].name, "first": first, "last": end - 1}
            for first, end in pairwise(edges)]
