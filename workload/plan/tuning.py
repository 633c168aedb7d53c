"""Self-tuning: what to do with a tensor in the next iteration, from the counts of its last completions.

The counts give the density of the tensor, however it was moved. From the density follows a rough estimate of the cycles
of every treatment; each time a treatment runs, its measured cycles correct the estimate by a factor. So the controller
sees from the counts alone that a raw tensor has become sparse, and tries only what the density cannot predict.

Decisions. The controller changes to a treatment that alters the tensor less if the transfers are then hidden with a
reserve, or take no longer than now. It changes to one that alters the tensor more if that saves enough time. The
condition must hold for several iterations in a row, so that noise does not cause changes back and forth. While
transfers are exposed, the controller sometimes tries another zero-value coding for one iteration. After a trial without
gain it waits twice as long until the next trial; a treatment known to be far worse is not tried again. Raw needs no
trial, because its cycles are known, and lossy treatments are never tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cdma.golden.codec import lines as zvc
from cdma.golden.codec.headers import HEADER_BYTES
from cdma.workload.plan.cycles import Timing
from cdma.workload.plan.treatments import Treatment, expected

__all__ = ["GAIN", "PATIENCE", "PERIOD", "RESERVE", "Controller", "Counts"]

GAIN = 0.01
"""Time that a treatment which alters the tensor more must save, as a share of the time of the raw transfers."""
RESERVE = 0.05
"""Share of the hidden time that must stay unused by a treatment which alters the tensor less."""
PATIENCE = 3
"""Iterations in a row for which the condition must hold before the controller changes the treatment."""
PERIOD = 25
"""Iterations from a change or a trial to the next trial of the same treatment, before any doubling."""

_RAREST = 16    # the wait until the next trial grows to at most this many times the period
_NEAR = 10      # a treatment known to lose more than this many times the gain is not tried again
_EQUAL = 0.1    # times that differ by less than this share of the gain count as equal


@dataclass(frozen=True)
class Counts:
    """The counts in the completions of an iteration: for offload the bytes written, elements that are not zero, raw
    blocks and cycles; for prefetch the cycles."""

    bytes_written: float
    nonzero: float
    raw_blocks: float
    offload_cycles: float
    prefetch_cycles: float


@dataclass
class _Known:
    """What is known of a treatment: when it is tried next, whether it ran, and its measured cycles over the estimated
    ones in each direction."""

    wait: int
    due: int
    ran: bool = False
    offload: float = 1.0
    prefetch: float = 1.0


class Controller:
    """Decides the treatment of one tensor, iteration by iteration.

    Parameters
    ----------
    raw_bytes
        Of the tensor.
    options
        Allowed treatments; those that change the tensor least come first.
    timing
        The engine.
    hidden
        Cycles of each transfer that computing hides.

    Members
    -------
    current
        Number of the current treatment in ``options``.
    switches, trials
        How often the treatment changed, and how often another one was tried.

    Raises
    ------
    ValueError
        If ``options`` is empty.
    """

    def __init__(self, raw_bytes: int, options: Sequence[Treatment], timing: Timing, hidden: float = 0.0) -> None:
        if not options:
            raise ValueError("there is no treatment to choose from")
        self.options = tuple(options)
        # The first treatment is coding, which is safe: blocks that do not shrink stay raw.
        self.current = next((number for number, how in enumerate(options) if not how.leave_raw), 0)
        self.switches = self.trials = 0
        self._raw_bytes = raw_bytes
        self._timing = timing
        self._hidden = hidden
        self._known = [_Known(PERIOD, PERIOD) for _ in options]
        self._filled: dict[int, float] = {}
        self._proposal, self._agreed = self.current, 0
        self._iteration = 0
        self._now = self.current
        self._factors = 1.0, 1.0
        # The cycles of raw transfers do not depend on the values.
        self._left_raw = {number: _exact(how, raw_bytes, timing) for number, how in enumerate(options) if how.leave_raw}
        self._enough = GAIN * sum(_exact(Treatment("zvc8", leave_raw=True), raw_bytes, timing))

    def next(self) -> Treatment:
        """How to move the tensor in the next iteration."""
        self._now = self._trial()
        return self.options[self._now]

    def done(self, counts: Counts) -> None:
        """Take the counts of the iteration, and decide."""
        self._iteration += 1
        self._learn(counts)
        exposed = [self._exposed(number, self._hidden) for number in range(len(self.options))]
        if self._now != self.current:
            self.trials += 1
            known = self._known[self._now]
            pays = exposed[self.current] - exposed[self._now] > self._enough
            known.wait = PERIOD if pays else min(2 * known.wait, _RAREST * PERIOD)
            known.due = self._iteration + known.wait
        proposal = self._better(exposed)
        if proposal != self._proposal:
            self._proposal, self._agreed = proposal, 0
        self._agreed += 1
        if proposal != self.current and self._agreed >= PATIENCE:
            self.current = proposal
            self.switches += 1
            self._agreed = 0

    def _better(self, exposed: Sequence[float]) -> int:
        """The treatment to use from now on."""
        guarded = [self._exposed(number, self._hidden * (1 - RESERVE))
                   for number in range(self.current + 1)]
        for number in range(self.current):
            if guarded[number] <= guarded[self.current] + _EQUAL * self._enough:
                return number
        for number in range(self.current + 1, len(self.options)):
            near = exposed[number] <= min(exposed) + self._enough
            if near and exposed[self.current] - exposed[number] > self._enough:
                return number
        return self.current

    def _trial(self) -> int:
        """The treatment to try in the next iteration; the current one if there is no trial."""
        exposed = self._exposed(self.current, self._hidden)
        if exposed <= self._enough or not self._filled:
            return self.current
        due = [number for number, how in enumerate(self.options)
               if number != self.current and not how.lossy and not how.leave_raw
               and (known := self._known[number]).due <= self._iteration
               and not (known.ran and self._exposed(number, self._hidden) > exposed + _NEAR * self._enough)]
        return min(due, key=lambda number: self._known[number].due, default=self.current)

    def _learn(self, counts: Counts) -> None:
        """Update density and correction factors from the counts of an iteration."""
        how, known = self.options[self._now], self._known[self._now]
        unit = _unit(how)
        filled = counts.nonzero * how.element_bytes * how.part / self._raw_bytes
        before = self._filled.get(unit, 0.0)
        # Counts for other element sizes are assumed to change in the same proportion.
        drift = filled / before if before else 1.0
        self._filled = {other: min(1.0, share * drift) for other, share in self._filled.items()} | {unit: filled}
        offload, prefetch = self._rough(self._now)
        self._factors = counts.offload_cycles / offload, counts.prefetch_cycles / prefetch
        known.offload, known.prefetch = self._factors
        known.ran = True
        if self._now == self.current:
            known.due = self._iteration + known.wait

    def _exposed(self, number: int, hidden: float) -> float:
        """Estimated cycles of both transfers that are not hidden."""
        offload, prefetch = self._rough(number)
        if number not in self._left_raw:
            known = self._known[number]
            factors = (known.offload, known.prefetch) if known.ran else self._factors
            offload, prefetch = offload * factors[0], prefetch * factors[1]
        return max(0.0, offload - hidden) + max(0.0, prefetch - hidden)

    def _rough(self, number: int) -> tuple[float, float]:
        """Cycles of both transfers if all blocks have the same density."""
        if number in self._left_raw:
            return self._left_raw[number]
        how = self.options[number]
        filled = self._filled.get(_unit(how))
        if filled is None:
            filled = next(iter(self._filled.values()), 1.0)
        return self._timing.rough(self._raw_bytes, self._link_bytes(how, filled))

    def _link_bytes(self, how: Treatment, filled: float) -> float:
        coded = self._raw_bytes / how.part
        lines = coded / zvc.LINE_BYTES * zvc.TAG_BYTES[how.element_bytes] + filled * coded
        headers = HEADER_BYTES * -(-self._raw_bytes // self._timing.config.block_bytes)
        return (min(lines, coded) if how.fallback else lines) + headers


def _exact(how: Treatment, raw_bytes: int, timing: Timing) -> tuple[float, float]:
    """Cycles of both transfers under a raw treatment."""
    blocks = expected(raw_bytes, 1.0, how, timing.config.block_bytes)
    return timing.offload(blocks), timing.prefetch(blocks)


def _unit(how: Treatment) -> int:
    """Bytes in memory of an element that is counted; rounding keeps zeros and adds few."""
    return how.element_bytes * how.part
